/* SPDX-License-Identifier: Apache-2.0 */
/* Code loaded into one address space over time: the part of a code index for one process on one device. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/array.h"

/* A load, or the part of it that newer loads do not hide permanently. */
struct code_interval {
	uint64_t start, end;
	uint64_t loaded, unloaded; /* UINT64_MAX: not unloaded */
	uint64_t serial;           /* serial number of the load; decides between loads at the same time */
	uint64_t load_start;       /* start of the whole load */
	uint64_t address;          /* address in the object of the byte at start */
	void *object;
	uint64_t reach; /* greatest end of this interval and all before it */
};

typedef ARRAY(struct code_interval) code_interval_array;

/* Initialise with {0}. Sorted by start, loaded and serial. */
struct code_space {
	code_interval_array intervals;
};

/* Adds a load and stores its position. Returns false if out of memory. */
bool code_space_add(struct code_space *space, const struct code_interval *interval, size_t *position);
/* Called for each interval that ends. */
typedef void code_space_ended(void *context, const struct code_interval *interval);
/* Ends all loads with this start at or before time; returns false if there is none. */
bool code_space_unload(struct code_space *space, uint64_t load_start, uint64_t time, code_space_ended *ended,
		       void *context);
void code_space_unload_all(struct code_space *space, uint64_t time, code_space_ended *ended, void *context);
/* Returns the load that was at an address at a time, or NULL. */
const struct code_interval *code_space_find(const struct code_space *space, uint64_t address, uint64_t time);
/*
 * Finds all loads that were at an address at some time in [begin, end], each once, oldest first. found must have room
 * for the number of intervals. Returns their number.
 */
size_t code_space_find_during(const struct code_space *space, uint64_t address, uint64_t begin, uint64_t end,
			      const struct code_interval **found);
/*
 * Returns an upper bound of the time at which the interval at a position ended: its unload, or when its whole range was
 * loaded again. UINT64_MAX: not yet.
 */
uint64_t code_space_over(const struct code_space *space, size_t position);
/*
 * Removes what only lookups before the horizon could find. Calls keep and drop for each interval that is added or
 * removed. Returns false if out of memory; nothing is changed then.
 */
bool code_space_forget(struct code_space *space, uint64_t horizon, void (*keep)(void *object),
		       void (*drop)(void *object));
void code_space_free(struct code_space *space, void (*drop)(void *object));
