/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel's code as a list of instructions, found by walking over it from its begin. */
#ifndef IAPROF_PLUGINS_INTEL_GT_CODE_H
#define IAPROF_PLUGINS_INTEL_GT_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "instruction.h"

/* Larger than any kernel; bounds memory. */
#define GT_CODE_SIZE_MAXIMUM (64u << 20)

struct gt_code {
	enum gt_generation generation;
	uint32_t size;                       /* bytes of code; what is behind a kernel's symbol is not part of it */
	struct gt_instruction *instructions; /* by offset, without gaps from 0 on; the last may be cut off */
	uint32_t count;
	uint32_t not_decoded; /* how many of them are GT_NOT_DECODED */
};

/*
 * Walks over the code. Where there is no instruction, what lies there is one item with GT_NOT_DECODED, as long as its
 * length bit says, and the walk goes on behind it. Offsets where an instruction is known to begin, because it was
 * sampled there, are stronger: what would reach across one is cut off there. They are sorted; others than in the code
 * at a multiple of 8 are left out. 0; -ENOMEM; -EFBIG when the code is too large; -EINVAL for an unknown generation.
 */
int gt_code_walk(enum gt_generation generation, const void *bytes, size_t size, const uint32_t *known,
		 size_t known_count, struct gt_code *code);
void gt_code_free(struct gt_code *code);

/* The number of the instruction that begins at an offset, or UINT32_MAX. */
uint32_t gt_code_find(const struct gt_code *code, uint32_t offset);

#endif
