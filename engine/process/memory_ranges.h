/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address ranges that belong to one mapping for some time. The current ones are an array of disjoint ranges, sorted by
 * start; replaced ones are the history, an array sorted by time of replacement.
 */
#pragma once

#include "base/array.h"
#include "process/user_accounts.h"
#include "process/process.h"

/* A mapping with data of the process table. Freed with its last range. */
struct shared_mapping {
	struct mapping mapping;
	uint64_t seen; /* time of the report: earlier events may belong to an earlier image */
	uint32_t references;
	struct user_account *account; /* account it is charged to; NULL if none */
};

struct memory_range {
	uint64_t start, end;   /* addresses [start, end) */
	uint64_t begin, until; /* times [begin, until); until is UINT64_MAX for a current range */
	struct shared_mapping *mapping;
};

struct memory_range_array {
	struct memory_range *items;
	size_t count;
	size_t capacity;
};

static inline uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* Releases a reference; the last one frees the mapping. */
void mapping_release(struct shared_mapping *mapping);
/* Releases all ranges and the array. */
void memory_ranges_free(struct memory_range_array *ranges);

/* Returns the first current range that ends after the address. */
size_t memory_ranges_search_address(const struct memory_range_array *current, uint64_t address);
/* Returns the first historical range that ended after the time. */
size_t memory_ranges_search_time(const struct memory_range_array *history, uint64_t time);

/*
 * Makes a range current. Overlapped ranges must not begin later. The caller reserves capacity: 2 more in current, and
 * one in history for each overlapped range.
 */
void memory_range_add(struct memory_range_array *current, struct memory_range_array *history,
		      struct memory_range range);

/* For qsort(): compares by begin, then by until, in which the caller stores the order. */
int memory_range_compare(const void *left, const void *right);

/*
 * Places all ranges of a list into empty arrays, ordered by the time at which they begin; those that begin together
 * stay in the order of the list. Returns false if out of memory. The list is borrowed, and sorted.
 */
bool memory_ranges_build(struct memory_range *list, size_t count, struct memory_range_array *current,
			 struct memory_range_array *history);
