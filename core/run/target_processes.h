/* SPDX-License-Identifier: Apache-2.0 */
/* Watches the processes of --pid, and reports when all of them have ended. */
#pragma once

#include <stdbool.h>

#include "base/array.h"
#include "base/error.h"
#include "bus/loop.h"

/* Initialise with {0}. */
struct target_processes {
	ARRAY(struct target_process) items;
	size_t running;
	bool watched; /* a process that cannot be watched counts as running */
};

/* Returns 0, or a negative errno and sets error when a process does not exist. */
int target_processes_open(struct target_processes *processes, const uint32_t *pids, size_t count, struct error *error);
/* Counts the processes that end while the loop runs. Returns 0 or a negative errno. */
int target_processes_watch(struct target_processes *processes, struct loop *loop);
/* Returns whether all processes have ended; false if there are none. */
bool target_processes_have_ended(const struct target_processes *processes);
/* Call after loop_free(). */
void target_processes_close(struct target_processes *processes);
