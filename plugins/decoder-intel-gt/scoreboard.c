/* SPDX-License-Identifier: Apache-2.0 */
/* See scoreboard.h. Every value of each encoding was checked against libiga64. */
#include "scoreboard.h"

#include <stdio.h>

static struct gt_scoreboard distance(enum gt_pipe pipe, unsigned instructions)
{
	if (!instructions)
		return (struct gt_scoreboard){ 0 };
	return (struct gt_scoreboard){ .pipe = (uint8_t)pipe, .distance = (uint8_t)instructions };
}

static struct gt_scoreboard token(enum gt_token_action action, unsigned number)
{
	return (struct gt_scoreboard){ .action = (uint8_t)action, .token = (uint8_t)number };
}

static struct gt_scoreboard both(enum gt_pipe pipe, unsigned instructions, enum gt_token_action action, unsigned number)
{
	if (!instructions)
		return (struct gt_scoreboard){ .unknown = true };
	return (struct gt_scoreboard){ .pipe = (uint8_t)pipe,
				       .distance = (uint8_t)instructions,
				       .action = (uint8_t)action,
				       .token = (uint8_t)number };
}

/* Xe, XeHP and XeHPG: 8 bits, 16 tokens. */
static struct gt_scoreboard decode_short(enum gt_generation generation, enum gt_scoreboard_class class, unsigned bits)
{
	static const uint8_t pipes[16] = { [0] = GT_PIPE_INFERRED, [1] = GT_PIPE_FLOAT, [5] = GT_PIPE_LONG };
	unsigned number = bits & 0xf, instructions = bits & 7, kind = bits >> 4;
	bool pipeless = generation == GT_XE; /* it has one in-order pipe */
	if (kind >= 8) {
		enum gt_token_action action = class == GT_SCOREBOARD_ORDERED ? GT_TOKEN_DESTINATION : GT_TOKEN_SET;
		enum gt_pipe pipe = !pipeless && class == GT_SCOREBOARD_SEND ? GT_PIPE_ALL : GT_PIPE_INFERRED;
		return both(pipe, kind & 7, action, number);
	}
	switch (kind) {
	case 2:
		return token(GT_TOKEN_DESTINATION, number);
	case 3:
		return token(GT_TOKEN_SOURCE, number);
	case 4:
		return token(GT_TOKEN_SET, number);
	case 0:
		if (pipeless || !(bits & 8))
			return distance(GT_PIPE_INFERRED, pipeless ? number : instructions);
		return distance(GT_PIPE_ALL, instructions);
	case 1:
		return pipeless ? (struct gt_scoreboard){ .unknown = true }
				: distance(bits & 8 ? GT_PIPE_INTEGER : GT_PIPE_FLOAT, instructions);
	default:
		return !pipeless && pipes[kind] && !(bits & 8) ? distance(pipes[kind], instructions)
							       : (struct gt_scoreboard){ .unknown = true };
	}
}

/* From XeHPC on: 10 bits, 32 tokens. */
static struct gt_scoreboard decode_long(enum gt_generation generation, enum gt_scoreboard_class class, unsigned bits)
{
	static const uint8_t pipes[8] = { GT_PIPE_INFERRED, GT_PIPE_ALL,  GT_PIPE_FLOAT, GT_PIPE_INTEGER,
					  GT_PIPE_LONG,     GT_PIPE_MATH, GT_PIPE_SCALAR };
	static const struct {
		uint8_t pipe, action;
	} pairs[3][2] = { /* meanings of bits 9:8 for sends, and for others; the matrix unit is handled below */
			  { { GT_PIPE_ALL, GT_TOKEN_SET }, { GT_PIPE_INFERRED, GT_TOKEN_DESTINATION } },
			  { { GT_PIPE_FLOAT, GT_TOKEN_SET }, { GT_PIPE_INFERRED, GT_TOKEN_SOURCE } },
			  { { GT_PIPE_INTEGER, GT_TOKEN_SET }, { GT_PIPE_ALL, GT_TOKEN_DESTINATION } }
	};
	unsigned number = bits & 0x1f, pair = bits >> 8;
	if (pair) {
		enum gt_pipe pipe = pairs[pair - 1][class != GT_SCOREBOARD_SEND].pipe;
		enum gt_token_action action = pairs[pair - 1][class != GT_SCOREBOARD_SEND].action;
		if (class == GT_SCOREBOARD_MATRIX && pair != 2) {
			pipe = GT_PIPE_INFERRED;
			action = pair == 1 ? GT_TOKEN_SET : GT_TOKEN_DESTINATION;
		}
		return both(pipe, bits >> 5 & 7, action, number);
	}
	switch (bits >> 5) {
	case 0:
	case 1:
		if (bits >> 3 == 7 || (bits >> 3 == 6 && generation < GT_XE3))
			return (struct gt_scoreboard){ .unknown = true };
		return distance(pipes[bits >> 3], bits & 7);
	case 2:
		return generation == GT_XE3P ? token(GT_TOKEN_INCREMENT, number)
					     : (struct gt_scoreboard){ .unknown = true };
	case 4:
		return token(GT_TOKEN_DESTINATION, number);
	case 5:
		return token(GT_TOKEN_SOURCE, number);
	case 6:
		return token(GT_TOKEN_SET, number);
	default:
		/* The accumulator's dependency is not tracked, so there is nothing to wait for. */
		return (struct gt_scoreboard){ .unknown = bits != 0xf0 };
	}
}

struct gt_scoreboard gt_scoreboard_decode(enum gt_generation generation, enum gt_scoreboard_class class, unsigned bits)
{
	if (!bits)
		return (struct gt_scoreboard){ 0 };
	return generation < GT_XE_HPC ? decode_short(generation, class, bits & 0xff)
				      : decode_long(generation, class, bits & 0x3ff);
}

void gt_scoreboard_format(const struct gt_scoreboard *scoreboard, char text[GT_SCOREBOARD_TEXT])
{
	static const char pipes[][2] = { [GT_PIPE_NONE] = "",   [GT_PIPE_INFERRED] = "", [GT_PIPE_ALL] = "A",
					 [GT_PIPE_FLOAT] = "F", [GT_PIPE_INTEGER] = "I", [GT_PIPE_LONG] = "L",
					 [GT_PIPE_MATH] = "M",  [GT_PIPE_SCALAR] = "S",  [GT_PIPE_UNKNOWN] = "" };
	static const char actions[][5] = { [GT_TOKEN_NONE] = "",
					   [GT_TOKEN_DESTINATION] = ".dst",
					   [GT_TOKEN_SOURCE] = ".src",
					   [GT_TOKEN_SET] = "",
					   [GT_TOKEN_INCREMENT] = ".inc" };
	char wait[8] = "", hold[10] = "";
	if (scoreboard->distance)
		snprintf(wait, sizeof wait, "%s@%u", pipes[scoreboard->pipe], scoreboard->distance & 15u);
	if (scoreboard->action)
		snprintf(hold, sizeof hold, "$%u%s", scoreboard->token & 31u, actions[scoreboard->action]);
	snprintf(text, GT_SCOREBOARD_TEXT, "%s%s%s", wait, wait[0] && hold[0] ? "," : "", hold);
}
