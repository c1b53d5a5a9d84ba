/* SPDX-License-Identifier: Apache-2.0 */
/* What an instruction that waits is waiting for: see producer.h. */
#include "producer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "opcode.h"

/* What is looked for: tokens as a mask, or a count of instructions of a pipe, as bit n - 1 for n more to come. */
struct want {
	bool is_distance;
	uint8_t wait; /* enum gt_wait */
	uint8_t pipe; /* enum gt_pipe, of distances; never INFERRED */
};

struct search {
	const struct gt_flow *flow;
	struct want want;
	uint32_t *wanted;  /* of each block: what is looked for from its end backwards and has not been yet */
	uint32_t *looked;  /* and what has been */
	uint32_t *pending; /* blocks with something in wanted */
	uint32_t pending_count;
	uint32_t steps;
	struct gt_producers *producers;
	size_t capacity;
};

static int add_producer(struct search *search, uint32_t number, unsigned token)
{
	struct gt_producers *producers = search->producers;
	if (producers->count == search->capacity) {
		size_t capacity = search->capacity ? search->capacity * 2 : 16;
		struct gt_producer *moved = realloc(producers->items, capacity * sizeof *moved);
		if (!moved)
			return -ENOMEM;
		producers->items = moved;
		search->capacity = capacity;
	}
	producers->items[producers->count++] =
		(struct gt_producer){ .instruction = number, .wait = search->want.wait, .token = (uint8_t)token };
	return 0;
}

static bool takes_token(const struct gt_instruction *instruction)
{
	return instruction->scoreboard.action == GT_TOKEN_SET || instruction->scoreboard.action == GT_TOKEN_INCREMENT;
}

/* Looks at one instruction on the way back; what is still wanted before it goes to bits. */
static int look_at(struct search *search, uint32_t number, uint32_t *bits)
{
	const struct gt_instruction *instruction = &search->flow->code->instructions[number];
	if (instruction->flags & GT_NOT_DECODED) {
		search->producers->incomplete = true;
		*bits = 0;
		return 0;
	}
	if (!search->want.is_distance) {
		uint32_t bit = takes_token(instruction) ? 1u << (instruction->scoreboard.token & 31) : 0;
		if (!(*bits & bit))
			return 0;
		*bits &= ~bit;
		return add_producer(search, number, instruction->scoreboard.token);
	}
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

/* Whether one more step may be taken. */
static bool take_step(struct search *search)
{
	if (search->steps < GT_PRODUCER_STEPS_MAX) {
		search->steps++;
		return true;
	}
	search->producers->incomplete = true;
	return false;
}

static void want_before(struct search *search, uint32_t block, uint32_t bits)
{
	const struct gt_block *blocks = search->flow->blocks;
	for (uint32_t i = blocks[block].predecessors; i < blocks[block + 1].predecessors && take_step(search); i++) {
		uint32_t before = search->flow->predecessors[i], fresh = bits & ~search->looked[before];
		if (!fresh)
			continue;
		search->looked[before] |= fresh;
		if (!search->wanted[before])
			search->pending[search->pending_count++] = before;
		search->wanted[before] |= fresh;
	}
}

/* From an instruction (not with it) back to its block's begin, and on in the blocks before. */
static int look_back(struct search *search, uint32_t block, uint32_t number, uint32_t bits)
{
	while (bits && number > search->flow->blocks[block].first) {
		if (!take_step(search))
			return 0;
		int result = look_at(search, --number, &bits);
		if (result < 0)
			return result;
	}
	if (bits)
		want_before(search, block, bits);
	return 0;
}

static int search_for(const struct gt_flow *flow, uint32_t number, struct want want, uint32_t bits,
		      struct gt_producers *producers, size_t *capacity)
{
	size_t count = (size_t)flow->block_count + 1;
	uint32_t *room = calloc(3 * count, sizeof *room);
	if (!room)
		return -ENOMEM;
	struct search search = { .flow = flow,
				 .want = want,
				 .wanted = room,
				 .looked = room + count,
				 .pending = room + 2 * count,
				 .producers = producers,
				 .capacity = *capacity };
	int result = look_back(&search, gt_flow_block(flow, number), number, bits);
	while (result == 0 && search.pending_count) {
		uint32_t block = search.pending[--search.pending_count];
		bits = search.wanted[block];
		search.wanted[block] = 0;
		result = look_back(&search, block, flow->blocks[block].end, bits);
	}
	*capacity = search.capacity;
	free(room);
	return result;
}

/* The tokens that an instruction waits for, and why. */
static uint32_t tokens_of(const struct gt_instruction *instruction, uint8_t *wait)
{
	uint32_t bit = 1u << (instruction->scoreboard.token & 31);
	switch (instruction->scoreboard.action) {
	case GT_TOKEN_DESTINATION:
		*wait = GT_WAIT_DESTINATION;
		return bit;
	case GT_TOKEN_SOURCE:
		*wait = GT_WAIT_SOURCE;
		return bit;
	case GT_TOKEN_SET:
		*wait = GT_WAIT_TOKEN;
		return bit;
	default:
		return 0;
	}
}

/* sync.allrd and sync.allwr wait for the tokens of a mask. */
static uint32_t mask_of(const struct gt_instruction *instruction, uint8_t *wait)
{
	if (instruction->form != GT_FORM_SYNC || (instruction->function != 2 && instruction->function != 3))
		return 0;
	*wait = instruction->function == 2 ? GT_WAIT_SOURCE : GT_WAIT_DESTINATION;
	return instruction->message;
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
	size_t capacity = 0;
	int result = 0;
	struct want want = { 0 };
	uint32_t tokens = tokens_of(instruction, &want.wait);
	if (tokens)
		result = search_for(flow, number, want, tokens, producers, &capacity);
	tokens = mask_of(instruction, &want.wait);
	if (tokens && result == 0)
		result = search_for(flow, number, want, tokens, producers, &capacity);
	if (instruction->scoreboard.distance && result == 0) {
		uint8_t pipe = instruction->scoreboard.pipe;
		want = (struct want){ .is_distance = true,
				      .wait = GT_WAIT_DISTANCE,
				      .pipe = pipe == GT_PIPE_INFERRED ? instruction->source_pipe : pipe };
		result = search_for(flow, number, want, 1u << (instruction->scoreboard.distance - 1), producers,
				    &capacity);
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
