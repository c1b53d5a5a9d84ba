/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer in a profile of CPUs: in which function of the program its time is spent, and what is called from there;
 * of waits, what they are for. A stack belongs to the innermost function of the program's own code (code_site.h), and
 * its value includes what that function calls of libraries and of the Linux kernel.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/profile.h>

#include "base/array.h"
#include "base/string_table.h"
#include "text/text.h"

/* A function of a program. Processes of one name are one program. */
struct answer_site {
	const char *program;
	const struct iaprof_frame
		*frame; /* at its hottest line; NULL: the code has no names, or is not the program's */
	uint64_t value;
	uint64_t line_value; /* at that line */
};

struct answer_part {
	const char *name;
	uint64_t value;
};
typedef ARRAY(struct answer_part) answer_parts;

/* Lists are sorted, the largest first. */
struct program_answer {
	bool is_wait;
	uint64_t value; /* of all stacks, without idle */
	uint64_t idle;  /* waits of event loops and pools for work */
	ARRAY(struct answer_site) sites;
	answer_parts programs;
	/*
	 * The site that matters most: of the largest program the largest one, with a frame or without; of waits, the
	 * largest one of those for the first reason. NULL: the profile has no values.
	 */
	const struct answer_site *top;
	answer_parts below;   /* what the value of the answer is spent in; "" is its own code */
	answer_parts reasons; /* of waits: what they are for */
	uint64_t top_wait;    /* of the first reason, at the top site */
	struct string_table texts;
};

/* Makes the answer of one value type, which the caller frees in any case. Returns 0 or -ENOMEM. */
int program_answer_make(struct program_answer *answer, const struct iaprof_profile *profile, uint32_t value_type);
void program_answer_free(struct program_answer *answer);

/* What a part without a name is called. */
#define OWN_CODE "its own code"

/* Returns whether more than one program has a part of the value that counts. */
bool program_answer_has_programs(const struct program_answer *answer);
/* Returns whether the function of the top site has enough of the value to be the answer; else its program is. */
bool program_answer_is_function(const struct program_answer *answer);

/* Appends the answer as lines of text. */
void program_answer_append_text(struct text *text, const struct program_answer *answer,
				const struct iaprof_value_type *type);
