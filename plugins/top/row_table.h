/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums by key: of a value type and a few numbers, such as the names of a stack. Memory is bounded: what finds no room
 * is added to one row for all others.
 */
#ifndef IAPROF_PLUGINS_TOP_ROW_TABLE_H
#define IAPROF_PLUGINS_TOP_ROW_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/item_index.h"

#define ROW_TABLE_ROWS_MAX 65536u
#define ROW_TABLE_NUMBERS_MAX (4u << 20)

struct sums {
	uint64_t self;
	uint64_t total;
};

/* length 0: all that found no room. */
struct row {
	uint64_t hash;
	uint32_t type; /* index of a value type */
	uint32_t first, length;
	uint32_t interval;     /* that last is of */
	struct sums run, last; /* of all intervals, of the last one that it has values of */
};

/* Where rows of one number were found last. */
struct recent_row {
	uint32_t type, number;
	uint32_t row; /* 1 + position, 0 none */
};
#define RECENT_ROWS 4096u

/* Initialise with {0}. */
struct row_table {
	struct row *rows;
	uint32_t *numbers; /* of keys */
	size_t row_count, row_capacity, number_count, number_capacity;
	struct item_index index;
	struct recent_row recent[RECENT_ROWS]; /* by number: those of functions, which are asked for at each frame */
};

/* The position of the row with a key, which is made when it is new; UINT32_MAX: out of memory. */
uint32_t row_table_find(struct row_table *table, uint32_t type, const uint32_t *key, uint32_t length);
void row_add(struct row *row, uint32_t interval, uint64_t self, uint64_t total);
/* What a row has of the run, or of an interval. */
struct sums row_sums(const struct row *row, bool of_run, uint32_t interval);

/* A copy to look at, without an index. False: out of memory. */
bool row_table_copy(struct row_table *copy, const struct row_table *table);
void row_table_free(struct row_table *table);

#endif
