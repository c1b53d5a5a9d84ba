/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of EU stall data, decoded for the tests: written apart from the encoder in the double and from iaprof's decoder.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROW_SIZE 64
#define REASON_COUNT 10

enum row_layout { LAYOUT_PVC, LAYOUT_XE2, LAYOUT_XE3P };

/* In the order of struct row.counters. */
extern const char *const reason_names[REASON_COUNT];

struct row {
	uint64_t address;
	unsigned counters[REASON_COUNT];
	unsigned ex_id;
	unsigned end_flag;
	bool clean; /* nothing after the last field */
};

struct row row_decode(enum row_layout layout, const uint8_t bytes[ROW_SIZE]);

/* Sums per address, in a table of bounded size. */
struct row_sum {
	uint64_t address;
	uint64_t rows;
	uint64_t counters[REASON_COUNT];
};

struct row_sums {
	struct row_sum *sums;
	size_t count;
	size_t room;
};

struct row_sum *row_sums_at(struct row_sums *sums, uint64_t address);
void row_sums_add(struct row_sums *sums, enum row_layout layout, const uint8_t *bytes, size_t size);
bool row_sums_equal(const struct row_sums *left, struct row_sums *right);
void row_sums_free(struct row_sums *sums);
