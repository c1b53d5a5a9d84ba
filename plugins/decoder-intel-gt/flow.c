/* SPDX-License-Identifier: Apache-2.0 */
/* See flow.h. */
#include "flow.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "opcode.h"

static bool is_branch(const struct gt_instruction *instruction)
{
	return instruction->form >= GT_FORM_BRANCH;
}

/* Returns whether the next instruction can be a successor. */
static bool continues(const struct gt_instruction *instruction)
{
	if (instruction->flags & GT_END_OF_THREAD)
		return false;
	switch (instruction->opcode) {
	case GT_OPCODE_RET:
		return instruction->flags & GT_PREDICATED;
	case GT_OPCODE_JMPI:
	case GT_OPCODE_GOTO:
	case GT_OPCODE_BRD:
	case GT_OPCODE_BRC:
		return instruction->flags & GT_PREDICATED; /* otherwise all channels branch */
	default:
		return true;
	}
}

/* Adds the instruction that begins at an offset, if any. */
static unsigned add_target(const struct gt_code *code, int32_t offset, uint32_t *successors, unsigned count)
{
	uint32_t target = offset >= 0 ? gt_code_find(code, (uint32_t)offset) : UINT32_MAX;
	if (target == UINT32_MAX)
		return count;
	for (unsigned i = 0; i < count; i++)
		if (successors[i] == target)
			return count;
	successors[count] = target;
	return count + 1;
}

unsigned gt_flow_successors(const struct gt_code *code, uint32_t number, uint32_t successors[GT_SUCCESSORS_MAXIMUM])
{
	const struct gt_instruction *instruction = &code->instructions[number];
	unsigned count = 0;
	if (continues(instruction) && number + 1 < code->count)
		successors[count++] = number + 1;
	if (is_branch(instruction)) {
		count = add_target(code, instruction->target, successors, count);
		count = add_target(code, instruction->target_2, successors, count);
	}
	return count;
}

/* Blocks begin at the start of the code, at each target, and after each instruction that can branch. */
static uint32_t mark_begins(const struct gt_code *code, bool *begins)
{
	uint32_t successors[GT_SUCCESSORS_MAXIMUM], count = 0;
	if (code->count)
		begins[0] = true;
	for (uint32_t i = 0; i < code->count; i++) {
		unsigned ways = gt_flow_successors(code, i, successors);
		bool straight = ways == 1 && successors[0] == i + 1;
		if (i + 1 < code->count && (!straight || is_branch(&code->instructions[i])))
			begins[i + 1] = true;
		for (unsigned k = 0; k < ways && !straight; k++)
			begins[successors[k]] = true;
	}
	for (uint32_t i = 0; i < code->count; i++)
		count += begins[i];
	return count;
}

uint32_t gt_flow_block(const struct gt_flow *flow, uint32_t number)
{
	uint32_t first = 0, end = flow->block_count;
	while (end - first > 1) {
		uint32_t middle = first + (end - first) / 2;
		if (flow->blocks[middle].first <= number)
			first = middle;
		else
			end = middle;
	}
	return first;
}

/* Counts the predecessors of each block, or stores them if there is an array for them. */
static void each_edge(struct gt_flow *flow, uint32_t *counts, uint32_t *predecessors)
{
	uint32_t successors[GT_SUCCESSORS_MAXIMUM];
	for (uint32_t i = 0; i < flow->block_count; i++) {
		unsigned ways = gt_flow_successors(flow->code, flow->blocks[i].end - 1, successors);
		for (unsigned k = 0; k < ways; k++) {
			uint32_t block = gt_flow_block(flow, successors[k]);
			if (predecessors)
				predecessors[flow->blocks[block].predecessors + counts[block]] = i;
			counts[block]++;
		}
	}
}

static int fill_blocks(struct gt_flow *flow, const bool *begins)
{
	uint32_t block = 0;
	for (uint32_t i = 0; i < flow->code->count; i++) {
		if (!begins[i])
			continue;
		if (block)
			flow->blocks[block - 1].end = i;
		flow->blocks[block++].first = i;
	}
	if (block)
		flow->blocks[block - 1].end = flow->code->count;
	uint32_t *counts = calloc((size_t)flow->block_count + 1, sizeof *counts);
	if (!counts)
		return -ENOMEM;
	each_edge(flow, counts, NULL);
	uint32_t total = 0;
	for (uint32_t i = 0; i <= flow->block_count; i++) {
		flow->blocks[i].predecessors = total;
		total += counts[i];
		counts[i] = 0;
	}
	flow->predecessors = malloc(((size_t)total + 1) * sizeof *flow->predecessors);
	if (flow->predecessors)
		each_edge(flow, counts, flow->predecessors);
	free(counts);
	return flow->predecessors ? 0 : -ENOMEM;
}

int gt_flow_build(const struct gt_code *code, struct gt_flow *flow)
{
	*flow = (struct gt_flow){ .code = code };
	bool *begins = calloc((size_t)code->count + 1, sizeof *begins);
	if (!begins)
		return -ENOMEM;
	flow->block_count = mark_begins(code, begins);
	flow->blocks = calloc((size_t)flow->block_count + 1, sizeof *flow->blocks);
	int result = flow->blocks ? fill_blocks(flow, begins) : -ENOMEM;
	free(begins);
	if (result < 0)
		gt_flow_free(flow);
	return result;
}

void gt_flow_free(struct gt_flow *flow)
{
	free(flow->blocks);
	free(flow->predecessors);
	*flow = (struct gt_flow){ 0 };
}
