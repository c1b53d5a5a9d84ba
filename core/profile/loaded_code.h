/* SPDX-License-Identifier: Apache-2.0 */
/* The code objects that are loaded, found by source and id, and by process. Belongs to the collector's thread. */
#ifndef IAPROF_CORE_PROFILE_LOADED_CODE_H
#define IAPROF_CORE_PROFILE_LOADED_CODE_H

#include <stdbool.h>
#include <stdint.h>
#include "base/array.h"
#include "base/hash.h"
#include "profile/device_images.h"

/* Code objects that are loaded at one time; what is more is refused, so that a program cannot fill the memory. */
#define LOADED_CODE_COUNT_MAX 65536

#define LOADED_CODE_NONE UINT32_MAX

struct loaded_code {
	uint16_t source;
	uint32_t id; /* 0: a free position */
	uint32_t pid;
	uint32_t previous, next; /* of the process; next: of free positions */
	uint64_t device;
	uint64_t time;
	struct device_image *image; /* NULL: none, or it could not be read; its reference is released with this */
	ARRAY(uint64_t) starts;     /* addresses of its parts */
	bool *is_placed;            /* by sections of a relocatable image; NULL for others */
};

/* A process that has loaded something since it began. */
struct loaded_code_owner {
	uint32_t pid;
	uint32_t first; /* position of its newest code object */
};

/* Initialise with LOADED_CODE_TABLE_INIT. */
struct loaded_code_table {
	ARRAY(struct loaded_code) items;
	uint32_t free;
	size_t count;
	struct hash_index by_id;
	ARRAY(struct loaded_code_owner) owners;
	struct hash_index by_pid;
};
#define LOADED_CODE_TABLE_INIT                                                                                         \
	{                                                                                                              \
		.free = LOADED_CODE_NONE                                                                               \
	}

void loaded_code_table_free(struct loaded_code_table *table);

/* Positions in items; LOADED_CODE_NONE when it is not there. Pointers to items are good until the next one is added. */
uint32_t loaded_code_find(const struct loaded_code_table *table, uint16_t source, uint32_t id);
/* LOADED_CODE_NONE: there are too many, or out of memory. The id is > 0 and not there yet. */
uint32_t loaded_code_add(struct loaded_code_table *table, uint16_t source, uint32_t id, uint32_t pid);
void loaded_code_remove(struct loaded_code_table *table, uint32_t position);

/* Notes that a process has something loaded. False when out of memory. */
bool loaded_code_add_owner(struct loaded_code_table *table, uint32_t pid);
bool loaded_code_has_owner(const struct loaded_code_table *table, uint32_t pid);
/* Removes what a process loaded up to a time, and the process when nothing is left. */
void loaded_code_end_process(struct loaded_code_table *table, uint32_t pid, uint64_t time);

#endif
