/* SPDX-License-Identifier: Apache-2.0 */
/* What an instruction that waits is waiting for: the instructions that its scoreboard can mean, on every way to it. */
#ifndef IAPROF_PLUGINS_INTEL_GT_PRODUCER_H
#define IAPROF_PLUGINS_INTEL_GT_PRODUCER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "flow.h"

/* Why it waits for another one. */
enum gt_wait {
	GT_WAIT_DESTINATION, /* until it wrote its destination: $3.dst, sync.allwr */
	GT_WAIT_SOURCE,      /* until it read its sources: $3.src, sync.allrd */
	GT_WAIT_TOKEN,       /* until it gives back the token that this one takes: $3 */
	GT_WAIT_DISTANCE     /* until it is through its in-order pipe: I@2 */
};

/*
 * Instructions and ways between blocks that are looked at for one wait. Whoever lists a function asks for each of its
 * instructions, and from hostile code each would lead back to the begin.
 */
#define GT_PRODUCER_STEPS_MAX 4096

struct gt_producer {
	uint32_t instruction; /* its number */
	uint8_t wait;         /* enum gt_wait */
	uint8_t token;        /* of GT_WAIT_DISTANCE: 0 */
};

/* What was found. Sorted by instruction, token and wait; none is there twice. */
struct gt_producers {
	struct gt_producer *items;
	size_t count;
	/*
	 * Of some way it is not known: it leads through what was not decoded, or an instruction whose pipe is unknown,
	 * or too far.
	 */
	bool incomplete;
};

/*
 * Tokens: on each way back the nearest instruction that takes it; a call's way back is the call, not what it calls.
 * Distances: on each way back the d-th instruction of that pipe, or with A@ of any. Sends, syncs and what else is not
 * in order do not count; branches count in the integer pipe, but not for A@. 0 or -ENOMEM. After
 * GT_PRODUCER_STEPS_MAX it gives up.
 */
int gt_producers_find(const struct gt_flow *flow, uint32_t number, struct gt_producers *producers);
void gt_producers_free(struct gt_producers *producers);

#endif
