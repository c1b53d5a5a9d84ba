/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of instructions: where they begin and end, what is none, and what lies between. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "decoder-intel-gt/code.h"
#include "decoder-intel-gt/opcode.h"
#include "../run_suite.h"

/* Xe2: (W) mov (16|M0) r127.0<1>:ud 0x0:ud, and mov (32|M0) r110.0<1>:ud 0x0:ud {Compacted}, as iga64 assembles them.
 */
static const unsigned char native[16] = { 0x61, 0x00, 0x10, 0x80, 0x20, 0x42, 0x05, 0x7f };
static const unsigned char compacted[8] = { 0x61, 0x00, 0xa0, 0x68, 0x6e, 0x00, 0x00, 0x00 };

/* A copy that ends where the instruction does, so that a read beyond is seen by valgrind and ASan. */
static int decode(const void *bytes, size_t size, size_t offset, struct gt_instruction *instruction)
{
	void *copy = malloc(size ? size : 1);
	ck_assert_ptr_nonnull(copy);
	memcpy(copy, bytes, size);
	int result = gt_instruction_decode(GT_XE2, copy, size, offset, instruction);
	free(copy);
	return result;
}

TEST(takes_whole_instructions_only)
{
	struct gt_instruction instruction;
	ck_assert_int_eq(decode(native, 16, 0, &instruction), 0);
	ck_assert_uint_eq(instruction.size, 16);
	ck_assert_uint_eq(instruction.execution_size, 16);
	ck_assert_uint_eq(instruction.flags, GT_NO_MASK);
	ck_assert_int_eq(decode(compacted, 8, 0, &instruction), 0);
	ck_assert_uint_eq(instruction.size, 8);
	ck_assert_uint_eq(instruction.flags, GT_COMPACTED);
	for (size_t size = 0; size < 16; size++)
		ck_assert_int_eq(decode(native, size, 0, &instruction), -EINVAL);
	for (size_t size = 0; size < 8; size++)
		ck_assert_int_eq(decode(compacted, size, 0, &instruction), -EINVAL);
}

TEST(takes_offsets_in_the_code_only)
{
	unsigned char code[40];
	struct gt_instruction instruction;
	for (size_t i = 0; i < sizeof code; i += 8)
		memcpy(code + i, compacted, 8);
	for (size_t offset = 0; offset < 64; offset++) {
		int expected = offset < 40 && offset % 8 == 0 ? 0 : -EINVAL;
		ck_assert_int_eq(decode(code, sizeof code, offset, &instruction), expected);
		if (!expected)
			ck_assert_uint_eq(instruction.offset, offset);
	}
	ck_assert_int_eq(decode(code, sizeof code, SIZE_MAX, &instruction), -EINVAL);
	ck_assert_int_eq(decode(code, sizeof code, SIZE_MAX - 7, &instruction), -EINVAL);
}

TEST(knows_what_no_generation_has)
{
	unsigned char code[16] = { 0x3e };
	struct gt_instruction instruction;
	for (int generation = 0; generation <= GT_GENERATION_COUNT; generation++)
		ck_assert_int_eq(gt_instruction_decode(generation, code, 16, 0, &instruction), -EINVAL);
	ck_assert_int_eq(gt_instruction_decode(GT_UNKNOWN_GENERATION, native, 16, 0, &instruction), -EINVAL);
	code[0] = GT_OPCODE_BRD; /* Xe3 has it no more */
	ck_assert_int_eq(gt_instruction_decode(GT_XE2, code, 16, 0, &instruction), 0);
	ck_assert_int_eq(gt_instruction_decode(GT_XE3, code, 16, 0, &instruction), -EINVAL);
	code[0] = GT_OPCODE_SENDG; /* and only Xe3P has this */
	ck_assert_int_eq(gt_instruction_decode(GT_XE3, code, 16, 0, &instruction), -EINVAL);
	ck_assert_int_eq(gt_instruction_decode(GT_XE3P, code, 16, 0, &instruction), 0);
	code[0] = GT_OPCODE_SEND;
	code[3] = 0x20; /* nor is there a send of 8 bytes */
	ck_assert_int_eq(gt_instruction_decode(GT_XE2, code, 16, 0, &instruction), -EINVAL);
}

/* What is expected of a walk: the offset and the size of each item, sizes of what was not decoded negative. */
static void expect_walk(const void *bytes, size_t size, const int *sizes, uint32_t count)
{
	struct gt_code code;
	uint32_t offset = 0;
	ck_assert_int_eq(gt_code_walk(GT_XE2, bytes, size, &code), 0);
	ck_assert_uint_eq(code.count, count);
	for (uint32_t i = 0; i < count; i++) {
		const struct gt_instruction *instruction = &code.instructions[i];
		ck_assert_uint_eq(instruction->offset, offset);
		ck_assert_int_eq(instruction->flags & GT_NOT_DECODED ? -instruction->size : instruction->size,
				 sizes[i]);
		ck_assert_uint_eq(gt_code_find(&code, offset), i);
		ck_assert_uint_eq(gt_code_find(&code, offset + 1), UINT32_MAX);
		offset += instruction->size;
	}
	ck_assert_uint_eq(offset, size);
	ck_assert_uint_eq(gt_code_find(&code, offset), UINT32_MAX);
	gt_code_free(&code);
}

TEST(walks_over_what_is_no_instruction)
{
	unsigned char code[60] = { 0 };
	memcpy(code, compacted, 8);
	code[8] = 0x3e; /* 16 bytes of no instruction, then 8, then one that the end cuts off */
	code[24] = 0x3e;
	code[27] = 0x20;
	memcpy(code + 32, native, 16);
	memcpy(code + 48, native, 12);
	expect_walk(code, 60, (const int[]){ 8, -16, -8, 16, -12 }, 5);
	expect_walk(code, 51, (const int[]){ 8, -16, -8, 16, -3 }, 5);
	expect_walk(code, 0, NULL, 0);
}

TEST(takes_the_bytes_of_what_is_no_instruction)
{
	unsigned char code[48] = { 0x3e };
	for (size_t i = 8; i < sizeof code; i += 8)
		memcpy(code + i, compacted, 8);
	expect_walk(code, 48, (const int[]){ -16, 8, 8, 8, 8 }, 5);
	memcpy(code, native, 8);
	expect_walk(code, 48, (const int[]){ 16, 8, 8, 8, 8 }, 5);
}

TEST(covers_any_bytes)
{
	unsigned char bytes[512];
	srandom(205);
	for (int round = 0; round < 2000; round++) {
		struct gt_code code;
		size_t size = (size_t)random() % (sizeof bytes + 1), sum = 0;
		for (size_t i = 0; i < size; i++)
			bytes[i] = (unsigned char)random();
		enum gt_generation generation = 1 + round % (GT_GENERATION_COUNT - 1);
		ck_assert_int_eq(gt_code_walk(generation, bytes, size, &code), 0);
		for (uint32_t i = 0; i < code.count; i++) {
			ck_assert_uint_eq(code.instructions[i].offset, sum);
			ck_assert_uint_gt(code.instructions[i].size, 0);
			sum += code.instructions[i].size;
		}
		ck_assert_uint_eq(sum, size);
		gt_code_free(&code);
	}
}

TEST(refuses_what_cannot_be_walked)
{
	struct gt_code code;
	ck_assert_int_eq(gt_code_walk(GT_UNKNOWN_GENERATION, native, 16, &code), -EINVAL);
	ck_assert_int_eq(gt_code_walk(GT_GENERATION_COUNT, native, 16, &code), -EINVAL);
	ck_assert_int_eq(gt_code_walk(GT_XE2, native, GT_CODE_SIZE_MAXIMUM + 1, &code), -EFBIG);
	gt_code_free(&code);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
