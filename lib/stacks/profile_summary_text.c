/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary as text. Sentences and labels are those of the panel of the page
 * (plugins/sink-flamegraph/page/summary.js): a test compares them.
 */
#include "stacks/profile_summary.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/saturating.h"
#include "stacks/stack_text.h"
#include "stacks/summary_words.h"
#include "stacks/value_label.h"
#include "text/printable.h"
#include "text/quantity.h"
#include "text/short_name.h"

/* Shares below which nothing is called a bottleneck. */
#define DOMINATES 0.05

static const struct iaprof_value_type *type_of(const struct profile_summary *summary)
{
	return iaprof_profile_value_type(summary->profile, summary->value_type);
}

/* Appends what the values are called: "CPU time". */
static void append_type(struct text *text, const struct profile_summary *summary)
{
	value_type_append_words(text, type_of(summary));
}

/* Appends a phrase that begins with a verb in the singular, which follows what the values are called. */
static void append_verb(struct text *text, const struct profile_summary *summary, const char *phrase)
{
	size_t length = strcspn(phrase, " ");
	text_append_format(text, " %.*s%s", (int)(value_type_is_plural(type_of(summary)) ? length - 1 : length), phrase,
			   phrase + length);
}

/* "attention_fwd, attention.cl:87" */
static void append_cause_place(struct text *text, const struct profile_summary *summary,
			       const struct summary_cause *cause)
{
	summary_append_function(text, summary->functions.items[cause->function].frame);
	if (cause->instruction && cause->instruction->line) {
		text_append_string(text, ", ");
		summary_append_place(text, cause->instruction);
	}
}

/* Returns whether a word of the name begins with one of these. */
static bool has_word(const char *name, const char *const *beginnings)
{
	for (; *beginnings; beginnings++)
		for (const char *at = name; (at = strcasestr(at, *beginnings)); at++)
			if (at == name || !(isalnum((unsigned char)at[-1]) || at[-1] == '_'))
				return true;
	return false;
}

/* Appends what an instruction is called in a sentence, as nounOf() of the page. */
static void append_noun(struct text *text, const char *name)
{
	static const char *const loads[] = { "load", "ld", "read", "gather", NULL };
	if (has_word(name, loads))
		text_append_string(text, "load");
	else if (strcasestr(name, "atomic"))
		text_append_string(text, "atomic");
	else if (strcasestr(name, "store") || strcasestr(name, "write"))
		text_append_string(text, "store");
	else if (strcasestr(name, "dpas") || strcasestr(name, "mma"))
		text_append_string(text, "matrix instruction");
	else
		text_append(text, name, strcspn(name, " \t("));
}

/* ", until the load in line 80 completes", or what else ends the stall */
static void append_end(struct text *text, const struct summary_cause *cause)
{
	const struct iaprof_frame *producer = cause->producer;
	const char *until = stall_classes[cause->stall_class].until;
	if (producer) {
		struct text noun = { 0 };
		append_noun(&noun, producer->name);
		text_append_string(text, ", until the ");
		text_append_name(text, text_string(&noun));
		text_free(&noun);
		if (producer->line && (!cause->instruction || producer->line != cause->instruction->line))
			text_append_format(text, " in line %" PRIu32, producer->line);
		text_append_string(text, " completes");
	} else if (*until) {
		text_append_format(text, ", until %s", until);
	}
}

static void append_cause(struct text *text, const struct profile_summary *summary, const struct summary_cause *cause)
{
	const struct stall_class *class = &stall_classes[cause->stall_class];
	const struct summary_function *function = &summary->functions.items[cause->function];
	const struct iaprof_frame *launch = function->launch;
	const char *advice = stall_advice(cause->stall_class, function->kernel_class);
	summary_append_share(text, cause->value, summary->value);
	text_append_string(text, " of ");
	append_type(text, summary);
	append_verb(text, summary, class->waits);
	text_append_string(text, " in ");
	append_cause_place(text, summary, cause);
	append_end(text, cause);
	text_append_string(text, ".\n");
	if (launch) {
		text_append_string(text, "  Launch site: ");
		summary_append_frame(text, launch);
		text_append_string(text, "\n");
	}
	text_append_format(text, "  Stall reason: %s (", class->label);
	text_append_name(text, cause->reason->name);
	text_append_string(text, ")\n");
	if (cause->producer) {
		text_append_string(text, "  Producer: ");
		text_append_name(text, cause->producer->name);
		if (cause->producer->file && cause->producer->line) {
			text_append_string(text, ", ");
			summary_append_place(text, cause->producer);
		}
		text_append_string(text, "\n");
	}
	if (*advice)
		text_append_format(text, "  What to try: %s\n", advice);
}

#define FUNCTIONS_SHOWN 5u

/* Appends those of the largest functions that are of a class, NULL: all, and their shares. Returns how many. */
static size_t append_some(struct text *text, const struct profile_summary *summary, const char *class,
			  const char *before)
{
	size_t count = 0;
	for (size_t i = 0; i < summary->functions.count && i < FUNCTIONS_SHOWN; i++) {
		const struct summary_function *function = &summary->functions.items[i];
		if (class && strcmp(function->kernel_class ?: SUMMARY_OTHER_CLASS, class) != 0)
			continue;
		text_append_string(text, count++ ? ", " : before);
		summary_append_function(text, function->frame);
		text_append_string(text, " ");
		summary_append_share(text, function->value, summary->value);
	}
	return count;
}

/* Appends the largest functions and their shares, on one line. */
static void append_functions(struct text *text, const struct profile_summary *summary)
{
	append_some(text, summary, NULL, ": ");
	if (summary->functions.count > FUNCTIONS_SHOWN)
		text_append_format(text, ", %zu more", summary->functions.count - FUNCTIONS_SHOWN);
	text_append_string(text, "\n");
}

/* Appends the largest kernels, a line for each class that has one. */
static void append_kernels(struct text *text, const struct profile_summary *summary)
{
	text_append_string(text, ":\n");
	for (size_t i = 0; i < summary->kernel_classes.count; i++) {
		struct text class = { 0 };
		text_append_string(&class, "  ");
		text_append_name(&class, summary->kernel_classes.items[i].name);
		text_append_string(&class, ": ");
		if (append_some(text, summary, summary->kernel_classes.items[i].name, text_string(&class)))
			text_append_string(text, "\n");
		text->failed |= class.failed;
		text_free(&class);
	}
	if (summary->functions.count > FUNCTIONS_SHOWN)
		text_append_format(text, "  %zu more\n", summary->functions.count - FUNCTIONS_SHOWN);
}

/* Appends the largest parts and their shares. */
static void append_parts(struct text *text, const summary_parts *parts, size_t most, uint64_t whole)
{
	for (size_t i = 0; i < parts->count && i < most; i++) {
		text_append_string(text, i ? ", " : "");
		text_append_name(text, parts->items[i].name);
		text_append_string(text, " ");
		summary_append_share(text, parts->items[i].value, whole);
	}
}

#define IDLE_SHOWN 4u

/* From this part on, nothing that is known about idle time is worth a line. */
#define UNKNOWN_IDLE 0.9

static void append_idle(struct text *text, const struct profile_summary *summary)
{
	uint64_t whole = saturating_add(summary->idle, summary->value);
	text_append_format(text, "The %s was idle ", device_kind_word(type_of(summary)->device_kind));
	summary_append_share(text, summary->idle, whole);
	text_append_format(text, " of the %s from its first execution to its last.\n",
			   quantity_time((double)whole).text);
	const struct summary_part *most = summary->idle_reasons.items;
	if (!summary->idle_reasons.count)
		return;
	/* As in the page. */
	if (strcmp(most->name, "[not sampled]") == 0 && (double)most->value >= UNKNOWN_IDLE * (double)summary->idle) {
		text_append_string(text,
				   "Sources cpu-stack and off-cpu record what the launching threads did meanwhile.\n");
		return;
	}
	text_append_string(text, "What the launching threads did meanwhile: ");
	append_parts(text, &summary->idle_reasons, IDLE_SHOWN, summary->idle);
	text_append_string(text, ".\n");
}

#define COPIES_SHOWN 6u
/* Shorter ones are not worth a line. */
#define COPY_SHARE 0.001

/* Appends "host to device" of "[copy host to device]". */
static void append_copy_name(struct text *text, const char *name)
{
	static const char copy[] = "[copy ";
	struct text plain = { 0 };
	if (strncmp(name, copy, strlen(copy)) == 0 && strlen(name) > strlen(copy))
		text_append(&plain, name + strlen(copy), strlen(name) - strlen(copy) - 1);
	else
		text_append(&plain, name + (*name == '['), strcspn(name + (*name == '['), "]"));
	text_append_name(text, text_string(&plain));
	text->failed |= plain.failed;
	text_free(&plain);
}

/* Between host and device; a copy on the host needs no pinned memory. */
static bool copy_is_of_pageable_memory(const char *name)
{
	return strcmp(name, "[copy host to device (pageable)]") == 0 ||
	       strcmp(name, "[copy device to host (pageable)]") == 0;
}

/* Copies run beside kernels and before them: their shares are of the run. */
static void append_copies(struct text *text, const struct profile_summary *summary)
{
	uint64_t whole = summary->profile->end - summary->profile->begin;
	const struct summary_copy *copies = summary->copies.items, *slow = NULL;
	/* The longest first. */
	size_t shown = 0;
	while (shown < summary->copies.count && shown < COPIES_SHOWN &&
	       (double)copies[shown].time >= COPY_SHARE * (double)whole)
		shown++;
	if (!shown)
		return;
	for (size_t i = 0; i < shown; i++) {
		text_append_string(text, i ? ", " : "Copies: ");
		append_copy_name(text, copies[i].name);
		text_append_format(text, " %s in", quantity_size((double)copies[i].bytes).text);
		text_append_format(text, " %s (", quantity_time((double)copies[i].time).text);
		summary_append_share(text, copies[i].time, whole);
		text_append_string(text, " of the run)");
	}
	text_append_string(text, ".\n");
	for (size_t i = 0; i < summary->copies.count && !slow; i++)
		if (copy_is_of_pageable_memory(copies[i].name) && (double)copies[i].time >= DOMINATES * (double)whole)
			slow = &copies[i];
	if (!slow)
		return;
	text_append_string(text, "Copies of pageable host memory take ");
	summary_append_share(text, slow->time, whole);
	text_append_string(text, " of the run.\n");
	if (slow->launch) {
		text_append_string(text, "  Launch site: ");
		summary_append_frame(text, slow->launch);
		text_append_string(text, "\n");
	}
	text_append_string(text,
			   "  What to try: pin the host memory (in PyTorch, pin_memory() and non_blocking=True).\n");
}

#define NARROW_SHOWN 3u
#define NARROW_NAME_LENGTH 48

/* Names the kernels that use little of the device. */
static void append_narrow(struct text *text, const struct profile_summary *summary)
{
	for (size_t i = 0, shown = 0; i < summary->functions.count && shown < NARROW_SHOWN; i++) {
		const struct summary_function *function = &summary->functions.items[i];
		if (!profile_summary_is_narrow(summary, function))
			continue;
		shown++;
		text_append_short_name(text, function->frame->name, NARROW_NAME_LENGTH);
		text_append_string(text, " takes ");
		summary_append_share(text, function->value, summary->value);
		text_append_string(text, " of ");
		append_type(text, summary);
		text_append_format(text, ", but uses %s %.2g %% as much of the %s as ",
				   function->is_use_limit ? "less than" : "about", 100 * function->use,
				   device_kind_word(type_of(summary)->device_kind));
		text_append_short_name(text, summary->fullest->frame->name, NARROW_NAME_LENGTH);
		text_append_string(text, ": a larger grid, batching, or other kernels beside it.\n");
	}
}

#define RANKS_SHOWN 8u

/* Shares of their time that ranks spend in collectives; a difference of this part is waiting for the one with the
 * least. */
#define WAITS_FOR_RANK 0.05

static void append_ranks(struct text *text, const struct profile_summary *summary)
{
	const struct summary_rank *ranks = summary->ranks.items;
	size_t count = summary->ranks.count;
	if (!count || !ranks[0].collective)
		return;
	text_append_string(text, "Time in collectives by rank: ");
	for (size_t i = 0; i < count; i++) {
		/* The last one counts. */
		if (i >= RANKS_SHOWN - 1 && i + 1 < count)
			continue;
		text_append_string(text, i ? ", " : "");
		text_append_name(text, ranks[i].name);
		text_append_string(text, " ");
		summary_append_share(text, ranks[i].collective, ranks[i].value);
	}
	text_append_string(text, ".");
	if (summary_rank_share(&ranks[0]) - summary_rank_share(&ranks[count - 1]) >= WAITS_FOR_RANK) {
		text_append_string(text, " The others probably wait for ");
		text_append_name(text, ranks[count - 1].name);
		text_append_string(text, ", which spends least there.");
	}
	text_append_string(text, "\n");
}

/* Where nothing was sampled: what kernels waited for is not known. */
static void append_longest(struct text *text, const struct profile_summary *summary)
{
	const struct summary_function *longest = &summary->functions.items[0];
	summary_append_share(text, longest->value, summary->value);
	text_append_string(text, " of ");
	append_type(text, summary);
	text_append_string(text, " is in ");
	summary_append_function(text, longest->frame);
	text_append_string(text, ". What kernels waited for was not sampled.\n");
	if (longest->launch) {
		text_append_string(text, "  Launch site: ");
		summary_append_frame(text, longest->launch);
		text_append_string(text, "\n");
	}
	const char *advice = kernel_class_advice(longest->kernel_class);
	if (advice)
		text_append_format(text, "  What to try: %s\n", advice);
}

static void append_device(struct text *text, const struct profile_summary *summary)
{
	if (summary->idle)
		append_idle(text, summary);
	append_copies(text, summary);
	const struct summary_cause *top = summary->causes.count ? &summary->causes.items[0] : NULL;
	if (top && (double)top->value >= DOMINATES * (double)summary->value) {
		append_cause(text, summary, top);
	} else if (summary->functions.count && summary->unsampled == summary->value) {
		append_longest(text, summary);
	} else {
		text_append_string(text, "No single bottleneck. ");
		text_append_string(text, top ? "The largest stalls: " : "Nothing stalls.\n");
		for (size_t i = 0; i < summary->causes.count && i < 3; i++) {
			text_append_string(text, i ? "; " : "");
			append_cause_place(text, summary, &summary->causes.items[i]);
			text_append_format(text, " (%s, ", stall_classes[summary->causes.items[i].stall_class].label);
			summary_append_share(text, summary->causes.items[i].value, summary->value);
			text_append_string(text, ")");
		}
		text_append_string(text, top ? ".\n" : "");
	}
	append_narrow(text, summary);
	append_ranks(text, summary);
	append_type(text, summary);
	if (summary->kernel_classes.count) {
		text_append_string(text, " by class: ");
		append_parts(text, &summary->kernel_classes, SUMMARY_PARTS_MAX, summary->value);
		text_append_string(text, "\n");
		append_type(text, summary);
	}
	text_append_string(text, " by kernel");
	(summary->kernel_classes.count ? append_kernels : append_functions)(text, summary);
	summary_append_share(text, summary->stalled, summary->value);
	text_append_string(text, " stalled, ");
	if (summary->unsampled) {
		summary_append_share(text, summary->unsampled, summary->value);
		text_append_string(text, " without a sample, ");
	}
	summary_append_share(text, summary->matched, summary->value);
	text_append_string(text, " matched to a kernel, ");
	summary_append_share(text, summary->with_lines, summary->value);
	text_append_string(text, " with a source line\n");
}

static void append_cpu(struct text *text, const struct profile_summary *summary)
{
	if (!summary->functions.count)
		return;
	program_answer_append_text(text, &summary->answer, type_of(summary));
	if (summary->answer.is_wait)
		return;
	text_append_string(text, "Self ");
	append_type(text, summary);
	text_append_string(text, " by function");
	append_functions(text, summary);
	summary_append_share(text, summary->matched, summary->value);
	text_append_string(text, " with the innermost function resolved\n");
}

void profile_summary_append_text(struct text *text, const struct profile_summary *summary)
{
	if (!summary->value)
		text_append_string(text, "No samples\n");
	else if (summary->is_device)
		append_device(text, summary);
	else
		append_cpu(text, summary);
}
