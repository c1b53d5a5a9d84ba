/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sink summary: the answer in a profile, as text for people, or as JSON for scripts, and its tables. The JSON is
 * documented in iaprof-summary(7); its schema is summary.schema.json beside this file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <iaprof/plugin.h>

#include "stacks/finding_text.h"
#include "stacks/profile_summary.h"
#include "stacks/value_label.h"
#include "stacks/stack_text.h"
#include "stacks/value_choice.h"
#include "tables.h"

/* Functions in JSON. */
#define FUNCTIONS_MAX 100u

enum format { FORMAT_TEXT, FORMAT_JSON, FORMAT_STALLS, FORMAT_FUNCTIONS, FORMAT_CALLS };

struct summary {
	uint64_t format;   /* enum format */
	const char *value; /* name of a value type, NULL: value_type_best() */
};

/* A run ends with text of a difference, and the last three (core/run/run_report.c). */
static const char *const formats[] = { "text", "json", "stalls", "functions", "calls", NULL };

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct summary, format, CHOICE, "format", "text",
		      "Output format: text for reading, json for scripts; stalls: text of device samples without "
		      "warnings; functions: tables of functions and stacks; calls: tables of calls and findings",
		      .choices = formats),
	IAPROF_OPTION(struct summary, value, STRING, "value", NULL,
		      "Value type to summarize, such as cpu; by default a device's"),
};

static int summary_configure(const struct iaprof_host *host, void *instance)
{
	host->request(host, IAPROF_REQUEST_LINES | IAPROF_REQUEST_PRODUCERS | IAPROF_REQUEST_ACTIVITY);
	return 0;
}

/* Appends "KEY":"TEXT", with a comma before it. */
static void append_text(struct text *text, const char *key, const char *value)
{
	text_append_format(text, ",\"%s\":", key);
	text_append_json(text, value);
}

static void append_number(struct text *text, const char *key, uint64_t value)
{
	text_append_format(text, ",\"%s\":%" PRIu64, key, value);
}

static void append_share(struct text *text, uint64_t value, uint64_t whole)
{
	append_number(text, "value", value);
	text_append_format(text, ",\"share\":%.6g", whole ? (double)value / (double)whole : 0.0);
}

/* Appends where a frame is, of what is known: members after the first one of an object. */
static void append_place(struct text *text, const struct iaprof_frame *frame)
{
	if (frame->module)
		append_text(text, "module", frame->module);
	if (frame->file)
		append_text(text, "file", frame->file);
	if (frame->line)
		append_number(text, "line", frame->line);
}

static void append_frame(struct text *text, const char *key, const struct iaprof_frame *frame)
{
	/* Of a producer only the instruction: the key says what it is. */
	struct iaprof_frame shown = *frame;
	shown.flags &= ~(uint32_t)IAPROF_FRAME_PRODUCER;
	text_append_format(text, ",\"%s\":{\"name\":", key);
	frame_name_append_json(text, &shown);
	append_place(text, frame);
	text_append_string(text, "}");
}

static void append_function(struct text *text, const struct profile_summary *summary,
			    const struct summary_function *function)
{
	text_append_string(text, "{\"name\":");
	frame_name_append_json(text, function->frame);
	append_place(text, function->frame);
	if (summary->kernel_classes.count)
		append_text(text, "class", function->kernel_class ?: SUMMARY_OTHER_CLASS);
	append_share(text, function->value, summary->value);
	if (function->samples)
		append_number(text, "device_samples", function->samples);
	if (function->use > 0 && !function->is_use_limit)
		text_append_format(text, ",\"device_use\":%.6g", function->use);
	if (function->launch)
		append_frame(text, "launched_by", function->launch);
	if (summary->is_device) {
		text_append_string(text, ",\"reasons\":{");
		const char *between = "";
		for (size_t i = 1; i < STALL_CLASS_COUNT; i++) {
			if (!function->classes[i])
				continue;
			text_append_string(text, between);
			text_append_json(text, stall_classes[i].label);
			text_append_format(text, ":%" PRIu64, function->classes[i]);
			between = ",";
		}
		text_append_string(text, "}");
	}
	text_append_string(text, "}");
}

static void append_cause(struct text *text, const struct profile_summary *summary, const struct summary_cause *cause)
{
	const struct stall_class *class = &stall_classes[cause->stall_class];
	const struct summary_function *function = &summary->functions.items[cause->function];
	text_append_string(text, "{\"kernel\":");
	frame_name_append_json(text, function->frame);
	if (cause->instruction && cause->instruction->line) {
		append_text(text, "file", cause->instruction->file);
		append_number(text, "line", cause->instruction->line);
	}
	append_text(text, "reason", class->label);
	append_text(text, "hardware_name", cause->reason->name);
	append_share(text, cause->value, summary->value);
	if (cause->producer)
		append_frame(text, "waits_for", cause->producer);
	if (function->launch)
		append_frame(text, "launched_by", function->launch);
	append_text(text, "meaning", class->meaning);
	const char *advice = stall_advice(cause->stall_class, function->kernel_class);
	if (*advice)
		append_text(text, "advice", advice);
	text_append_string(text, "}");
}

static void append_lost(struct text *text, const struct iaprof_profile *profile)
{
	text_append_string(text, ",\n\"lost\":[");
	for (size_t i = 0; i < profile->lost_count; i++) {
		const struct iaprof_lost *lost = iaprof_profile_lost(profile, i);
		text_append_string(text, i ? ",{\"source\":" : "{\"source\":");
		text_append_json(text, lost->source);
		append_text(text, "reason", lost->reason);
		append_number(text, "count", lost->count);
		text_append_format(text, ",\"is_complete\":%s}", lost->unknown ? "false" : "true");
	}
	text_append_string(text, "]");
}

static void append_findings(struct text *text, const struct iaprof_activity *activity)
{
	static const char *const severities[] = { "note", "note", "warning", "problem" };
	text_append_string(text, ",\n\"findings\":[");
	for (size_t i = 0; activity && i < activity->finding_count; i++) {
		const struct iaprof_finding *finding = iaprof_activity_finding(activity, i);
		text_append_string(text, i ? ",{\"name\":" : "{\"name\":");
		text_append_json(text, finding->name);
		append_text(text, "severity", severities[finding->severity < 3 ? finding->severity : 3]);
		append_text(text, "text", finding->text);
		append_number(text, "count", finding->count);
		if (finding->pid)
			append_number(text, "pid", finding->pid);
		text_append_string(text, "}");
	}
	text_append_string(text, "]");
}

/* "GPU time": what the values are called. */
static void append_label(struct text *text, const struct iaprof_value_type *type)
{
	struct text words = { 0 };
	value_type_append_words(&words, type);
	append_text(text, "label", text_string(&words));
	text->failed |= words.failed;
	text_free(&words);
}

/* What launching threads did while the devices were idle. */
static void append_parts(struct text *text, const char *key, const summary_parts *parts)
{
	if (!parts->count)
		return;
	text_append_format(text, ",\n\"%s\":[", key);
	for (size_t i = 0; i < parts->count; i++) {
		text_append_string(text, i ? ",{\"name\":" : "{\"name\":");
		text_append_json(text, parts->items[i].name);
		append_number(text, "value", parts->items[i].value);
		text_append_string(text, "}");
	}
	text_append_string(text, "]");
}

static void append_ranks(struct text *text, const struct profile_summary *summary)
{
	text_append_string(text, ",\"ranks\":[");
	for (size_t i = 0; i < summary->ranks.count; i++) {
		text_append_string(text, i ? ",{\"name\":" : "{\"name\":");
		text_append_json(text, summary->ranks.items[i].name);
		append_number(text, "value", summary->ranks.items[i].value);
		append_number(text, "collective", summary->ranks.items[i].collective);
		text_append_string(text, "}");
	}
	text_append_string(text, "]");
}

static void append_copies(struct text *text, const struct profile_summary *summary)
{
	if (!summary->copies.count)
		return;
	text_append_string(text, ",\n\"copies\":[");
	for (size_t i = 0; i < summary->copies.count; i++) {
		const struct summary_copy *copy = &summary->copies.items[i];
		text_append_string(text, i ? ",{\"name\":" : "{\"name\":");
		text_append_json(text, copy->name);
		append_number(text, "time", copy->time);
		append_number(text, "bytes", copy->bytes);
		if (copy->launch)
			append_frame(text, "launched_by", copy->launch);
		text_append_string(text, "}");
	}
	text_append_string(text, "]");
}

static void append_answer_parts(struct text *text, const char *key, const answer_parts *parts)
{
	text_append_format(text, ",\"%s\":[", key);
	for (size_t i = 0; i < parts->count && i < FUNCTIONS_MAX; i++) {
		text_append_string(text, i ? ",{\"name\":" : "{\"name\":");
		text_append_json(text, *parts->items[i].name ? parts->items[i].name : OWN_CODE);
		append_number(text, "value", parts->items[i].value);
		text_append_string(text, "}");
	}
	text_append_string(text, "]");
}

/* What the text states first: a function of the program, or the program; of waits, for what. */
static void append_program_answer(struct text *text, const struct program_answer *answer)
{
	const struct answer_site *top = answer->top;
	bool is_function = answer->is_wait ? top && top->frame : program_answer_is_function(answer);
	if (answer->is_wait)
		append_number(text, "idle_waits", answer->idle);
	if (!top)
		return;
	text_append_string(text, ",\n\"answer\":{\"program\":");
	text_append_json(text, top->program);
	if (is_function) {
		append_frame(text, "function", top->frame);
		append_number(text, "line_value", top->line_value);
	}
	append_share(text, is_function || answer->is_wait ? top->value : answer->programs.items[0].value,
		     answer->value);
	append_answer_parts(text, "spent_in", &answer->below);
	text_append_string(text, "}");
	append_answer_parts(text, "programs", &answer->programs);
	if (answer->is_wait)
		append_answer_parts(text, "wait_reasons", &answer->reasons);
}

static void append_json(struct text *text, const struct profile_summary *summary)
{
	const struct iaprof_profile *profile = summary->profile;
	text_append_string(text, "{\"schema\":\"iaprof-summary-1\"");
	append_number(text, "duration_ns", profile->end - profile->begin);
	if (profile->begin_realtime)
		append_number(text, "begin_unix_ns", profile->begin_realtime);
	if (summary->value_type != VALUE_TYPE_NONE) {
		const struct iaprof_value_type *type = iaprof_profile_value_type(profile, summary->value_type);
		append_text(text, "value_type", type->name);
		append_text(text, "unit", type->unit);
		append_label(text, type);
	}
	append_number(text, "total", summary->value);
	append_number(text, "matched", summary->matched);
	if (summary->is_device) {
		append_number(text, "stalled", summary->stalled);
		append_number(text, "without_samples", summary->unsampled);
		if (summary->idle)
			append_number(text, "idle", summary->idle);
		append_parts(text, "idle_reasons", &summary->idle_reasons);
		append_parts(text, "kernel_classes", &summary->kernel_classes);
		append_ranks(text, summary);
		append_copies(text, summary);
		append_number(text, "with_lines", summary->with_lines);
		if (summary->fullest) {
			text_append_string(text, ",\"fullest_kernel\":");
			frame_name_append_json(text, summary->fullest->frame);
		}
	}
	if (!summary->is_device)
		append_program_answer(text, &summary->answer);
	text_append_string(text, ",\n\"causes\":[");
	for (size_t i = 0; i < summary->causes.count; i++) {
		text_append_string(text, i ? ",\n" : "\n");
		append_cause(text, summary, &summary->causes.items[i]);
	}
	text_append_format(text, "],\n\"%s\":[", summary->is_device ? "kernels" : "functions");
	for (size_t i = 0; i < summary->functions.count && i < FUNCTIONS_MAX; i++) {
		text_append_string(text, i ? ",\n" : "\n");
		append_function(text, summary, &summary->functions.items[i]);
	}
	text_append_string(text, "]");
	append_findings(text, profile->activity);
	append_lost(text, profile);
	text_append_string(text, "}\n");
}

/* Appends a line for each finding with a remedy, and each loss: a run prints those as messages of their own. */
static void append_warnings(struct text *text, const struct iaprof_profile *profile)
{
	const struct iaprof_activity *activity = profile->activity;
	for (size_t i = 0; activity && i < activity->finding_count; i++) {
		const struct iaprof_finding *finding = iaprof_activity_finding(activity, i);
		if (finding->severity < IAPROF_FINDING_WARNING)
			continue;
		finding_append_title(text, finding->name);
		text_append_string(text, ": ");
		finding_append_sentence(text, finding->text);
		text_append_string(text, "\n");
	}
	for (size_t i = 0; i < profile->lost_count; i++) {
		const struct iaprof_lost *lost = iaprof_profile_lost(profile, i);
		text_append_string(text, "lost: ");
		text_append_name(text, lost->source);
		text_append_string(text, ": ");
		text_append_name(text, lost->reason);
		text_append_format(text, ": %s%" PRIu64 "\n", lost->unknown ? "at least " : "", lost->count);
	}
}

/* Appends the answer. Returns 0, or -ENOMEM. */
static int append_answer(struct text *text, enum format format, const struct iaprof_profile *profile, uint32_t type)
{
	struct profile_summary summary;
	/* The values of a continuous run are those of its last interval. */
	if (format == FORMAT_STALLS && profile->flags & IAPROF_PROFILE_CONTINUOUS)
		return 0;
	int result = profile_summary_make(&summary, profile, type);
	if (!result && format == FORMAT_JSON)
		append_json(text, &summary);
	else if (!result && (format == FORMAT_TEXT || summary.is_device))
		profile_summary_append_text(text, &summary);
	if (!result && format == FORMAT_TEXT)
		append_warnings(text, profile);
	profile_summary_free(&summary);
	return result;
}

/* Standard output has the width, if it is a terminal. */
static int terminal_width(void)
{
	struct winsize size;
	return !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : 80;
}

static void print_calls(const struct iaprof_profile *profile, FILE *file)
{
	const struct iaprof_activity *activity = profile->activity;
	if (!activity)
		return;
	/* Imported text has no timestamps, so the duration would be the time of reading. */
	call_tables_print(activity, profile->begin_realtime ? profile->end - profile->begin : 0, file);
	histogram_table_print(activity, file);
	finding_tables_print(activity, file);
}

/* Appends tables, or the totals of a difference. type: VALUE_TYPE_NONE: all. Returns 0, or -ENOMEM. */
static int append_tables(struct text *text, enum format format, const struct iaprof_profile *profile, uint32_t type)
{
	bool is_difference = profile->flags & IAPROF_PROFILE_DIFFERENCE;
	FILE *file = open_memstream(&text->data, &text->size);
	if (!file)
		return -ENOMEM;
	if (format == FORMAT_CALLS)
		print_calls(profile, file);
	else if (format == FORMAT_FUNCTIONS && is_difference)
		difference_tables_print(profile, type, terminal_width(), file);
	else if (format == FORMAT_FUNCTIONS)
		hottest_tables_print(profile, type, terminal_width(), file);
	else
		difference_totals_print(profile, type, file);
	return fclose(file) ? -ENOMEM : 0;
}

static int summary_profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile)
{
	const struct summary *summary = instance;
	enum format format = (enum format)summary->format;
	bool is_difference = profile->flags & IAPROF_PROFILE_DIFFERENCE;
	bool has_tables = is_difference || format >= FORMAT_FUNCTIONS;
	uint32_t type = summary->value ? value_type_find(host, profile, summary->value)
			: has_tables   ? VALUE_TYPE_NONE
				       : value_type_best(profile);
	struct text text = { 0 };
	if (summary->value && type == VALUE_TYPE_NONE)
		return -EINVAL;
	if (is_difference && format == FORMAT_JSON)
		return host->fail(host, EINVAL, "format=json does not support differences (use format=text)");
	int result = (has_tables ? append_tables : append_answer)(&text, format, profile, type);
	result = result ? host->fail(host, result, "out of memory for the summary")
			: text_write_whole(&text, host, NULL);
	text_free(&text);
	return result;
}

static int summary_finish(const struct iaprof_host *host, void *instance)
{
	return 0;
}

static const struct iaprof_sink_operations operations = {
	.size = sizeof operations,
	.extension = "txt",
	.finish = summary_finish,
	.profile = summary_profile,
};

static const struct iaprof_plugin summary_plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SINK,
	.flags = IAPROF_PLUGIN_DIFFERENCES,
	.name = "summary",
	.version = PLUGIN_VERSION,
	.description = "What takes the time, why, and what to try: text or JSON",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct summary),
	.sink = &operations,
	.configure = summary_configure,
};

IAPROF_REGISTER_PLUGIN(summary_plugin)
