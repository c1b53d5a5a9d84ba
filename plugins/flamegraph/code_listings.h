/* SPDX-License-Identifier: Apache-2.0 */
/* The CODE_LISTING records of a run, kept until its page is written. */
#ifndef IAPROF_PLUGINS_FLAMEGRAPH_CODE_LISTINGS_H
#define IAPROF_PLUGINS_FLAMEGRAPH_CODE_LISTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>

/* All records together: more than the core sends, for a capture may have anything. */
#define CODE_LISTINGS_SIZE_MAX ((size_t)96 << 20)

struct code_listing {
	struct iaprof_record_code_listing *record;
	size_t position; /* in the order in which they came */
};

/* Initialise with {0}. */
struct code_listings {
	struct code_listing *items;
	size_t count, capacity;
	bool is_unsorted;
	size_t size;
	uint64_t left_out; /* records that there was no room for */
};

/* Keeps a copy. 0 or -ENOMEM. */
int code_listings_take(struct code_listings *listings, const struct iaprof_record_code_listing *record);
/* By their ids, and those of an id as they came: before any is looked for. */
void code_listings_sort(struct code_listings *listings);
/* The position of the first record of an id, count: of how many; 0 when there is none. */
size_t code_listings_find(const struct code_listings *listings, uint32_t id, size_t *count);
void code_listings_free(struct code_listings *listings);

#endif
