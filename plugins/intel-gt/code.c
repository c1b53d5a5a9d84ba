/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel's code as a list of instructions: see code.h. */
#include "code.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* The length bit, for what is no instruction either. */
static uint32_t framed_size(const unsigned char *bytes, uint32_t offset, uint32_t size)
{
	if (size - offset < 4)
		return size - offset;
	uint32_t length = bytes[offset + 3] & 0x20 ? GT_INSTRUCTION_UNIT : 2 * GT_INSTRUCTION_UNIT;
	return length < size - offset ? length : size - offset;
}

struct walk {
	enum gt_generation generation;
	const unsigned char *bytes;
	uint32_t size;
	const uint32_t *known;
	size_t known_count, next_known;
};

/* The first known begin behind an offset, or the end of the code. */
static uint32_t next_known(struct walk *walk, uint32_t offset)
{
	while (walk->next_known < walk->known_count &&
	       (walk->known[walk->next_known] <= offset || walk->known[walk->next_known] % GT_INSTRUCTION_UNIT != 0))
		walk->next_known++;
	return walk->next_known < walk->known_count && walk->known[walk->next_known] < walk->size
		       ? walk->known[walk->next_known]
		       : walk->size;
}

/* What lies at an offset: an instruction, or what is none. */
static void walk_step(struct walk *walk, uint32_t offset, struct gt_instruction *instruction)
{
	uint32_t room = next_known(walk, offset) - offset;
	if (gt_instruction_decode(walk->generation, walk->bytes, walk->size, offset, instruction) == 0 &&
	    instruction->size <= room)
		return;
	uint32_t size = framed_size(walk->bytes, offset, walk->size);
	*instruction = (struct gt_instruction){ .offset = offset,
						.size = (uint8_t)(size < room ? size : room),
						.flags = GT_NOT_DECODED,
						.target = GT_NO_TARGET,
						.target_2 = GT_NO_TARGET };
}

int gt_code_walk(enum gt_generation generation, const void *bytes, size_t size, const uint32_t *known,
		 size_t known_count, struct gt_code *code)
{
	*code = (struct gt_code){ .generation = generation };
	if (generation == GT_UNKNOWN_GENERATION || (unsigned)generation >= GT_GENERATION_COUNT)
		return -EINVAL;
	if (size > GT_CODE_SIZE_MAXIMUM)
		return -EFBIG;
	struct walk walk = { .generation = generation,
			     .bytes = bytes,
			     .size = (uint32_t)size,
			     .known = known,
			     .known_count = known_count };
	size_t capacity = size / (2 * GT_INSTRUCTION_UNIT) + 16;
	struct gt_instruction *instructions = malloc(capacity * sizeof *instructions);
	if (!instructions)
		return -ENOMEM;
	uint32_t count = 0;
	for (uint32_t offset = 0; offset < walk.size; offset += instructions[count++].size) {
		if (count == capacity) {
			capacity += capacity / 2;
			struct gt_instruction *moved = realloc(instructions, capacity * sizeof *instructions);
			if (!moved) {
				free(instructions);
				return -ENOMEM;
			}
			instructions = moved;
		}
		walk_step(&walk, offset, &instructions[count]);
		code->not_decoded += (instructions[count].flags & GT_NOT_DECODED) != 0;
	}
	code->size = walk.size;
	code->instructions = instructions;
	code->count = count;
	return 0;
}

void gt_code_free(struct gt_code *code)
{
	free(code->instructions);
	*code = (struct gt_code){ 0 };
}

uint32_t gt_code_find(const struct gt_code *code, uint32_t offset)
{
	uint32_t first = 0, end = code->count;
	while (first < end) {
		uint32_t middle = first + (end - first) / 2;
		if (code->instructions[middle].offset < offset)
			first = middle + 1;
		else
			end = middle;
	}
	return first < code->count && code->instructions[first].offset == offset ? first : UINT32_MAX;
}
