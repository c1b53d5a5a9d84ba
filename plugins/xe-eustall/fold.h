/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folds rows: adds up the counters of all rows with the same address. Each row costs a few nanoseconds, so that every
 * row counts: GPUs write tens of millions a second.
 *
 *     while (taken < count) {
 *             taken += fold_rows(&fold, rows + taken * ROW_SIZE, count - taken, 1);
 *             if (taken < count)
 *                     (hand on each of fold_get(), then fold_clear())
 *     }
 */
#ifndef IAPROF_XE_EUSTALL_FOLD_H
#define IAPROF_XE_EUSTALL_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "row_layout.h"

/* Memory is bounded by this: 16 MiB of entries and 20 MiB of sums, which are touched only as far as they are used. */
#define FOLD_SLOTS_MAX (1u << 18)

struct fold_entry;

struct fold {
	const struct row_layout *layout;
	struct fold_entry *entries; /* slot_count, a hash table with linear probing */
	uint64_t *sums;             /* STALL_REASON_COUNT for each slot: what no longer fits into its entry */
	uint32_t *used;             /* slots with an entry */
	uint32_t slot_count;        /* a power of two */
	uint32_t slots_max;
	uint32_t count;     /* entries */
	uint32_t shift;     /* of a hash, to a slot */
	bool crowded;       /* an address is far from the slot that its hash gives, or many are not there */
	uint64_t distances; /* of all entries from those slots */
	uint64_t multiplier;
	uint64_t saturated; /* counters at 255, where the hardware's 8 bits end, since fold_init() */
};

/* slots_max: a power of two from 1024 to FOLD_SLOTS_MAX. 0 or -ENOMEM. */
int fold_init(struct fold *fold, const struct row_layout *layout, uint32_t slots_max);
void fold_free(struct fold *fold);

/*
 * Adds rows that lie step * ROW_SIZE bytes apart. Returns how many were taken; fewer than count when there are
 * so many addresses that the entries have to be handed on first.
 */
size_t fold_rows(struct fold *fold, const void *rows, size_t count, size_t step);

/* Entry number index, below fold->count, in no order: its address in bytes, and the sum for each stall reason. */
void fold_get(const struct fold *fold, uint32_t index, uint64_t *address, uint64_t sums[STALL_REASON_COUNT]);

/* Forgets all entries. */
void fold_clear(struct fold *fold);

#endif
