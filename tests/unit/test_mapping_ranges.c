/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of a map: what is taken does not overlap, and what is given back can be taken again in any size. */
#include <check.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/mapping_ranges.h"
#include "../run_suite.h"

enum { COUNT = 4096, LARGEST = 256 };

static struct mapping_ranges ranges;

static void set_up(void)
{
	ck_assert_int_eq(mapping_ranges_init(&ranges, COUNT), 0);
}

static void tear_down(void)
{
	mapping_ranges_free(&ranges);
}

/* Takes all that is left in ranges of this size. Returns their number. */
static uint32_t take_all(uint32_t size, uint32_t *firsts)
{
	uint32_t count = 0;
	for (uint32_t first; (first = mapping_ranges_take(&ranges, size)) != UINT32_MAX; count++) {
		ck_assert_uint_lt(count, COUNT);
		ck_assert_uint_le(first + size, COUNT);
		firsts[count] = first;
	}
	return count;
}

static void give_all_back(uint32_t size, const uint32_t *firsts, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		mapping_ranges_give_back(&ranges, firsts[i], size);
}

TEST(ranges_of_any_size_join)
{
	static const uint32_t sizes[] = { 1, 256, 3, 64, 2, 4096, 5, 8, 200, 16, 1 };
	static uint32_t firsts[COUNT];
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		uint32_t size = sizes[i], power = 1;
		while (power < size)
			power *= 2;
		uint32_t count = take_all(size, firsts);
		ck_assert_uint_eq(count, COUNT / power);
		give_all_back(size, firsts, count);
	}
}

/* One user that replaces its ranges by larger and smaller ones takes up no more with time. */
TEST(a_cycle_of_sizes_stays_flat)
{
	enum { HELD = 8, TURNS = 20000 };
	struct {
		uint32_t first, size;
	} held[HELD] = { 0 };
	static uint8_t owner[COUNT];
	for (uint32_t turn = 0; turn < TURNS; turn++) {
		uint32_t slot = turn % HELD, size = 1 + turn * 2654435761u % LARGEST;
		if (held[slot].size) {
			memset(owner + held[slot].first, 0, held[slot].size);
			mapping_ranges_give_back(&ranges, held[slot].first, held[slot].size);
		}
		uint32_t first = mapping_ranges_take(&ranges, size);
		ck_assert_msg(first != UINT32_MAX, "turn %u: no room for %u", turn, size);
		bool is_free = true;
		for (uint32_t i = first; i < first + size; i++)
			is_free &= !owner[i];
		ck_assert_msg(is_free, "turn %u: %u overlaps", turn, first);
		memset(owner + first, (int)slot + 1, size);
		held[slot].first = first;
		held[slot].size = size;
		/* What waits to be reused is less than what there is. */
		ck_assert_uint_le(ranges.returned.count, 2 * COUNT);
	}
}

TEST(what_was_given_back_is_reused_last)
{
	uint32_t first = mapping_ranges_take(&ranges, LARGEST);
	mapping_ranges_give_back(&ranges, first, LARGEST);
	for (uint32_t i = 1; i < COUNT / LARGEST; i++)
		ck_assert_uint_ne(mapping_ranges_take(&ranges, LARGEST), first);
	ck_assert_uint_eq(mapping_ranges_take(&ranges, LARGEST), first);
	ck_assert_uint_eq(mapping_ranges_take(&ranges, 1), UINT32_MAX);
}

TEST(of_two_gaps_the_smaller_one_is_used)
{
	static uint32_t firsts[COUNT];
	uint32_t count = take_all(16, firsts);
	/* A gap of 16, and one of 32, which a range of 16 must leave whole. */
	for (uint32_t i = 0; i < count; i++)
		if (firsts[i] == 1024 || firsts[i] == 0 || firsts[i] == 16)
			mapping_ranges_give_back(&ranges, firsts[i], 16);
	ck_assert_uint_eq(mapping_ranges_take(&ranges, 64), UINT32_MAX); /* ends their wait */
	ck_assert_uint_eq(mapping_ranges_take(&ranges, 16), 1024);
	ck_assert_uint_eq(mapping_ranges_take(&ranges, 32), 0);
}

TEST(more_than_there_is_and_odd_numbers_are_refused)
{
	struct mapping_ranges odd;
	ck_assert_uint_eq(mapping_ranges_take(&ranges, COUNT + 1), UINT32_MAX);
	ck_assert_uint_eq(mapping_ranges_take(&ranges, UINT32_MAX), UINT32_MAX);
	ck_assert_uint_eq(mapping_ranges_take(&ranges, COUNT), 0);
	ck_assert_int_eq(mapping_ranges_init(&odd, 100), 0);
	ck_assert_uint_eq(mapping_ranges_take(&odd, 65), UINT32_MAX);
	ck_assert_uint_eq(mapping_ranges_take(&odd, 64), 0);
	mapping_ranges_free(&odd);
	ck_assert_int_eq(mapping_ranges_init(&odd, 1), 0);
	ck_assert_uint_eq(mapping_ranges_take(&odd, 1), 0);
	ck_assert_uint_eq(mapping_ranges_take(&odd, 1), UINT32_MAX);
	mapping_ranges_free(&odd);
}

int main(void)
{
	return run_all_tests(0, set_up, tear_down);
}
