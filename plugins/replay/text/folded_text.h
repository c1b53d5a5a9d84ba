/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reader of folded stacks: "program;function;function VALUE" per line, as sink folded and the stackcollapse programs
 * write them. Empty lines and lines that begin with "# " are skipped.
 */
#pragma once

#include "text_profile.h"

/* Initialise with {0} and the taker. */
struct folded_text {
	const struct text_taker *taker;
	uint64_t rounded; /* values with a fraction */
	/* Private members. */
	struct text_frame frames[TEXT_FRAMES_MAX];
};

/* Returns 0 or what the taker returned. */
int folded_text_line(struct folded_text *folded, const struct text_line *line);

/* Returns true if a line may have this format. */
bool folded_text_is(struct text_span line);

/*
 * Returns true if a line is frames separated by ';', or one word, and a number, which need not be a valid value. Unlike
 * folded_text_is(), rejects lines such as "x = 5" and "x: 5".
 */
bool folded_text_has_form(struct text_span line);
