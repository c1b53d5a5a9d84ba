/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which code was where on a device, and when: from (device, process, address, time) to the code object and the address
 * in it. Belongs to one thread; not locked.
 *
 * Of all that was ever loaded over an address, the last load at or before a time decides: until its unload it is there,
 * and after that nothing is. So what is loaded over something older hides it from then on, also where the older one's
 * unload was never seen. Loads may come in any order of their times within the window, an unload after its load.
 */
#ifndef IAPROF_CORE_SYMBOLIZER_DEVICE_CODE_INDEX_H
#define IAPROF_CORE_SYMBOLIZER_DEVICE_CODE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_index;

struct code_index_options {
	uint64_t window;   /* how far behind the newest event a look-up can reach, in ns */
	uint32_t capacity; /* the most loads (or parts of them) that are kept; 0: 65,536, some 12 MiB */
	/* Called for each load, and part of a load, that is kept, and when it is dropped. NULL: nothing is done. */
	void (*reference)(void *object);
	void (*release)(void *object);
};

/* One load. Addresses are plain (device_address.h), times in ns of one clock. */
struct code_load {
	uint64_t device, process; /* any numbers that tell them apart, also later, when a pid is used again */
	uint64_t start, size;     /* on the device; size > 0 */
	uint64_t time;
	void *object;     /* the owner's */
	uint64_t address; /* in the object, of what is at start */
};

struct code_found {
	uint64_t process;
	void *object;
	uint64_t address; /* in the object */
	uint64_t loaded;  /* time */
};

struct code_index_statistics {
	uint64_t kept;            /* loads and parts of loads at the moment */
	uint64_t refused;         /* loads that there was no room for, or whose range ends beyond all addresses */
	uint64_t unknown_unloads; /* unloads of what was not there */
	uint64_t too_late;        /* events and look-ups before the horizon */
};

/* NULL: out of memory. The options are copied. */
struct code_index *code_index_new(const struct code_index_options *options);
void code_index_free(struct code_index *index);

/*
 * Returns 0, -EINVAL (the range), -ESTALE (before the horizon: nothing is changed), -ENOSPC (as many as there may be,
 * all of them still loaded) or -ENOMEM.
 */
int code_index_load(struct code_index *index, const struct code_load *load);
/*
 * Ends what was loaded with this start at or before time: with one unload too few seen, also what was there before.
 * Returns 0, or -ENOENT; -ESTALE as above.
 */
int code_index_unload(struct code_index *index, uint64_t device, uint64_t process, uint64_t start, uint64_t time);
/* Ends all of a process's loads, on all devices, that are at or before time. */
int code_index_end_process(struct code_index *index, uint64_t process, uint64_t time);

/*
 * Forgets what only look-ups before a time could find, so that its objects can go. The index does it by itself when it
 * grows. False when out of memory.
 */
bool code_index_forget(struct code_index *index, uint64_t before);

/* What was at an address of a process; false when nothing was, or nobody knows any more. */
bool code_index_find(struct code_index *index, uint64_t device, uint64_t process, uint64_t address, uint64_t time,
		     struct code_found *found);

/*
 * All loads of a process that were at an address at some time in [begin, end], each once, oldest first: also what was
 * loaded and unloaded within it. Of an interval that begins before the horizon only the rest is looked at. Returns how
 * many there are, which may be more than capacity: the oldest are given then.
 */
size_t code_index_find_during(struct code_index *index, uint64_t device, uint64_t process, uint64_t address,
			      uint64_t begin, uint64_t end, struct code_found *found, size_t capacity);
/* The same in each process that has code on the device; the processes are in no order. */
size_t code_index_find_all_during(struct code_index *index, uint64_t device, uint64_t address, uint64_t begin,
				  uint64_t end, struct code_found *found, size_t capacity);

/* The earliest time that can be looked up: it moves forward, at most to the newest event's time minus the window unless
 * room is short. */
uint64_t code_index_horizon(const struct code_index *index);
struct code_index_statistics code_index_statistics(const struct code_index *index);

#endif
