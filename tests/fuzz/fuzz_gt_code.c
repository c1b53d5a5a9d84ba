/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as code of an Intel GPU, of the generation that the first byte names; and as an image of one. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "decoder-intel-gt/producer.h"

/* Limit on the number of instructions for which producers are searched, so that an input takes milliseconds. */
#define PLACES 256

static void check(int good)
{
	if (!good)
		abort();
}

static void look_for_producers(const struct gt_flow *flow)
{
	uint32_t step = flow->code->count / PLACES + 1;
	for (uint32_t i = 0; i < flow->code->count; i += step) {
		struct gt_producers producers;
		check(gt_producers_find(flow, i, &producers) == 0);
		for (size_t k = 0; k < producers.count; k++) {
			const struct gt_producer *producer = &producers.items[k];
			check(producer->instruction < flow->code->count && producer->token < 32);
			const struct gt_instruction *found = &flow->code->instructions[producer->instruction];
			check(!(found->flags & GT_NOT_DECODED));
			check(producer->wait == GT_WAIT_DISTANCE ? found->pipe != GT_PIPE_NONE
								 : found->scoreboard.token == producer->token);
		}
		gt_producers_free(&producers);
	}
}

static void check_code(const struct gt_code *code, const uint8_t *bytes)
{
	uint32_t offset = 0;
	for (uint32_t i = 0; i < code->count; i++) {
		const struct gt_instruction *instruction = &code->instructions[i];
		struct gt_instruction alone;
		char text[GT_SCOREBOARD_TEXT];
		check(instruction->offset == offset && instruction->size &&
		      instruction->size <= GT_INSTRUCTION_SIZE_MAXIMUM);
		check(gt_code_find(code, offset) == i);
		check(strlen(gt_instruction_mnemonic(code->generation, instruction)) < 64);
		gt_scoreboard_format(&instruction->scoreboard, text);
		if (!(instruction->flags & GT_NOT_DECODED))
			check(gt_instruction_decode(code->generation, bytes, code->size, offset, &alone) == 0 &&
			      alone.size == instruction->size);
		offset += instruction->size;
	}
	check(offset == code->size);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct gt_code code;
	struct gt_flow flow;
	(void)gt_generation_of_image(bytes, size);
	if (size < 2)
		return 0;
	enum gt_generation generation = GT_XE + bytes[0] % (GT_GENERATION_COUNT - 1);
	/* In memory of its own: what is read before or behind it is not the input. */
	uint8_t *copy = malloc(size);
	check(copy != NULL);
	memcpy(copy, bytes + 2, size - 2);
	check(gt_code_walk(generation, copy, size - 2, &code) == 0);
	check_code(&code, copy);
	check(gt_flow_build(&code, &flow) == 0);
	look_for_producers(&flow);
	gt_flow_free(&flow);
	gt_code_free(&code);
	free(copy);
	return 0;
}
