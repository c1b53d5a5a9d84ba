/* SPDX-License-Identifier: Apache-2.0 */
/* Reads folded stacks: "program;function;function VALUE" on each line, as sink folded and the stackcollapse programs
 * write them. Lines that are empty or begin with "# " say nothing. */
#ifndef IAPROF_PLUGINS_REPLAY_FOLDED_TEXT_H
#define IAPROF_PLUGINS_REPLAY_FOLDED_TEXT_H

#include "text_profile.h"

/* Initialise with {0} and the taker. */
struct folded_text {
	const struct text_taker *taker;
	uint64_t rounded; /* values that had a fraction */
	/* its own */
	struct text_frame frames[TEXT_FRAMES_MAX];
};

/* 0 or what the taker returned. */
int folded_text_line(struct folded_text *folded, const struct text_line *line);

/* Whether a line is of this format, as far as can be told. */
bool folded_text_is(struct text_span line);

#endif
