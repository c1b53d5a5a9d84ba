/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes one instruction of a kernel: its size, and the fields for its operation, dependencies and branch targets.
 * Registers and types are left to a disassembler.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "generation.h"
#include "scoreboard.h"

/* Instructions begin at multiples of this, and are one or two units long. */
#define GT_INSTRUCTION_UNIT 8u
#define GT_INSTRUCTION_SIZE_MAXIMUM 16u

enum gt_instruction_flag {
	GT_NO_MASK = 1u << 0,    /* executes on disabled channels, too: (W) */
	GT_PREDICATED = 1u << 1, /* by a flag register */
	GT_INVERTED = 1u << 2,   /* the predicate is inverted */
	GT_COMPACTED = 1u << 3,  /* the 8-byte form */
	GT_BREAKPOINT = 1u << 4,
	GT_END_OF_THREAD = 1u << 5,
	GT_INDIRECT_MESSAGE = 1u << 6, /* send: the descriptor is in a register, message is not valid */
	GT_INDIRECT_TARGET = 1u << 7,  /* branch: the target is in a register or absolute, target is not valid */
	GT_BRANCH_CONTROL = 1u << 8,   /* goto.b, else.b */
	GT_NO_DESTINATION = 1u << 9,   /* send: writes no register, such as a store */
	GT_NOT_DECODED = 1u << 10      /* in gt_code: bytes that are not an instruction; only offset and size are set */
};

#define GT_NO_TARGET INT32_MIN
/* In sync instructions without a mask: all tokens. */
#define GT_ALL_TOKENS UINT32_MAX

struct gt_instruction {
	uint32_t offset; /* in the kernel's code */
	uint8_t size;    /* 8 or 16 */
	uint8_t opcode;
	uint8_t group;          /* enum gt_group */
	uint8_t form;           /* enum gt_form */
	uint8_t execution_size; /* channels: 1, 2, 4, 8, 16, 32; 0 if the field has another meaning */
	uint8_t channel_offset; /* first channel: M0, M8, M16 */
	uint8_t function;       /* function of a sync or math; for a send, the unit's number (SFID) */
	uint8_t pipe;           /* enum gt_pipe: the in-order pipe that executes it, NONE, or UNKNOWN */
	uint8_t source_pipe;    /* the pipe that GT_PIPE_INFERRED refers to in its own scoreboard; ALL if unknown */
	uint16_t flags;         /* enum gt_instruction_flag */
	struct gt_scoreboard scoreboard;
	uint32_t message; /* send: the low bits of the descriptor; sync.allrd and sync.allwr: mask of tokens */
	int32_t target; /* branch: offset at which the next channels join (JIP), in bytes from the start of the code */
	int32_t target_2; /* fork: target of the channels that take it (UIP); both may lie outside the code */
};

/*
 * Decodes the instruction at an offset. Returns 0, or -EINVAL if there is none: outside the code or truncated by its
 * end, not at a multiple of 8, or an opcode that the generation does not have (in this form). Reads only the
 * instruction's bytes.
 */
int gt_instruction_decode(enum gt_generation generation, const void *code, size_t code_size, size_t offset,
			  struct gt_instruction *instruction);

/*
 * Returns the mnemonic: "add", "math.sin", "sync.allrd", "send.ugm load", "sendc.slm atomic_iadd"; "send.ugm indirect"
 * if the operation is in a register. Never NULL; a static string.
 */
const char *gt_instruction_mnemonic(enum gt_generation generation, const struct gt_instruction *instruction);
