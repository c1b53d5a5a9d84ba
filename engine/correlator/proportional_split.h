/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides integer counts in proportion to weights without loss: the rounding remainder of each launch stack is carried
 * over, so that many small counts are divided correctly, too. Owned by the collector thread.
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
	uint32_t next;  /* next of the same group; SPLIT_NONE: the last */
	uint32_t entry; /* the caller's, for device_stacks_add() */
};

#define SPLIT_NONE UINT32_MAX

/* The targets of one launch stack. */
struct split_group {
	uint32_t launch_stack;
	uint32_t first; /* target */
	double weight;  /* total weight of the targets */
	double balance; /* during a split, in place of struct split_balance */
	uint64_t part;
};

/* Amount that a launch stack is owed (> 0) or has received in excess so far. */
struct split_balance {
	uint32_t key; /* launch stack */
	float balance;
	uint32_t position; /* in groups, of the split with this number */
	uint64_t split;
};

/* Initialise with {0}. */
struct proportional_split {
	ARRAY(struct split_target) targets;
	ARRAY(struct split_group) groups;
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
