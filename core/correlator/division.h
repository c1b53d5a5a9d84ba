/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides whole counts in proportion to weights without losing any: what a fraction of a sample leaves over is
 * remembered for each prefix, so that many small counts come out right as well. Belongs to the collector's thread.
 */
#ifndef IAPROF_CORE_CORRELATOR_DIVISION_H
#define IAPROF_CORE_CORRELATOR_DIVISION_H

#include <stddef.h>
#include <stdint.h>
#include "base/array.h"
#include "base/hash.h"
#include "correlator/stacks.h"

/* One of those that share counts. */
struct division_target {
	struct stacks_key key;
	double weight; /* > 0 */
	uint64_t part;
	uint32_t next; /* of those with the same prefix, which share what is due to it; DIVISION_NONE: the last */
};

#define DIVISION_NONE UINT32_MAX

/* All targets of one prefix. */
struct division_prefix {
	uint32_t prefix;
	uint32_t first; /* target */
	double weight;  /* of all of them */
	double balance; /* for the time of a division */
	uint64_t part;
};

/* What a prefix has got too little (> 0) or too much of so far. */
struct division_balance {
	uint32_t prefix;
	float balance;
	uint32_t position; /* in prefixes, of the division with this number */
	uint64_t division;
};

/* Initialise with {0}. */
struct division {
	ARRAY(struct division_target) targets;
	ARRAY(struct division_prefix) prefixes;
	uint64_t number;
	ARRAY(struct division_balance) balances;
	struct hash_index index;
};

void division_free(struct division *division);
/* Begins with no targets. */
void division_begin(struct division *division);
/* False when out of memory. */
bool division_add(struct division *division, const struct stacks_key *key, double weight);
/* Divides a count: afterwards the targets' parts add up to it. There is one target at least. */
void division_divide(struct division *division, uint64_t count);

#endif
