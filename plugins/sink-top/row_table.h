/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash table of sums, with a value type and a list of numbers as key, such as the names of a stack. Memory is bounded:
 * beyond the limit, values are added to one row for all others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/string_table.h"

#define ROW_TABLE_ROWS_MAX 65536u
#define ROW_TABLE_NUMBERS_MAX (4u << 20)

struct sums {
	uint64_t self;
	uint64_t total;
};

/* length 0: the row for all others. */
struct row {
	const uint32_t *key;
	uint32_t length;
	uint32_t type;         /* index of a value type */
	uint32_t interval;     /* interval of last */
	struct sums run, last; /* sums of the run, and of the last interval with values */
};

/* Keys up to this length are cached. */
#define RECENT_LENGTH_MAX 6u
#define RECENT_ROWS 4096u

/* Initialise with {0}. */
struct row_table {
	struct row *rows;
	size_t row_count, row_capacity;
	struct string_table keys;     /* keys of rows, by position + 1: the value type and the numbers */
	ARRAY(uint32_t) wanted;       /* the one that is looked up */
	size_t number_count;          /* in all keys */
	uint32_t recent[RECENT_ROWS]; /* 1 + position, 0 if none; functions are looked up for each frame */
};

/* Returns the position of the row with a key, which is added if new; UINT32_MAX: out of memory. */
uint32_t row_table_find(struct row_table *table, uint32_t type, const uint32_t *key, uint32_t length);
/* Returns whether there is a row with a key. */
bool row_table_has(struct row_table *table, uint32_t type, const uint32_t *key, uint32_t length);
void row_add(struct row *row, uint32_t interval, uint64_t self, uint64_t total);
/* Returns the sums of the run or of an interval. */
struct sums row_sums(const struct row *row, bool of_run, uint32_t interval);

/* Copies the rows, whose keys remain those of the table. Returns false when out of memory. */
bool row_table_copy(struct row_table *copy, const struct row_table *table);
void row_table_free(struct row_table *table);
