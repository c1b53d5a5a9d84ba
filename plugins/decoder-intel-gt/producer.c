/* SPDX-License-Identifier: Apache-2.0 */
/* See producer.h. */
#include "producer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "opcode.h"

/*
 * The search: tokens as a mask, or a count of instructions of a pipe, as bit n - 1 for n remaining. The mask has a
 * second half, for tokens whose owner has read its sources by then, because an instruction on the path waited for that.
 */
#define READ_SHIFT 32

struct want {
	bool is_distance;
	uint8_t wait; /* enum gt_wait */
	uint8_t pipe; /* enum gt_pipe, of distances; never INFERRED */
};

struct search {
	const struct gt_flow *flow;
	struct want want;
	uint64_t *wanted;   /* by block: bits to search for from its end backwards, not searched yet */
	uint64_t *searched; /* by block: bits that were searched for */
	uint32_t *pending;  /* blocks with something in wanted */
	uint32_t pending_count;
	uint32_t steps;
	struct gt_producers *producers;
};

static int add_producer(struct search *search, uint32_t number, unsigned token)
{
	const struct gt_producer producer = { .instruction = number,
					      .wait = search->want.wait,
					      .token = (uint8_t)token };
	return array_push(search->producers, producer) ? 0 : -ENOMEM;
}

static uint32_t token_bit(const struct gt_instruction *instruction)
{
	return 1u << (instruction->scoreboard.token & 31);
}

/* sync.allrd and sync.allwr wait for the tokens of a mask. */
static bool is_read_mask(const struct gt_instruction *instruction)
{
	return instruction->form == GT_FORM_SYNC && instruction->function == 2;
}

static uint32_t mask_of(const struct gt_instruction *instruction)
{
	bool has_mask = instruction->form == GT_FORM_SYNC && (instruction->function == 2 || instruction->function == 3);
	return has_mask ? instruction->message : 0;
}

static bool takes_token(const struct gt_instruction *instruction)
{
	return instruction->scoreboard.action == GT_TOKEN_SET || instruction->scoreboard.action == GT_TOKEN_INCREMENT;
}

/* Returns the tokens whose owners must have finished before an instruction is issued. */
static uint32_t finished_before(const struct gt_instruction *instruction)
{
	uint8_t action = instruction->scoreboard.action;
	uint32_t tokens = mask_of(instruction) & (is_read_mask(instruction) ? 0 : GT_ALL_TOKENS);
	if (action == GT_TOKEN_DESTINATION || action == GT_TOKEN_SET)
		tokens |= token_bit(instruction);
	return tokens;
}

/* Returns the tokens whose owners must have read their sources before an instruction is issued. */
static uint32_t read_before(const struct gt_instruction *instruction)
{
	uint32_t tokens = is_read_mask(instruction) ? mask_of(instruction) : 0;
	if (instruction->scoreboard.action == GT_TOKEN_SOURCE)
		tokens |= token_bit(instruction);
	return tokens;
}

/* Checks one instruction on the path backwards for owners of tokens. */
static int find_owner(struct search *search, uint32_t number, uint64_t *bits)
{
	const struct gt_instruction *instruction = &search->flow->code->instructions[number];
	if (takes_token(instruction)) {
		uint64_t bit = token_bit(instruction);
		/* An owner without a destination has finished when it has read its sources. */
		bool is_live = *bits & bit || (*bits >> READ_SHIFT & bit && !(instruction->flags & GT_NO_DESTINATION));
		int result = is_live ? add_producer(search, number, instruction->scoreboard.token) : 0;
		if (result < 0)
			return result;
		*bits &= ~(bit | bit << READ_SHIFT);
	}
	uint64_t finished = finished_before(instruction), read = read_before(instruction) & *bits;
	*bits &= ~(finished | finished << READ_SHIFT);
	*bits &= ~read;
	if (search->want.wait != GT_WAIT_SOURCE)
		*bits |= read << READ_SHIFT;
	return 0;
}

/* Checks one instruction on the path backwards; afterwards, bits contains the producers still to be found before it. */
static int examine_instruction(struct search *search, uint32_t number, uint64_t *bits)
{
	const struct gt_instruction *instruction = &search->flow->code->instructions[number];
	if (instruction->flags & GT_NOT_DECODED) {
		search->producers->incomplete = true;
		*bits = 0;
		return 0;
	}
	if (!search->want.is_distance)
		return find_owner(search, number, bits);
	if (instruction->pipe == GT_PIPE_NONE)
		return 0;
	if (instruction->pipe == GT_PIPE_UNKNOWN && search->want.pipe != GT_PIPE_ALL) {
		search->producers->incomplete = true;
		*bits = 0;
		return 0;
	}
	if (search->want.pipe == GT_PIPE_ALL ? instruction->form >= GT_FORM_BRANCH
					     : instruction->pipe != search->want.pipe)
		return 0;
	bool last = *bits & 1;
	*bits >>= 1;
	return last ? add_producer(search, number, 0) : 0;
}

/* Returns whether the limit permits one more step. */
static bool take_step(struct search *search)
{
	if (search->steps < GT_PRODUCER_STEPS_MAX) {
		search->steps++;
		return true;
	}
	search->producers->incomplete = true;
	return false;
}

static void want_before(struct search *search, uint32_t block, uint64_t bits)
{
	const struct gt_block *blocks = search->flow->blocks;
	for (uint32_t i = blocks[block].predecessors; i < blocks[block + 1].predecessors && take_step(search); i++) {
		uint32_t before = search->flow->predecessors[i];
		uint64_t fresh = bits & ~search->searched[before];
		if (!fresh)
			continue;
		search->searched[before] |= fresh;
		if (!search->wanted[before])
			search->pending[search->pending_count++] = before;
		search->wanted[before] |= fresh;
	}
}

/* Searches from an instruction (excluded) back to the start of its block, and continues in the preceding blocks. */
static int search_backwards(struct search *search, uint32_t block, uint32_t number, uint64_t bits)
{
	while (bits && number > search->flow->blocks[block].first) {
		if (!take_step(search))
			return 0;
		int result = examine_instruction(search, --number, &bits);
		if (result < 0)
			return result;
	}
	if (bits)
		want_before(search, block, bits);
	return 0;
}

static int search_for(const struct gt_flow *flow, uint32_t number, struct want want, uint64_t bits,
		      struct gt_producers *producers)
{
	size_t count = (size_t)flow->block_count + 1;
	uint64_t *room = calloc(3 * count, sizeof *room);
	if (!room)
		return -ENOMEM;
	struct search search = { .flow = flow,
				 .want = want,
				 .wanted = room,
				 .searched = room + count,
				 .pending = (uint32_t *)(room + 2 * count),
				 .producers = producers };
	int result = search_backwards(&search, gt_flow_block(flow, number), number, bits);
	while (result == 0 && search.pending_count) {
		uint32_t block = search.pending[--search.pending_count];
		bits = search.wanted[block];
		search.wanted[block] = 0;
		result = search_backwards(&search, block, flow->blocks[block].end, bits);
	}
	free(room);
	return result;
}

/* Finds the token that an instruction waits for by its own scoreboard, with the kind of the wait. */
static uint32_t tokens_of(const struct gt_instruction *instruction, uint8_t *wait)
{
	switch (instruction->scoreboard.action) {
	case GT_TOKEN_DESTINATION:
		*wait = GT_WAIT_DESTINATION;
		return token_bit(instruction);
	case GT_TOKEN_SOURCE:
		*wait = GT_WAIT_SOURCE;
		return token_bit(instruction);
	case GT_TOKEN_SET:
		*wait = GT_WAIT_TOKEN;
		return token_bit(instruction);
	default:
		return 0;
	}
}

static int compare(const void *left, const void *right)
{
	const struct gt_producer *a = left, *b = right;
	if (a->instruction != b->instruction)
		return a->instruction < b->instruction ? -1 : 1;
	return a->token != b->token ? a->token - b->token : a->wait - b->wait;
}

static void sort(struct gt_producers *producers)
{
	size_t kept = 0;
	if (producers->count)
		qsort(producers->items, producers->count, sizeof *producers->items, compare);
	for (size_t i = 0; i < producers->count; i++)
		if (!kept || compare(&producers->items[kept - 1], &producers->items[i]) != 0)
			producers->items[kept++] = producers->items[i];
	producers->count = kept;
}

int gt_producers_find(const struct gt_flow *flow, uint32_t number, struct gt_producers *producers)
{
	*producers = (struct gt_producers){ 0 };
	if (number >= flow->code->count)
		return 0;
	const struct gt_instruction *instruction = &flow->code->instructions[number];
	int result = 0;
	struct want want = { 0 };
	uint32_t tokens = tokens_of(instruction, &want.wait);
	if (tokens)
		result = search_for(flow, number, want, tokens, producers);
	tokens = mask_of(instruction);
	want.wait = is_read_mask(instruction) ? GT_WAIT_SOURCE : GT_WAIT_DESTINATION;
	if (tokens && result == 0)
		result = search_for(flow, number, want, tokens, producers);
	if (instruction->scoreboard.distance && result == 0) {
		uint8_t pipe = instruction->scoreboard.pipe;
		want = (struct want){ .is_distance = true,
				      .wait = GT_WAIT_DISTANCE,
				      .pipe = pipe == GT_PIPE_INFERRED ? instruction->source_pipe : pipe };
		result = search_for(flow, number, want, 1u << (instruction->scoreboard.distance - 1), producers);
	}
	if (result < 0)
		gt_producers_free(producers);
	else
		sort(producers);
	return result;
}

void gt_producers_free(struct gt_producers *producers)
{
	free(producers->items);
	*producers = (struct gt_producers){ 0 };
}
