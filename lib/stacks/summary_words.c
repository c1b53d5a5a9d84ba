/* SPDX-License-Identifier: Apache-2.0 */
/* See summary_words.h. */
#include "stacks/summary_words.h"

#include <inttypes.h>

#include "stacks/stack_text.h"
#include "text/printable.h"
#include "text/quantity.h"
#include "text/short_name.h"

/* Longest name of a function, in bytes. */
#define NAME_LIMIT 100

void summary_append_share(struct text *text, uint64_t part, uint64_t whole)
{
	text_append_string(text, quantity_share((double)part, (double)whole, " %").text);
}

void summary_append_place(struct text *text, const struct iaprof_frame *frame)
{
	text_append_name(text, path_name(frame->file) ?: "");
	if (frame->line)
		text_append_format(text, ":%" PRIu32, frame->line);
}

/* C++ templates are shortened to what distinguishes them. */
void summary_append_function(struct text *text, const struct iaprof_frame *frame)
{
	struct text name = { 0 };
	frame_name_append(&name, frame);
	text_append_short_name(text, text_string(&name), NAME_LIMIT);
	text->failed |= name.failed;
	text_free(&name);
}

/* "attention_fwd, attention.cl:87"; file and line, or else the module, as far as they are known */
void summary_append_frame(struct text *text, const struct iaprof_frame *frame)
{
	summary_append_function(text, frame);
	if (frame->file && *frame->file) {
		text_append_string(text, ", ");
		summary_append_place(text, frame);
	} else if (frame->module && *frame->module && frame->kind != IAPROF_FRAME_JIT) {
		text_append_string(text, ", ");
		text_append_name(text, path_name(frame->module));
	}
}
