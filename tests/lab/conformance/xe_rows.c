// SPDX-License-Identifier: Apache-2.0
/*
 * Decodes rows by shifting the whole row as one large little-endian number: fields come one after the other from bit 0,
 * in the order that each layout has them (structures xe_eu_stall_data_{pvc,xe2,xe3p} of xe_eu_stall.c, Linux 7.2).
 */
#include "xe_rows.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"

const char *const reason_names[REASON_COUNT] = { "active", "tdr",      "other", "control", "pipestall",
						 "send",   "dist_acc", "sbid",  "sync",    "inst_fetch" };

struct bit_reader {
	const uint8_t *bytes;
	unsigned next;
};

static uint64_t take(struct bit_reader *reader, unsigned width)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < width; i++, reader->next++)
		value |= (uint64_t)(reader->bytes[reader->next >> 3] >> (reader->next & 7) & 1) << i;
	return value;
}

struct row row_decode(enum row_layout layout, const uint8_t bytes[ROW_SIZE])
{
	struct bit_reader reader = { .bytes = bytes };
	struct row row = { .clean = true };

	row.address = take(&reader, layout == LAYOUT_XE3P ? 61 : 29) << 3;
	/* The first counter is active on PVC and tdr later, where active is the last. */
	row.counters[layout == LAYOUT_PVC ? 0 : 1] = take(&reader, 8);
	for (int reason = 2; reason < REASON_COUNT; reason++)
		row.counters[reason] = take(&reader, 8);
	if (layout != LAYOUT_PVC) {
		row.counters[0] = take(&reader, 8);
		row.ex_id = take(&reader, 3);
		row.end_flag = take(&reader, 1);
	}
	while (reader.next < 8 * ROW_SIZE)
		if (take(&reader, 1))
			row.clean = false;
	return row;
}

struct row_sum *row_sums_at(struct row_sums *sums, uint64_t address)
{
	for (size_t i = 0; i < sums->count; i++)
		if (sums->sums[i].address == address)
			return &sums->sums[i];
	if (sums->count == sums->room) {
		sums->room = sums->room ? 2 * sums->room : 64;
		sums->sums = realloc(sums->sums, sums->room * sizeof(*sums->sums));
		if (!sums->sums)
			abort();
	}
	sums->sums[sums->count] = (struct row_sum){ .address = address };
	return &sums->sums[sums->count++];
}

void row_sums_add(struct row_sums *sums, enum row_layout layout, const uint8_t *bytes, size_t size)
{
	CHECK_EQUAL(size % ROW_SIZE, 0);
	for (size_t offset = 0; offset + ROW_SIZE <= size; offset += ROW_SIZE) {
		struct row row = row_decode(layout, bytes + offset);
		struct row_sum *sum = row_sums_at(sums, row.address);

		CHECK(row.clean);
		sum->rows++;
		for (int reason = 0; reason < REASON_COUNT; reason++)
			sum->counters[reason] += row.counters[reason];
	}
}

bool row_sums_equal(const struct row_sums *left, struct row_sums *right)
{
	if (left->count != right->count) {
		tap_comment("%zu addresses, not %zu", left->count, right->count);
		return false;
	}
	for (size_t i = 0; i < left->count; i++) {
		const struct row_sum *other = row_sums_at(right, left->sums[i].address);

		if (memcmp(&left->sums[i], other, sizeof(*other)) != 0) {
			tap_comment("address %#llx: %llu rows, not %llu", (unsigned long long)other->address,
				    (unsigned long long)left->sums[i].rows, (unsigned long long)other->rows);
			return false;
		}
	}
	return true;
}

void row_sums_free(struct row_sums *sums)
{
	free(sums->sums);
	*sums = (struct row_sums){ 0 };
}
