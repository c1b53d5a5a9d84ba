/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a broker was waited for, by the user of the process that it read from, and which processes did not answer.
 * Initialise with {0}. Not locked.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

struct waited_user {
	uint32_t user;
	uint64_t waited; /* ns */
};

/* Number of processes that are remembered; then the oldest are forgotten. */
#define SILENT_PROCESSES_MAX 64u

struct wait_budget {
	uint64_t begin;  /* CLOCK_MONOTONIC ns of the first use */
	uint64_t waited; /* ns, for all users */
	ARRAY(struct waited_user) users;
	struct silent_process {
		uint32_t pid;
		uint64_t since; /* CLOCK_MONOTONIC ns */
	} silent[SILENT_PROCESSES_MAX];
	uint32_t next; /* place in silent */
};

/* Returns whether a process of a user may be waited for. */
bool wait_budget_allows(struct wait_budget *budget, uint32_t user, uint32_t pid);
/* Adds time in ns, unless it is usual. The process did not answer if it is so long. */
void wait_budget_charge(struct wait_budget *budget, uint32_t user, uint32_t pid, uint64_t waited);
void wait_budget_free(struct wait_budget *budget);
