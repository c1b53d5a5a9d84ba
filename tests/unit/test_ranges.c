/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of address ranges: small ones and large ones are sorted in the same order. */
#include <check.h>
#include <stdlib.h>

#include "symbolizer/range_table.h"
#include "../run_suite.h"

static bool is_before(const struct range *a, const struct range *b)
{
	if (a->start != b->start)
		return a->start < b->start;
	return a->end != b->end ? a->end > b->end : a->value < b->value;
}

static void sort_and_check(uint32_t count, uint64_t start_mask)
{
	struct range_table table = { 0 };
	bool *seen = calloc(count, sizeof *seen);
	uint64_t random = 88172645463325252u;
	ck_assert_ptr_nonnull(seen);
	for (uint32_t i = 0; i < count; i++) {
		random ^= random << 13, random ^= random >> 7, random ^= random << 17; /* xorshift64 */
		uint64_t start = random & start_mask;
		ck_assert(range_table_add(&table, start, start + (random >> 32) % 8, i));
	}
	range_table_sort(&table);
	ck_assert_uint_eq(table.count, count);
	for (uint32_t i = 0; i < count; i++) {
		ck_assert(!i || is_before(&table.items[i - 1], &table.items[i]));
		ck_assert(!seen[table.items[i].value]);
		seen[table.items[i].value] = true;
	}
	range_table_free(&table);
	free(seen);
}

TEST_LOOP(sorts_any_number, 0, 20)
{
	static const uint32_t counts[] = { 1, 100, 2047, 2048, 20000 };
	/* Few starts with many ties; digits that are the same in all starts; one digit; all 64 bits. */
	static const uint64_t masks[] = { 0xff, 0xfff000fff, 0x7ff, UINT64_MAX };
	sort_and_check(counts[_i / 4], masks[_i % 4]);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
