/* SPDX-License-Identifier: Apache-2.0 */
/* The control flow graph of a kernel, insofar as the code determines it. */
#pragma once

#include <stdint.h>

#include "code.h"

/* A basic block. */
struct gt_block {
	uint32_t first, end;   /* numbers of instructions, end excluded */
	uint32_t predecessors; /* index of the first in gt_flow's predecessors; ends where the next block's begin */
};

struct gt_flow {
	const struct gt_code *code; /* borrowed */
	struct gt_block *blocks;    /* in the code's order; one more at the end */
	uint32_t block_count;
	uint32_t *predecessors; /* numbers of blocks */
};

/* The next instruction and two targets. */
#define GT_SUCCESSORS_MAXIMUM 3

/*
 * Finds the successors of an instruction, as numbers of instructions, and returns their number. A branch has its
 * targets as successors, and the next instruction unless all channels take it. A call has the callee and the
 * instruction after it, because the callee returns. An end of thread and a return have none. Bytes that were not
 * decoded are assumed to continue at the next instruction.
 */
unsigned gt_flow_successors(const struct gt_code *code, uint32_t number, uint32_t successors[GT_SUCCESSORS_MAXIMUM]);

/* Returns 0 or -ENOMEM. */
int gt_flow_build(const struct gt_code *code, struct gt_flow *flow);
void gt_flow_free(struct gt_flow *flow);

/* Returns the number of the block that contains an instruction. */
uint32_t gt_flow_block(const struct gt_flow *flow, uint32_t number);
