/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of EU stalls: layouts and the fold, against a model that takes a row apart bit by bit and adds one by one. */
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <iaprof/record.h>

#include "xe-eustall/fold.h"
#include "../run_suite.h"

#define NONE 255

/*
 * First bits of the counters, in the order active, tdr, other, control, pipestall, send, dist_acc, sbid, sync,
 * inst_fetch, as struct xe_eu_stall_data_{pvc,xe2,xe3p} has them (drivers/gpu/drm/xe/xe_eu_stall.c, Linux 7.0).
 */
static const struct model_layout {
	const struct row_layout *layout;
	unsigned address_bits;
	unsigned first_bits[10];
} models[] = {
	{ &row_layout_pvc, 29, { 29, NONE, 37, 45, 53, 61, 69, 77, 85, 93 } },
	{ &row_layout_xe2, 29, { 101, 29, 37, 45, 53, 61, 69, 77, 85, 93 } },
	{ &row_layout_xe3p, 61, { 133, 61, 69, 77, 85, 93, 101, 109, 117, 125 } },
};
#define MODEL_COUNT (int)(sizeof models / sizeof *models)

static const char *const names[10] = { "active", "tdr",      "other", "control", "pipestall",
				       "send",   "dist_acc", "sbid",  "sync",    "inst_fetch" };

/* Millions of these would take Check minutes. */
static void must(bool good)
{
	if (!good)
		ck_abort_msg("the fold and the model differ");
}

struct model_sum {
	uint64_t address;
	uint64_t sums[10];
};

static uint64_t model_bits(const uint8_t *row, unsigned first, unsigned width)
{
	uint64_t value = 0;
	for (unsigned i = 0; i < width; i++)
		value |= (uint64_t)(row[(first + i) / 8] >> (first + i) % 8 & 1) << i;
	return value;
}

static void model_set(uint8_t *row, unsigned first, unsigned width, uint64_t value)
{
	for (unsigned i = 0; i < width; i++) {
		row[(first + i) / 8] &= (uint8_t) ~(1u << (first + i) % 8);
		row[(first + i) / 8] |= (uint8_t)((value >> i & 1) << (first + i) % 8);
	}
}

/* What is known of addresses 0, 16, 32, ... of a test: sums[number]. */
static void model_add(struct model_sum *sums, uint32_t number_max, const struct model_layout *model, const uint8_t *row,
		      uint64_t *saturated)
{
	uint64_t address = model_bits(row, 0, model->address_bits) * 8;
	uint64_t number = address / 16;
	must(number < number_max);
	sums[number].address = address;
	for (unsigned i = 0; i < 10; i++)
		if (model->first_bits[i] != NONE) {
			uint64_t counter = model_bits(row, model->first_bits[i], 8);
			sums[number].sums[i] += counter;
			*saturated += counter == 255;
		}
}

/* Takes the fold's entries away from sums, which must have at least that much. */
static void take(struct fold *fold, struct model_sum *sums, uint32_t number_max)
{
	for (uint32_t i = 0; i < fold->count; i++) {
		uint64_t address, counts[STALL_REASON_COUNT];
		fold_get(fold, i, &address, counts);
		must(address % 16 == 0 && address / 16 < number_max);
		for (unsigned k = 0; k < 10; k++) {
			must(sums[address / 16].sums[k] >= counts[k]);
			sums[address / 16].sums[k] -= counts[k];
		}
	}
	fold_clear(fold);
	ck_assert_uint_eq(fold->count, 0);
}

static void check_nothing_left(const struct model_sum *sums, uint32_t number_max)
{
	for (uint32_t i = 0; i < number_max; i++)
		for (unsigned k = 0; k < 10; k++)
			must(sums[i].sums[k] == 0);
}

/* Rows full of random bits, but for the address, which is one of address_count; one counter in 16 is 255. */
static uint8_t *rows_make(const struct model_layout *model, size_t count, uint32_t address_count)
{
	uint8_t *rows = malloc(count * ROW_SIZE);
	ck_assert_ptr_nonnull(rows);
	for (size_t i = 0; i < count; i++) {
		uint8_t *row = rows + i * ROW_SIZE;
		for (unsigned k = 0; k < ROW_SIZE; k++)
			row[k] = (uint8_t)(random() >> 3);
		for (unsigned k = 0; k < 10; k++)
			if (model->first_bits[k] != NONE && random() % 16 == 0)
				model_set(row, model->first_bits[k], 8, 255);
		model_set(row, 0, model->address_bits, 2 * ((uint64_t)random() % address_count));
	}
	return rows;
}

static void compare(const struct model_layout *model, size_t count, uint32_t address_count, uint32_t slots_max,
		    size_t step)
{
	struct model_sum *sums = calloc(address_count, sizeof *sums);
	uint8_t *rows = rows_make(model, count, address_count);
	struct fold fold;
	uint64_t saturated = 0;
	size_t taken = 0, used = (count + step - 1) / step;
	unsigned flushes = 0;
	ck_assert_int_eq(fold_init(&fold, model->layout, slots_max), 0);
	for (size_t i = 0; i < used; i++)
		model_add(sums, address_count, model, rows + i * step * ROW_SIZE, &saturated);
	while (taken < used) {
		size_t more = fold_rows(&fold, rows + taken * step * ROW_SIZE, used - taken, step);
		ck_assert(more > 0 && more <= used - taken);
		taken += more;
		if (taken < used) {
			flushes++;
			take(&fold, sums, address_count);
		}
	}
	take(&fold, sums, address_count);
	check_nothing_left(sums, address_count);
	ck_assert_uint_eq(fold.saturated, saturated);
	ck_assert_uint_eq(flushes > 0, address_count > slots_max / 4 * 3);
	fold_free(&fold);
	free(rows);
	free(sums);
}

TEST_LOOP(layouts, 0, MODEL_COUNT)
{
	const struct model_layout *model = &models[_i];
	uint8_t row[ROW_SIZE];
	struct fold fold;
	ck_assert_int_eq(fold_init(&fold, model->layout, 1024), 0);
	ck_assert_uint_eq(model->layout->address_space,
			  model->address_bits == 61 ? IAPROF_ADDRESS_ABSOLUTE : IAPROF_ADDRESS_INSTRUCTION_BASE);
	for (unsigned i = 0; i < 10; i++) {
		uint64_t address, sums[STALL_REASON_COUNT], largest = (UINT64_C(1) << model->address_bits) - 1;
		ck_assert_str_eq(stall_reason_names[i], names[i]);
		if (model->first_bits[i] == NONE)
			continue;
		memset(row, 0, sizeof row);
		model_set(row, 0, model->address_bits, largest);
		model_set(row, model->first_bits[i], 8, 0xa5);
		ck_assert_uint_eq(fold_rows(&fold, row, 1, 1), 1);
		ck_assert_uint_eq(fold.count, 1);
		fold_get(&fold, 0, &address, sums);
		ck_assert_uint_eq(address, largest << 3);
		for (unsigned k = 0; k < 10; k++)
			ck_assert_uint_eq(sums[k], k == i ? 0xa5 : 0);
		fold_clear(&fold);
	}
	fold_free(&fold);
}

TEST_LOOP(few_addresses, 0, MODEL_COUNT)
{
	for (size_t count = 1; count < 40; count++)
		compare(&models[_i], count, 3, 1024, 1);
	compare(&models[_i], 20000, 10, 1024, 1);
	compare(&models[_i], 20000, 200, 1024, 1);
}

TEST_LOOP(many_addresses, 0, MODEL_COUNT)
{
	compare(&models[_i], 300000, 100000, FOLD_SLOTS_MAX, 1);
}

/* When the table is full what it has is handed on, and nothing is lost. */
TEST_LOOP(table_is_full, 0, MODEL_COUNT)
{
	compare(&models[_i], 50000, 5000, 1024, 1);
}

TEST_LOOP(every_nth_row, 0, MODEL_COUNT)
{
	compare(&models[_i], 10007, 100, 1024, 7);
	compare(&models[_i], 10, 10, 1024, 100);
}

/* The counters of one address add up beyond 16 and 32 bits. */
TEST_LOOP(sums_do_not_overflow, 0, MODEL_COUNT)
{
	const struct model_layout *model = &models[_i];
	const size_t count = 16384, passes = _i ? 20 : 1100;
	uint8_t *rows = calloc(count, ROW_SIZE);
	uint64_t address, sums[STALL_REASON_COUNT];
	struct fold fold;
	ck_assert_int_eq(fold_init(&fold, model->layout, 1024), 0);
	for (size_t i = 0; i < count; i++)
		for (unsigned k = 0; k < 10; k++)
			if (model->first_bits[k] != NONE)
				model_set(rows + i * ROW_SIZE, model->first_bits[k], 8, 255);
	for (size_t pass = 0; pass < passes; pass++)
		ck_assert_uint_eq(fold_rows(&fold, rows, count, 1), count);
	ck_assert_uint_eq(fold.count, 1);
	fold_get(&fold, 0, &address, sums);
	ck_assert(_i || 255 * count * passes > UINT32_MAX);
	for (unsigned k = 0; k < 10; k++)
		ck_assert_uint_eq(sums[k], model->first_bits[k] == NONE ? 0 : 255 * count * passes);
	ck_assert_uint_eq(fold.saturated, count * passes * model->layout->counter_count);
	fold_free(&fold);
	free(rows);
}

/* Groups of 32 addresses that share a slot, each near enough to it: all together, they cost too much. */
TEST_LOOP(crowded_addresses_get_other_places, 0, MODEL_COUNT)
{
	const struct model_layout *model = &models[_i];
	const uint64_t multiplier = (UINT64_C(1) << 44) + 1;
	struct fold fold;
	uint8_t row[ROW_SIZE] = { 0 };
	ck_assert_int_eq(fold_init(&fold, model->layout, FOLD_SLOTS_MAX), 0);
	ck_assert_uint_eq(fold.slot_count, 1u << 15);
	fold.multiplier = multiplier;
	for (uint64_t group = 0; group < 100; group++)
		for (uint64_t i = 0; i < 32; i++) {
			model_set(row, 0, model->address_bits, group * 64 * 32 + i);
			ck_assert_uint_eq(fold_rows(&fold, row, 1, 1), 1);
		}
	ck_assert_uint_ne(fold.multiplier, multiplier);
	ck_assert_uint_eq(fold.count, 3200);
	ck_assert_uint_le(fold.distances, 3 * fold.count);
	fold_free(&fold);
}

/* Instructions of 16 bytes, one after the other, as code has them: random places would have 250 in that of another. */
TEST_LOOP(consecutive_instructions_have_places_of_their_own, 0, MODEL_COUNT)
{
	const struct model_layout *model = &models[_i];
	uint8_t row[ROW_SIZE] = { 0 };
	for (unsigned round = 0; round < 20; round++) {
		struct fold fold;
		ck_assert_int_eq(fold_init(&fold, model->layout, FOLD_SLOTS_MAX), 0);
		for (uint64_t i = 0; i < 4000; i++) {
			model_set(row, 0, model->address_bits, 0x10000 + 2 * i);
			must(fold_rows(&fold, row, 1, 1) == 1);
		}
		ck_assert_uint_eq(fold.count, 4000);
		ck_assert_uint_le(fold.distances, 40);
		fold_free(&fold);
	}
}

/* Nothing is left of an interval in the next one, also not of what was carried over. */
TEST_LOOP(intervals_are_apart, 0, MODEL_COUNT)
{
	uint8_t *rows = calloc(1000, ROW_SIZE);
	uint64_t address, sums[STALL_REASON_COUNT];
	struct fold fold;
	ck_assert_int_eq(fold_init(&fold, models[_i].layout, 1024), 0);
	for (size_t i = 0; i < 1000; i++)
		model_set(rows + i * ROW_SIZE, models[_i].first_bits[STALL_SBID], 8, 200);
	for (unsigned interval = 1; interval < 20; interval++) {
		size_t count = 50 * interval;
		ck_assert_uint_eq(fold_rows(&fold, rows, count, 1), count);
		fold_get(&fold, 0, &address, sums);
		ck_assert_uint_eq(sums[STALL_SBID], 200 * count);
		fold_clear(&fold);
	}
	fold_free(&fold);
	free(rows);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
