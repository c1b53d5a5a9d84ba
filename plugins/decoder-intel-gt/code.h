/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes a kernel's code into a list of instructions, from its first byte on. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "instruction.h"

/* Larger than any kernel; bounds memory. */
#define GT_CODE_SIZE_MAXIMUM (64u << 20)

struct gt_code {
	enum gt_generation generation;
	uint32_t size;                       /* bytes of code, up to the end of the kernel's symbol */
	struct gt_instruction *instructions; /* by offset, without gaps from 0 on; the last may be truncated */
	uint32_t count;
};

/*
 * Decodes the code. Bytes that are not an instruction become one item with GT_NOT_DECODED, whose size is that of its
 * length bit, and decoding continues after it. Returns 0; -ENOMEM; -EFBIG if the code is too large; -EINVAL for an
 * unknown generation.
 */
int gt_code_walk(enum gt_generation generation, const void *bytes, size_t size, struct gt_code *code);
void gt_code_free(struct gt_code *code);

/* Returns the number of the instruction that begins at an offset, or UINT32_MAX. */
uint32_t gt_code_find(const struct gt_code *code, uint32_t offset);
