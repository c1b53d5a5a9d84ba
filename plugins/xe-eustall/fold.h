/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folds rows: adds up the counters of all rows with the same address. GPUs write tens of millions of rows per second,
 * so the cost per row must stay within a few nanoseconds.
 *
 *     while (taken < count) {
 *             taken += fold_rows(&fold, rows + taken * ROW_SIZE, count - taken, 1);
 *             if (taken < count)
 *                     (process the result of each fold_get(), then call fold_clear())
 *     }
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "row_layout.h"

/* Bounds the memory: 16 MiB of entries and 20 MiB of sums, of which only used parts are touched. */
#define FOLD_SLOTS_MAX (1u << 18)

struct fold_entry;

struct fold {
	const struct row_layout *layout;
	struct fold_entry *entries; /* slot_count, a hash table with linear probing */
	uint64_t *sums;             /* STALL_REASON_COUNT per slot: carried over from the entry's lanes */
	uint32_t *used;             /* slots with an entry */
	uint32_t slot_count;        /* a power of two */
	uint32_t slots_max;
	uint32_t count;         /* entries */
	uint32_t shift;         /* from a hash to a slot */
	bool crowded;           /* an address is very far from its home slot, or many are far */
	uint32_t crowded_count; /* number of entries from which crowding leads to a rebuild */
	uint64_t distances;     /* sum of all distances from home slots */
	uint64_t multiplier;
	uint64_t saturated; /* saturated counters (255, 8 bits) since fold_init() */
};

/* slots_max: a power of two from 1024 to FOLD_SLOTS_MAX. Returns 0 or -ENOMEM. */
int fold_init(struct fold *fold, const struct row_layout *layout, uint32_t slots_max);
void fold_free(struct fold *fold);

/*
 * Adds rows that are step * ROW_SIZE bytes apart. Returns the number of rows added, which is less than count if there
 * are so many addresses that the entries must be emitted first.
 */
size_t fold_rows(struct fold *fold, const void *rows, size_t count, size_t step);

/*
 * Returns entry number index, below fold->count, in no particular order: its address in bytes and the sums by stall
 * reason.
 */
void fold_get(const struct fold *fold, uint32_t index, uint64_t *address, uint64_t sums[STALL_REASON_COUNT]);

/* Removes all entries. */
void fold_clear(struct fold *fold);
