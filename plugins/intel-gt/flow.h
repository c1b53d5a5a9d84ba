/* SPDX-License-Identifier: Apache-2.0 */
/* The control flow graph of a kernel: what runs before what, as far as it can be read from the code. */
#ifndef IAPROF_PLUGINS_INTEL_GT_FLOW_H
#define IAPROF_PLUGINS_INTEL_GT_FLOW_H

#include <stdint.h>

#include "code.h"

/* Instructions that run one after the other, always all of them. */
struct gt_block {
	uint32_t first, end;   /* numbers of instructions: first up to, not with, end */
	uint32_t predecessors; /* index into gt_flow's predecessors, where the next block's begin as well */
};

struct gt_flow {
	const struct gt_code *code; /* borrowed: lives longer */
	struct gt_block *blocks;    /* in the code's order; one more at the end */
	uint32_t block_count;
	uint32_t *predecessors; /* numbers of blocks */
};

/* No instruction goes to more places than the next one and its two targets. */
#define GT_SUCCESSORS_MAXIMUM 3

/*
 * Where an instruction may go on, as numbers of instructions; the number of them. A branch goes to its targets, and to
 * the next instruction unless all channels take it. A call goes to what it calls and to the instruction behind it, for
 * what is called returns. Nothing follows an end of thread and a return. What was not decoded is taken to go on.
 */
unsigned gt_flow_successors(const struct gt_code *code, uint32_t number, uint32_t successors[GT_SUCCESSORS_MAXIMUM]);

/* 0 or -ENOMEM. */
int gt_flow_build(const struct gt_code *code, struct gt_flow *flow);
void gt_flow_free(struct gt_flow *flow);

/* The block that an instruction is in. */
uint32_t gt_flow_block(const struct gt_flow *flow, uint32_t number);

#endif
