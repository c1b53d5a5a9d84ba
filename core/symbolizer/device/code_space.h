/* SPDX-License-Identifier: Apache-2.0 */
/* What was loaded into one address space over time: the part of a code index that is of one process on one device. */
#ifndef IAPROF_CORE_SYMBOLIZER_DEVICE_CODE_SPACE_H
#define IAPROF_CORE_SYMBOLIZER_DEVICE_CODE_SPACE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/array.h"

/* A load, or what is left of it where newer ones do not hide it for ever. */
struct code_interval {
	uint64_t start, end;
	uint64_t loaded, unloaded; /* UINT64_MAX: not unloaded */
	uint64_t serial;           /* of the load; of two at one time the greater one is newer */
	uint64_t load_start;       /* start of the whole load */
	uint64_t address;          /* in the object, of start */
	void *object;
	uint64_t reach; /* the greatest end of this one and all before it */
};

/* Initialise with {0}. Sorted by start, loaded and serial. */
struct code_space {
	ARRAY(struct code_interval) intervals;
};

/* Adds a load, and tells its position. False when out of memory. */
bool code_space_add(struct code_space *space, const struct code_interval *interval, size_t *position);
/* Called for each interval that an unload ends. */
typedef void code_space_ended(void *context, const struct code_interval *interval);
/* Ends all loads with this start at or before time; false when there is none that has not ended. */
bool code_space_unload(struct code_space *space, uint64_t load_start, uint64_t time, code_space_ended *ended,
		       void *context);
void code_space_unload_all(struct code_space *space, uint64_t time, code_space_ended *ended, void *context);
/* The load that was there at a time; NULL when nothing was. */
const struct code_interval *code_space_find(const struct code_space *space, uint64_t address, uint64_t time);
/*
 * All loads that were there at some time in [begin, end], each once, oldest first. found has room for as many as there
 * are intervals. Returns how many there are.
 */
size_t code_space_find_during(const struct code_space *space, uint64_t address, uint64_t begin, uint64_t end,
			      const struct code_interval **found);
/*
 * When the interval at a position was there no more, at the latest: at its unload, or when the same place was loaded
 * again. UINT64_MAX: not yet.
 */
uint64_t code_space_over(const struct code_space *space, size_t position);
/*
 * Forgets what only look-ups before the horizon could find. keep and drop are called for each interval that appears or
 * goes away. False when out of memory: nothing changed.
 */
bool code_space_forget(struct code_space *space, uint64_t horizon, void (*keep)(void *object),
		       void (*drop)(void *object));
void code_space_free(struct code_space *space, void (*drop)(void *object));

#endif
