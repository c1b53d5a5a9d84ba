/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches by the number that their source gave them (LAUNCH, correlation), for samples and jobs that name their
 * launch. The newest are remembered, in two halves: when one half is full, the older one is forgotten. Owned by the
 * collector thread.
 */
#pragma once

#include <stdint.h>
#include <iaprof/record.h>
#include "base/keyed_array.h"

/* Launches in one half, so that at least this many are remembered: record.h states the number. */
#define NUMBERED_LAUNCHES_MAX 131072

/* No padding: compared as bytes. */
struct launch_number {
	uint32_t source, pid;
	uint64_t correlation;
};

struct numbered_launch {
	struct launch_number key;
	uint32_t launch_stack;   /* as in struct kernel_launches */
	struct iaprof_span span; /* zeros: none */
};

/* Initialise with {0}. */
struct numbered_launches {
	KEYED_ARRAY(struct numbered_launch) halves[2];
	int current;
};

void numbered_launches_free(struct numbered_launches *launches);
/* Adds a launch, which replaces an earlier one with its number. Without memory it is not remembered. */
void numbered_launches_add(struct numbered_launches *launches, const struct numbered_launch *launch);
/* Returns NULL if it is not known. */
const struct numbered_launch *numbered_launches_find(const struct numbered_launches *launches,
						     const struct launch_number *number);
