/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The software scoreboard: what an instruction waits for before it issues, and which token it takes for others to wait
 * for. In-order pipes are waited for by distance (the d-th instruction before this one), the rest by token.
 */
#ifndef IAPROF_PLUGINS_INTEL_GT_SCOREBOARD_H
#define IAPROF_PLUGINS_INTEL_GT_SCOREBOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "generation.h"

/* An in-order pipe, or in a wait what stands for one. */
enum gt_pipe {
	GT_PIPE_NONE,
	GT_PIPE_INFERRED, /* of a wait: the pipe that the type of the waiting instruction's sources names */
	GT_PIPE_ALL,      /* of a wait: whichever it was */
	GT_PIPE_FLOAT,
	GT_PIPE_INTEGER,
	GT_PIPE_LONG, /* 64-bit */
	GT_PIPE_MATH,
	GT_PIPE_SCALAR, /* writes to the scalar register */
	GT_PIPE_UNKNOWN /* of an instruction whose type is not known */
};

enum gt_token_action {
	GT_TOKEN_NONE,
	GT_TOKEN_DESTINATION, /* waits until the token's owner wrote its destination */
	GT_TOKEN_SOURCE,      /* waits until it read its sources */
	GT_TOKEN_SET,         /* takes the token; waits while somebody has it */
	GT_TOKEN_INCREMENT    /* takes it too, together with those who have it */
};

struct gt_scoreboard {
	uint8_t pipe;     /* enum gt_pipe */
	uint8_t distance; /* 1 to 7; 0 with GT_PIPE_NONE */
	uint8_t action;   /* enum gt_token_action */
	uint8_t token;    /* 0 to 31 */
	bool unknown;     /* the bits say something else */
};

/* What the meaning of the bits depends on besides the generation. */
enum gt_scoreboard_class {
	GT_SCOREBOARD_ORDERED, /* neither of the next */
	GT_SCOREBOARD_MATH,
	GT_SCOREBOARD_SEND,
	GT_SCOREBOARD_MATRIX
};

/* Bits 17:8 of an instruction, or 15:8 before XeHPC. */
struct gt_scoreboard gt_scoreboard_decode(enum gt_generation generation, enum gt_scoreboard_class class, unsigned bits);

#define GT_SCOREBOARD_TEXT 24

/* "@1,$3.dst" as Intel's assembler writes it; empty when there is nothing to wait for. */
void gt_scoreboard_format(const struct gt_scoreboard *scoreboard, char text[GT_SCOREBOARD_TEXT]);

#endif
