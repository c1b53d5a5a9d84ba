/* SPDX-License-Identifier: Apache-2.0 */
/* See code.h. */
#include "code.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

/* Returns the size by the length bit, which also applies to bytes that are not an instruction. */
static uint32_t framed_size(const unsigned char *bytes, uint32_t offset, uint32_t size)
{
	if (size - offset < 4)
		return size - offset;
	uint32_t length = bytes[offset + 3] & 0x20 ? GT_INSTRUCTION_UNIT : 2 * GT_INSTRUCTION_UNIT;
	return length < size - offset ? length : size - offset;
}

/* Decodes the item at an offset: an instruction, or bytes that are not one. */
static void decode_item(enum gt_generation generation, const void *bytes, uint32_t size, uint32_t offset,
			struct gt_instruction *instruction)
{
	if (gt_instruction_decode(generation, bytes, size, offset, instruction) == 0)
		return;
	*instruction = (struct gt_instruction){ .offset = offset,
						.size = (uint8_t)framed_size(bytes, offset, size),
						.flags = GT_NOT_DECODED,
						.target = GT_NO_TARGET,
						.target_2 = GT_NO_TARGET };
}

int gt_code_walk(enum gt_generation generation, const void *bytes, size_t size, struct gt_code *code)
{
	*code = (struct gt_code){ .generation = generation };
	if (generation == GT_UNKNOWN_GENERATION || (unsigned)generation >= GT_GENERATION_COUNT)
		return -EINVAL;
	if (size > GT_CODE_SIZE_MAXIMUM)
		return -EFBIG;
	ARRAY(struct gt_instruction) instructions = { 0 };
	if (!array_reserve(&instructions, size / (2 * GT_INSTRUCTION_UNIT) + 16))
		return -ENOMEM;
	for (uint32_t offset = 0; offset < size; offset += instructions.items[instructions.count++].size) {
		if (!array_reserve(&instructions, instructions.count + 1)) {
			array_free(&instructions);
			return -ENOMEM;
		}
		decode_item(generation, bytes, (uint32_t)size, offset, &instructions.items[instructions.count]);
	}
	code->size = (uint32_t)size;
	code->instructions = instructions.items;
	code->count = (uint32_t)instructions.count;
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
