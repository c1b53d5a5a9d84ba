/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rate limit for process name changes: names are stored for the whole run, and a process can rename itself 40,000 times
 * a second. The first names are reported immediately, later ones once a second, the last one of each second. A skipped
 * name was no longer valid by the time it could have been looked up.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Number of names reported immediately; by then most programs have their final name. */
#define RENAMES_AT_ONCE 64u

#define RENAME_LENGTH_MAX 15u /* TASK_COMM_LEN, less the NUL */

/* Initialise with {0} when a program begins. */
struct name_throttle {
	uint32_t reported;
	uint64_t last_reported; /* time */
	bool waits;
	uint8_t length; /* length of the pending name */
	char name[RENAME_LENGTH_MAX];
};

/* Processes a new name. Returns true if it must be reported now; otherwise it replaces the pending name. */
bool name_throttle_take(struct name_throttle *renames, uint64_t time, const char *name, size_t length);
/* Returns whether a pending name must be reported at this time, and if so clears it. */
bool name_throttle_is_due(struct name_throttle *renames, uint64_t time);
