/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a run by their ids, and those of them that did something. An id that is used again is another one.
 */
#ifndef IAPROF_PLUGINS_FLAMEGRAPH_PROCESS_NAMES_H
#define IAPROF_PLUGINS_FLAMEGRAPH_PROCESS_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/record.h>

#include "common/item_index.h"

/* That run at once: more have no names. */
#define PROCESSES_KNOWN_MAX 65536u
/* Those that are over are forgotten when there are so many: it takes a walk over all, which then pays for as many new.
 */
#define PROCESSES_OVER_MIN (PROCESSES_KNOWN_MAX / 8)
/* That did something: more are one without a name. */
#define PROCESSES_USED_MAX 4096u
#define PROCESS_NONE UINT32_MAX

struct known_process {
	uint32_t pid;
	uint32_t name; /* string id, 0 not known */
	uint32_t used; /* position, PROCESS_NONE: it did nothing yet */
	bool is_over;  /* what it did may still be told */
};

struct used_process {
	uint32_t pid;
	uint32_t name; /* string id, 0 not known */
};

/* Initialise with {0}. */
struct process_names {
	struct known_process *known;
	uint32_t known_count, known_capacity;
	uint32_t over_count;     /* of those known */
	struct item_index index; /* over known */
	struct used_process *used;
	uint32_t used_count, used_capacity;
};

/* These return false when out of memory. */
bool process_names_take(struct process_names *names, const struct iaprof_record_process *record);
/* *position: in used, of a process that did something; PROCESS_NONE when there are too many. */
bool process_names_use(struct process_names *names, uint32_t pid, uint32_t *position);

void process_names_free(struct process_names *names);

#endif
