/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides integer counts in proportion to weights without loss: the rounding remainder is carried over for each
 * launch_stack, so that many small counts are divided correctly, too. Owned by the collector thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "base/keyed_array.h"
#include "correlator/device_stacks.h"

/* A target that receives a share of the counts. */
struct split_target {
	struct device_stack_key key;
	double weight; /* > 0 */
	uint64_t part;
	uint32_t next;  /* next with the same launch_stack, which share its part; SPLIT_NONE: the last */
	uint32_t entry; /* the caller's, for device_stacks_add() */
};

#define SPLIT_NONE UINT32_MAX

/* All targets of one launch_stack. */
struct split_group {
	uint32_t launch_stack;
	uint32_t first; /* target */
	double weight;  /* total weight of the targets */
	double balance; /* for the time of a split */
	uint64_t part;
};

/* Amount that a launch_stack is owed (> 0) or has received in excess so far. */
struct split_balance {
	uint32_t key; /* launch_stack */
	float balance;
	uint32_t position; /* in launch_stacks, of the split with this number */
	uint64_t split;
};

/* Initialise with {0}. */
struct proportional_split {
	ARRAY(struct split_target) targets;
	ARRAY(struct split_group) launch_stacks;
	uint64_t number;
	KEYED_ARRAY(struct split_balance) balances;
};

void proportional_split_free(struct proportional_split *split);
/* Starts a split without targets. */
void proportional_split_begin(struct proportional_split *split);
/* Adds a target. Returns false when out of memory. */
bool proportional_split_add(struct proportional_split *split, const struct device_stack_key *key, double weight);
/* Divides a count: the targets' parts then add up to it. Requires at least one target. */
void proportional_split_divide(struct proportional_split *split, uint64_t count);
