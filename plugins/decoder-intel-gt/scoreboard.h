/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The software scoreboard: the dependencies that delay the issue of an instruction, and the token that it allocates for
 * others to wait for. Dependencies on in-order pipes are distances (the d-th instruction before this one), all others
 * are tokens.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "generation.h"

/* An in-order pipe, or a placeholder in a wait. */
enum gt_pipe {
	GT_PIPE_NONE,
	GT_PIPE_INFERRED, /* in a wait: the pipe of the type of the waiting instruction's sources */
	GT_PIPE_ALL,      /* in a wait: any pipe */
	GT_PIPE_FLOAT,
	GT_PIPE_INTEGER,
	GT_PIPE_LONG, /* 64-bit */
	GT_PIPE_MATH,
	GT_PIPE_SCALAR, /* writes to the scalar register */
	GT_PIPE_UNKNOWN /* the instruction's type is unknown */
};

enum gt_token_action {
	GT_TOKEN_NONE,
	GT_TOKEN_DESTINATION, /* waits until the token's owner has written its destination */
	GT_TOKEN_SOURCE,      /* waits until the owner has read its sources */
	GT_TOKEN_SET,         /* allocates the token; waits until it is free */
	GT_TOKEN_INCREMENT    /* shares the token with its owners */
};

struct gt_scoreboard {
	uint8_t pipe;     /* enum gt_pipe */
	uint8_t distance; /* 1 to 7; 0 with GT_PIPE_NONE */
	uint8_t action;   /* enum gt_token_action */
	uint8_t token;    /* 0 to 31 */
	bool unknown;     /* the bits have another meaning */
};

/* Besides the generation, determines the meaning of the bits. */
enum gt_scoreboard_class {
	GT_SCOREBOARD_ORDERED, /* none of the following */
	GT_SCOREBOARD_MATH,
	GT_SCOREBOARD_SEND,
	GT_SCOREBOARD_MATRIX
};

/* Decodes bits 17:8 of an instruction, or 15:8 before XeHPC. */
struct gt_scoreboard gt_scoreboard_decode(enum gt_generation generation, enum gt_scoreboard_class class, unsigned bits);

#define GT_SCOREBOARD_TEXT 24

/* Writes "@1,$3.dst" in the syntax of Intel's assembler; empty without dependencies. */
void gt_scoreboard_format(const struct gt_scoreboard *scoreboard, char text[GT_SCOREBOARD_TEXT]);
