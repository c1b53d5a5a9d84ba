/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded code objects, by source and id, and by process. Owned by the collector thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/keyed_array.h"
#include "bus/source_id.h"
#include "correlator/device_images.h"

/* Limit on code objects loaded at one time; further ones are rejected, so that a program cannot exhaust memory. */
#define LOADED_CODE_COUNT_MAX 65536

#define LOADED_CODE_NONE POSITION_NONE

struct loaded_code {
	struct source_id key; /* id 0: a free position */
	uint32_t pid;
	uint32_t previous, next; /* neighbours in the list of the process */
	uint64_t device;
	uint64_t time;
	uint64_t ended;             /* when its process ended; 0: it has not */
	struct device_image *image; /* NULL: none or unreadable; this entry holds a reference */
	ARRAY(uint64_t) starts;     /* addresses of its parts */
	bool *is_placed;            /* by sections of an image without addresses; NULL for others */
	bool has_bias;              /* the image's addresses plus bias are the device's */
	uint64_t bias;
	bool bias_is_certain; /* a KERNEL record agrees with it */
};

/* A process that has loaded code since it started. */
struct loaded_code_owner {
	uint32_t key;                      /* pid */
	uint32_t first;                    /* position of its newest code object */
	bool has_unreadable, has_unplaced; /* code objects that no image or no address was known of at first */
};

/* Initialise with {0}. */
struct loaded_code_table {
	KEYED_ARRAY(struct loaded_code) items;
	ARRAY(uint32_t) free;
	KEYED_ARRAY(struct loaded_code_owner) owners;
	ARRAY(uint32_t) ended; /* positions of the code of processes that have ended, the earliest first */
	size_t ended_first;    /* of them: those before it are removed */
};

void loaded_code_table_free(struct loaded_code_table *table);

/* Returns a position in items, or LOADED_CODE_NONE. Pointers to items are valid until the next one is added. */
uint32_t loaded_code_find(const struct loaded_code_table *table, uint16_t source, uint32_t id);
/*
 * Returns LOADED_CODE_NONE if there are too many, when out of memory, or if a process that runs has code with this id,
 * which is > 0. That of a process that has ended is replaced.
 */
uint32_t loaded_code_add(struct loaded_code_table *table, uint16_t source, uint32_t id, uint32_t pid);
void loaded_code_remove(struct loaded_code_table *table, uint32_t position);

/* Notes that a process has loaded code. Returns false when out of memory. */
bool loaded_code_add_owner(struct loaded_code_table *table, uint32_t pid);
bool loaded_code_has_owner(const struct loaded_code_table *table, uint32_t pid);
/*
 * Ends the code that a process loaded up to a time, and removes the process if none is left. The code can be found as
 * before, because records that refer to it may come later, until it is forgotten.
 */
void loaded_code_end_process(struct loaded_code_table *table, uint32_t pid, uint64_t time);
/* Removes the code of processes that ended before a time. */
void loaded_code_forget(struct loaded_code_table *table, uint64_t before);
