/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the producers of a waiting instruction: those that its scoreboard can refer to, on every path to it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "flow.h"

/* Kinds of dependencies. */
enum gt_wait {
	GT_WAIT_DESTINATION, /* until the producer has written its destination: $3.dst, sync.allwr */
	GT_WAIT_SOURCE,      /* until it has read its sources: $3.src, sync.allrd */
	GT_WAIT_TOKEN,       /* until it frees the token that this instruction allocates: $3 */
	GT_WAIT_DISTANCE     /* until it has left its in-order pipe: I@2 */
};

/*
 * Maximum number of instructions and edges between blocks visited for one wait: a listing queries each instruction of a
 * function, and in hostile code each query would walk back to the start.
 */
#define GT_PRODUCER_STEPS_MAX 4096

struct gt_producer {
	uint32_t instruction; /* its number */
	uint8_t wait;         /* enum gt_wait */
	uint8_t token;        /* 0 for GT_WAIT_DISTANCE */
};

/* The result, sorted by instruction, token and wait, without duplicates. */
struct gt_producers {
	struct gt_producer *items;
	size_t count, capacity;
	/*
	 * There is an unknown path: it contains bytes that were not decoded or an instruction whose pipe is unknown, or
	 * is too long.
	 */
	bool incomplete;
};

/*
 * Tokens: on each path back, the nearest instruction that allocates it, unless it has finished by then: an instruction
 * on the path waited for its destination, or reused the token, or waited for its sources and it has no destination. A
 * wait for sources is for owners whose sources no instruction on the path waited for. Paths back pass a call without
 * entering the callee. Distances: on each path back, the d-th instruction of that pipe, or of any with A@. Sends, syncs
 * and other out-of-order instructions do not count; branches count in the integer pipe, but not for A@. Stops after
 * GT_PRODUCER_STEPS_MAX. Returns 0 or -ENOMEM.
 */
int gt_producers_find(const struct gt_flow *flow, uint32_t number, struct gt_producers *producers);
void gt_producers_free(struct gt_producers *producers);
