/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow of a function, and the instructions that another one waits for. */
#ifndef SASS_FLOW_H
#define SASS_FLOW_H

#include <iaprof/plugin.h>

#include "sass.h"

#define SASS_FLOW_CODE_MAX (8u << 20)      /* bytes of code; larger functions have no producers */
#define SASS_FLOW_STEPS_MAX (1u << 14)     /* instructions examined for one request */
#define SASS_FLOW_PRODUCERS_MAX (1u << 10) /* found by one request */

struct sass_flow {
	uint32_t sm;
	const uint8_t *bytes; /* borrowed */
	uint32_t count;       /* instructions */
	bool is_kernel;       /* nothing is outstanding at its start */
	bool has_indirect;    /* has branches whose targets are not known */
	uint8_t *flags;       /* by instruction: enum sass_flow_flag */
	/* Branches, ordered by target. */
	struct sass_edge {
		uint32_t target, from;
	} * edges;
	uint32_t edge_count;
	/* Of the latest search, by instruction: what it was searched for. */
	struct sass_visit {
		uint32_t search;
		uint32_t unused;
		uint64_t states;
	} * visits;
	uint32_t search;
};

enum sass_flow_flag {
	SASS_CONTINUES = 1,     /* the next instruction can follow */
	SASS_UNKNOWN_ENTRY = 2, /* nothing that is known precedes it */
	SASS_TARGET = 4,        /* target of a branch */
	SASS_CALLS = 8          /* calls a function, whose instructions are not examined */
};

/* name: of the function, NULL if not known. Returns 0, -EFBIG or -ENOMEM. */
int sass_flow_build(uint32_t sm, const void *bytes, uint64_t size, const char *name, struct sass_flow *flow);
void sass_flow_free(struct sass_flow *flow);

/* As code_producers() of a plugin, for an instruction by its number. */
int sass_flow_producers(struct sass_flow *flow, uint32_t number, struct iaprof_producer *producers, size_t capacity,
			uint32_t *flags);

#endif
