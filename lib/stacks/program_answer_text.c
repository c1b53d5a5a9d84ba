/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer in a profile of CPUs as text. Sentences and labels are those of the panel of the page
 * (plugins/sink-flamegraph/page/summary.js): a test compares them.
 */
#include "stacks/program_answer.h"

#include <ctype.h>
#include <string.h>

#include "base/saturating.h"
#include "stacks/summary_words.h"
#include "stacks/value_label.h"
#include "text/quantity.h"

#define PARTS_SHOWN 6u
#define SITES_SHOWN 5u
/* Smaller parts are not worth their place. */
#define PART_SHARE 0.01
/* From this part on, waits are called idle. */
#define IDLE_SHARE 0.9
/* Of a reason: what has this part of it has most of it. */
#define MOST 0.5

static void append_type(struct text *text, const struct iaprof_value_type *type)
{
	value_type_append_words(text, type);
}

/* Appends what the values are called at the beginning of a line, and how they are divided. */
static void append_heading(struct text *text, const struct iaprof_value_type *type, const char *division)
{
	size_t begin = text->size;
	append_type(text, type);
	if (text->size > begin)
		text->data[begin] = (char)toupper((unsigned char)text->data[begin]);
	text_append_string(text, division);
}

/* Appends ": json 12.0 %, allocation 4.00 %" as the rest of a line. */
static void append_parts(struct text *text, const answer_parts *parts, uint64_t whole)
{
	for (size_t i = 0; i < parts->count && i < PARTS_SHOWN; i++) {
		const struct answer_part *part = &parts->items[i];
		if (i && (double)part->value < PART_SHARE * (double)whole)
			break;
		text_append_string(text, i ? ", " : ": ");
		text_append_name(text, *part->name ? part->name : OWN_CODE);
		text_append_string(text, " ");
		summary_append_share(text, part->value, whole);
	}
	text_append_string(text, "\n");
}

static void append_program(struct text *text, const struct program_answer *answer)
{
	if (!program_answer_has_programs(answer) || !answer->top->frame)
		return;
	text_append_string(text, "  Program: ");
	text_append_name(text, answer->top->program);
	text_append_string(text, "\n");
}

/* Appends the functions of programs with the largest values, on one line. */
static void append_sites(struct text *text, const struct program_answer *answer, const struct iaprof_value_type *type)
{
	size_t shown = 0;
	for (size_t i = 0; i < answer->sites.count && shown < SITES_SHOWN; i++) {
		const struct answer_site *site = &answer->sites.items[i];
		if (!site->frame || (double)site->value < PART_SHARE * (double)answer->value)
			continue;
		if (!shown++)
			append_heading(text, type, " by function of the program: ");
		else
			text_append_string(text, ", ");
		summary_append_function(text, site->frame);
		text_append_string(text, " ");
		summary_append_share(text, site->value, answer->value);
	}
	text_append_string(text, shown ? "\n" : "");
}

static void append_place(struct text *text, const struct answer_site *site)
{
	if (site->frame)
		summary_append_frame(text, site->frame);
	else
		text_append_name(text, site->program);
}

static bool is_mostly_idle(const struct program_answer *answer)
{
	return (double)answer->idle >= IDLE_SHARE * ((double)answer->idle + (double)answer->value);
}

static void append_idle(struct text *text, const struct program_answer *answer, const struct iaprof_value_type *type)
{
	summary_append_share(text, answer->idle, saturating_add(answer->idle, answer->value));
	text_append_string(text, " of ");
	append_type(text, type);
	text_append_string(text, " is idle: event loops and pools without work.\n");
}

static void append_waits(struct text *text, const struct program_answer *answer, const struct iaprof_value_type *type)
{
	const struct answer_part *reason = &answer->reasons.items[0];
	bool is_idle = is_mostly_idle(answer);
	if (is_idle)
		append_idle(text, answer, type);
	text_append_string(text, is_idle ? "Of the rest, " : "");
	summary_append_share(text, reason->value, answer->value);
	if (!is_idle) {
		text_append_string(text, " of ");
		append_type(text, type);
	}
	text_append_string(text, " is for ");
	text_append_name(text, *reason->name ? reason->name : "unknown events");
	if ((double)answer->top_wait >= MOST * (double)reason->value) {
		text_append_string(text, ", most in ");
	} else {
		text_append_string(text, ", ");
		summary_append_share(text, answer->top_wait, reason->value);
		text_append_string(text, " of it in ");
	}
	append_place(text, answer->top);
	text_append_string(text, ".\n");
	append_program(text, answer);
	append_heading(text, type, " by reason");
	append_parts(text, &answer->reasons, answer->value);
}

static void append_time(struct text *text, const struct program_answer *answer, const struct iaprof_value_type *type)
{
	const struct answer_site *top = answer->top;
	bool is_function = program_answer_is_function(answer);
	uint64_t value = is_function ? top->value : answer->programs.items[0].value;
	summary_append_share(text, value, answer->value);
	text_append_string(text, " of ");
	append_type(text, type);
	text_append_string(text, strcmp(type->unit, "count") ? " is in " : " are in ");
	if (is_function)
		summary_append_frame(text, top->frame);
	else
		text_append_name(text, answer->programs.items[0].name);
	text_append_string(text, ".\n");
	if (is_function)
		append_program(text, answer);
	if (is_function && top->frame->file && top->frame->line && top->line_value < top->value) {
		text_append_string(text, "  Hottest line: ");
		summary_append_place(text, top->frame);
		text_append_string(text, " (");
		summary_append_share(text, top->line_value, answer->value);
		text_append_string(text, ")\n");
	}
	text_append_string(text, "  Where it goes");
	append_parts(text, &answer->below, answer->value);
}

void program_answer_append_text(struct text *text, const struct program_answer *answer,
				const struct iaprof_value_type *type)
{
	if (answer->top) {
		(answer->is_wait ? append_waits : append_time)(text, answer, type);
		if (program_answer_has_programs(answer)) {
			append_heading(text, type, " by program");
			append_parts(text, &answer->programs, answer->value);
		}
		append_sites(text, answer, type);
	} else if (answer->idle) {
		append_idle(text, answer, type);
	}
	if (answer->idle)
		text_append_format(text, "Idle waits of event loops and pools%s: %s\n",
				   answer->top ? ", not counted above" : "", quantity_time((double)answer->idle).text);
}
