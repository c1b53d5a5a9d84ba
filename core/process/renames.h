/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which names of a process are told: names are kept for the whole run, and a process may take 40,000 new ones a second.
 * The first ones are told as they come, later ones once a second, the last one of each second. A name that is not told
 * was no longer the process's when anybody could have looked for it.
 */
#ifndef IAPROF_CORE_PROCESS_RENAMES_H
#define IAPROF_CORE_PROCESS_RENAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How many are told as they come; by then most programs have the names that they keep. */
#define RENAMES_AT_ONCE 64u

#define RENAME_LENGTH_MAX 15u /* TASK_COMM_LEN, less the NUL */

/* Initialise with {0} when a program begins. */
struct renames {
	uint32_t told;
	uint64_t told_last; /* time */
	bool waits;
	uint8_t length; /* of the name that waits to be told */
	char name[RENAME_LENGTH_MAX];
};

/* Takes a new name. True when it is to be told now; else it waits, instead of any that waited before. */
bool renames_take(struct renames *renames, uint64_t time, const char *name, size_t length);
/* Whether one waits and is to be told at this time, after which it waits no longer. */
bool renames_are_due(struct renames *renames, uint64_t time);

#endif
