/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One instruction of a kernel: its frame and the fields that say what it is, what it waits for and where it goes.
 * Registers and types are left to a disassembler.
 */
#ifndef IAPROF_PLUGINS_INTEL_GT_INSTRUCTION_H
#define IAPROF_PLUGINS_INTEL_GT_INSTRUCTION_H

#include <stddef.h>
#include <stdint.h>

#include "generation.h"
#include "scoreboard.h"

/* Instructions begin at multiples of this and are one or two of it long. */
#define GT_INSTRUCTION_UNIT 8u
#define GT_INSTRUCTION_SIZE_MAXIMUM 16u

enum gt_instruction_flag {
	GT_NO_MASK = 1u << 0,    /* channels that are off take part: (W) */
	GT_PREDICATED = 1u << 1, /* on a flag register */
	GT_INVERTED = 1u << 2,   /* on its being 0 */
	GT_COMPACTED = 1u << 3,  /* the 8-byte form */
	GT_BREAKPOINT = 1u << 4,
	GT_END_OF_THREAD = 1u << 5,
	GT_INDIRECT_MESSAGE = 1u << 6, /* send: its descriptor is in a register, so message says nothing */
	GT_INDIRECT_TARGET = 1u << 7,  /* branch: its target is in a register or absolute, so target says nothing */
	GT_BRANCH_CONTROL = 1u << 8,   /* goto.b, else.b */
	GT_NOT_DECODED = 1u << 9       /* in gt_code: bytes that are no instruction; only offset and size are set */
};

#define GT_NO_TARGET INT32_MIN
/* sync: no mask, so all tokens. */
#define GT_ALL_TOKENS UINT32_MAX

struct gt_instruction {
	uint32_t offset; /* in the kernel's code */
	uint8_t size;    /* 8 or 16 */
	uint8_t opcode;
	uint8_t group;          /* enum gt_group */
	uint8_t form;           /* enum gt_form */
	uint8_t execution_size; /* channels: 1, 2, 4, 8, 16, 32; 0 when the field has no such meaning */
	uint8_t channel_offset; /* of the first of them: M0, M8, M16 */
	uint8_t function;       /* sync and math: which; send: the unit's number, SFID */
	uint8_t pipe;           /* enum gt_pipe: the in-order pipe it is issued to, NONE, or UNKNOWN */
	uint8_t source_pipe;    /* what GT_PIPE_INFERRED in its own scoreboard means: ALL where that is not known */
	uint16_t flags;         /* enum gt_instruction_flag */
	struct gt_scoreboard scoreboard;
	uint32_t message; /* send: the low bits of the descriptor; sync.allrd and sync.allwr: mask of tokens */
	int32_t target;   /* branch: offset where the next channels meet (JIP), in bytes from the begin of the code */
	int32_t target_2; /* fork: where the channels go that take it (UIP); both may lie outside of the code */
};

/*
 * Reads the instruction at an offset. 0, or -EINVAL when there is none: outside of the code or cut off by its end, not
 * at a multiple of 8, or an opcode that the generation does not have (in this form). Reads only the instruction's
 * bytes.
 */
int gt_instruction_decode(enum gt_generation generation, const void *code, size_t code_size, size_t offset,
			  struct gt_instruction *instruction);

/*
 * "add", "math.sin", "sync.allrd", "send.ugm load", "sendc.slm atomic_iadd"; "send.ugm indirect" when the operation is
 * in a register. Never NULL; text that lives as long as the program.
 */
const char *gt_instruction_mnemonic(enum gt_generation generation, const struct gt_instruction *instruction);

#endif
