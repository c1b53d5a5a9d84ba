/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as rows of EU stalls, each layout, in groups of any size: the sum of all counters is what they are one by
 * one. The first byte is the layout, the second how many rows are added at once.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "xe-eustall/fold.h"

static void check(int good)
{
	if (!good)
		abort();
}

static uint64_t sum_of_rows(const struct row_layout *layout, const uint8_t *rows, size_t count)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < count; i++)
		for (unsigned k = 0; k < layout->counter_count; k++)
			for (unsigned bit = 0; bit < 8; bit++) {
				unsigned at = layout->address_bits + 8 * k + bit;
				sum += (uint64_t)(rows[i * ROW_SIZE + at / 8] >> at % 8 & 1) << bit;
			}
	return sum;
}

static uint64_t fold_take(struct fold *fold)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < fold->count; i++) {
		uint64_t address, sums[STALL_REASON_COUNT];
		fold_get(fold, i, &address, sums);
		check(address % 8 == 0);
		for (unsigned k = 0; k < STALL_REASON_COUNT; k++)
			sum += sums[k];
	}
	fold_clear(fold);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const struct row_layout *const layouts[] = { &row_layout_pvc, &row_layout_xe2, &row_layout_xe3p };
	struct fold fold;
	if (size < 2)
		return 0;
	const struct row_layout *layout = layouts[bytes[0] % 3];
	size_t at_once = bytes[1] + 1u, count = (size - 2) / ROW_SIZE;
	uint64_t found = 0;
	/* In memory of its own: what is read before or behind it is no row. */
	uint8_t *rows = malloc(count ? count * ROW_SIZE : 1);
	check(rows != NULL);
	memcpy(rows, bytes + 2, count * ROW_SIZE);
	check(fold_init(&fold, layout, 1024) == 0);
	for (size_t taken = 0; taken < count;) {
		size_t wanted = count - taken < at_once ? count - taken : at_once;
		size_t more = fold_rows(&fold, rows + taken * ROW_SIZE, wanted, 1);
		taken += more;
		if (more < wanted) {
			check(fold.count > 0);
			found += fold_take(&fold);
		}
	}
	found += fold_take(&fold);
	check(found == sum_of_rows(layout, rows, count));
	fold_free(&fold);
	free(rows);
	return 0;
}
