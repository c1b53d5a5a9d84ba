/* SPDX-License-Identifier: Apache-2.0 */
/* Stores the CODE_LISTING records of a run until its page is written. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/record.h>

/* Maximum size of all records: above the limit of the core, because a capture can exceed that. */
#define CODE_LISTINGS_SIZE_MAX ((size_t)96 << 20)

struct code_listing {
	struct iaprof_record_code_listing *record;
	size_t position; /* order of arrival */
};

/* Initialise with {0}. */
struct code_listings {
	struct code_listing *items;
	size_t count, capacity;
	bool is_unsorted;
	size_t size;
	uint64_t left_out; /* records that did not fit */
};

/* Stores a copy. Returns 0 or -ENOMEM. */
int code_listings_take(struct code_listings *listings, const struct iaprof_record_code_listing *record);
/* Sorts by id, then by order of arrival; required before code_listings_find(). */
void code_listings_sort(struct code_listings *listings);
/* Returns the position of the first record of an id. *count: their number, 0 if there are none. */
size_t code_listings_find(const struct code_listings *listings, uint32_t id, size_t *count);
void code_listings_free(struct code_listings *listings);
