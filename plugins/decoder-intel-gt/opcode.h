/* SPDX-License-Identifier: Apache-2.0 */
/* The opcodes of each generation: names, groups and instruction layouts. */
#pragma once

#include <stdint.h>

#include "generation.h"

/* Kinds of operations, by which a profile can be grouped. */
enum gt_group { GT_GROUP_ALU, GT_GROUP_MATH, GT_GROUP_MATRIX, GT_GROUP_MEMORY, GT_GROUP_SYNC, GT_GROUP_CONTROL };

/* Fields of an instruction besides the common ones. */
enum gt_form {
	GT_FORM_PLAIN,   /* illegal, nop: none */
	GT_FORM_UNARY,   /* a destination and one source */
	GT_FORM_BINARY,  /* two sources */
	GT_FORM_TERNARY, /* three sources: laid out differently */
	GT_FORM_MATH,    /* binary, with a function */
	GT_FORM_MATRIX,  /* dpas and its variants */
	GT_FORM_SYNC,    /* a function, and a mask of tokens or null */
	GT_FORM_SEND,    /* a unit and two descriptors of 32 bits */
	GT_FORM_SENDG,   /* a unit and one descriptor of 46 bits */
	GT_FORM_BRANCH,  /* one target */
	GT_FORM_FORK,    /* two targets: where the next enabled channels join, and where these branch to */
	GT_FORM_RETURN   /* its target is in a register */
};

enum {
	GT_OPCODE_ILLEGAL = 0x00,
	GT_OPCODE_SYNC = 0x01,
	GT_OPCODE_JMPI = 0x20,
	GT_OPCODE_BRD = 0x21,
	GT_OPCODE_IF = 0x22,
	GT_OPCODE_BRC = 0x23,
	GT_OPCODE_ELSE = 0x24,
	GT_OPCODE_ENDIF = 0x25,
	GT_OPCODE_WHILE = 0x27,
	GT_OPCODE_CALLA = 0x2b,
	GT_OPCODE_CALL = 0x2c,
	GT_OPCODE_RET = 0x2d,
	GT_OPCODE_GOTO = 0x2e,
	GT_OPCODE_JOIN = 0x2f,
	GT_OPCODE_SEND = 0x31,
	GT_OPCODE_SENDC = 0x32,
	GT_OPCODE_SENDG = 0x33,
	GT_OPCODE_SENDGC = 0x34,
	GT_OPCODE_SENDGX = 0x35,
	GT_OPCODE_SENDGXC = 0x36,
	GT_OPCODE_SRND = 0x54,
	GT_OPCODE_MOV = 0x61,
	GT_OPCODE_COUNT = 0x80
};

struct gt_opcode {
	const char *mnemonic; /* NULL: no such opcode */
	uint8_t group;        /* enum gt_group */
	uint8_t form;         /* enum gt_form */
	uint8_t generations;  /* GT_SET of generations that have it */
	uint8_t compacted;    /* GT_SET of generations that have its 8-byte form */
};

/* Returns NULL if the generation has no such opcode; safe for any number. */
const struct gt_opcode *gt_opcode_find(enum gt_generation generation, unsigned opcode);
