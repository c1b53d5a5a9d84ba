/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaded code of devices over time: maps (device, process, address, time) to a code object and the address in it. Owned
 * by one thread; not locked.
 *
 * Of all loads that ever covered an address, the last one at or before a given time applies: the code is there until
 * that load is unloaded, and nothing is there afterwards. A load therefore hides older ones from then on, even if their
 * unload was missed. Loads may arrive in any order of time within the window, but an unload only after its load.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_index;

struct code_index_options {
	uint64_t window;   /* how far lookups reach back from the newest event, in ns */
	uint32_t capacity; /* limit on loads (or parts of them); 0: 65,536, about 12 MiB */
	/* Called for each stored load or part of a load, and when it is dropped. NULL: none. */
	void (*reference)(void *object);
	void (*release)(void *object);
};

/* One load. Addresses are plain (device_address.h), times in ns of one clock. */
struct code_load {
	uint64_t device, process; /* unique numbers, even after a pid is reused */
	uint64_t start, size;     /* on the device; size > 0 */
	uint64_t time;
	void *object;     /* defined by the owner */
	uint64_t address; /* address in the object of the byte at start */
};

struct code_found {
	uint64_t process;
	void *object;
	uint64_t address;          /* in the object */
	uint64_t loaded, unloaded; /* times; UINT64_MAX: still loaded */
};

struct code_index_statistics {
	uint64_t kept;            /* current number of loads and parts of loads */
	uint64_t refused;         /* loads dropped for lack of room, or with an overflowing range */
	uint64_t unknown_unloads; /* unloads without a matching load */
	uint64_t too_late;        /* events and lookups before the horizon */
};

/* Returns NULL if out of memory. The options are copied. */
struct code_index *code_index_new(const struct code_index_options *options);
void code_index_free(struct code_index *index);

/*
 * Returns 0, -EINVAL (invalid range), -ESTALE (before the horizon: nothing is changed), -ENOSPC (limit reached, all of
 * them still loaded) or -ENOMEM.
 */
int code_index_load(struct code_index *index, const struct code_load *load);
/*
 * Ends all loads with this start at or before time, including earlier ones whose unload was missed. Returns 0, or
 * -ENOENT; -ESTALE as above.
 */
int code_index_unload(struct code_index *index, uint64_t device, uint64_t process, uint64_t start, uint64_t time);
/* Ends all loads of a process at or before time, on all devices. */
int code_index_end_process(struct code_index *index, uint64_t process, uint64_t time);

/*
 * Removes loads that only lookups before a time could find, to release their objects. Done automatically when the index
 * grows. Returns false if out of memory.
 */
bool code_index_forget(struct code_index *index, uint64_t before);

/* Finds the code at an address of a process; returns false if there was none or it is no longer known. */
bool code_index_find(struct code_index *index, uint64_t device, uint64_t process, uint64_t address, uint64_t time,
		     struct code_found *found);

/*
 * Finds all loads of a process that were at an address at some time in [begin, end], each once, oldest first, including
 * those that were unloaded within it. The part of the interval before the horizon is ignored. Returns their number,
 * which may exceed capacity: then the oldest are returned.
 */
size_t code_index_find_during(struct code_index *index, uint64_t device, uint64_t process, uint64_t address,
			      uint64_t begin, uint64_t end, struct code_found *found, size_t capacity);
/* The same for every process with code on the device; the processes are in no particular order. */
size_t code_index_find_all_during(struct code_index *index, uint64_t device, uint64_t address, uint64_t begin,
				  uint64_t end, struct code_found *found, size_t capacity);

/*
 * Returns the earliest time that can be looked up. It moves forward, at most to the newest event minus the window
 * unless memory is short.
 */
uint64_t code_index_horizon(const struct code_index *index);
struct code_index_statistics code_index_statistics(const struct code_index *index);
