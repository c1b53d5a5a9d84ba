/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Address ranges that belong to one mapping for a while. The current ones are an array of disjoint pieces, sorted by
 * start; what was replaced is the history, an array sorted by when that was.
 */
#ifndef IAPROF_CORE_PROCESS_PIECES_H
#define IAPROF_CORE_PROCESS_PIECES_H

#include "base/array.h"
#include "base/user_accounts.h"
#include "process/process.h"

/* A mapping with what only the table knows of it. Freed with the last piece of it. */
struct shared_mapping {
	struct mapping mapping;
	uint64_t seen; /* when it was reported: what happened before that may have been in an earlier image */
	uint32_t references;
	struct user_account *account; /* that it counts for; NULL none */
};

struct piece {
	uint64_t start, end;   /* addresses [start, end) */
	uint64_t begin, until; /* times [begin, until); until is UINT64_MAX for a current piece */
	struct shared_mapping *mapping;
};

struct piece_array {
	struct piece *items;
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

/* One reference less; the last one frees it. */
void mapping_release(struct shared_mapping *mapping);
/* Releases all pieces and the array. */
void pieces_free(struct piece_array *pieces);

/* The first of the current pieces that ends behind the address. */
size_t pieces_search_address(const struct piece_array *current, uint64_t address);
/* The first historical piece that ended after the time. */
size_t pieces_search_time(const struct piece_array *history, uint64_t time);

/*
 * Makes a piece current. None that it overlaps may begin later. Room must be there: 2 more in current, and in history
 * as many as it overlaps.
 */
void piece_place(struct piece_array *current, struct piece_array *history, struct piece piece);

/* For qsort(): by begin, and those that begin together by until, where the caller puts their order. */
int piece_compare(const void *left, const void *right);

/*
 * Places all pieces of a list into empty arrays, by their begin; those that begin together in the order of the list.
 * False when out of memory. The list is borrowed, and sorted.
 */
bool pieces_build(struct piece *list, size_t count, struct piece_array *current, struct piece_array *history);

#endif
