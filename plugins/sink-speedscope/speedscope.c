/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sink speedscope: a file for speedscope, with one profile per value type. The format is that of
 * https://www.speedscope.app/file-format-schema.json, with profiles of type "sampled": samples are in order of time,
 * and each is as wide as its value.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <iaprof/plugin.h>

#include "base/saturating.h"
#include "base/string_table.h"
#include "stacks/different_frames.h"
#include "stacks/missing_stacks.h"
#include "stacks/stack_text.h"
#include "stacks/timed_values.h"
#include "stacks/value_choice.h"
#include "stacks/value_label.h"

struct speedscope {
	const char *title; /* NULL: "iaprof" */
	struct stack_text_options text;
	uint64_t step; /* resolution of times, ns */
};

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct speedscope, title, STRING, "title", NULL, "Name of the profile"),
	IAPROF_OPTION(struct speedscope, text.lines, BOOL, "lines", "no", "Source lines and inlined functions (DWARF)"),
	IAPROF_OPTION(struct speedscope, text.threads, CHOICE, "threads", "no",
		      "Write a profile per thread; name: threads of one name and process are merged",
		      .choices = stack_text_threads_choices),
	TIMED_VALUES_OPTION(struct speedscope, step, "100ms"),
};

static int speedscope_configure(const struct iaprof_host *host, void *instance)
{
	const struct speedscope *speedscope = instance;
	stack_text_request(&speedscope->text, host);
	host->request_times(host, speedscope->step);
	return 0;
}

/* Returns the unit if speedscope knows how to format it; other numbers are shown without a unit. */
static const char *unit_of(const char *unit)
{
	static const char *const known[] = { "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes" };
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(unit, known[i]) == 0)
			return known[i];
	return "none";
}

static void append_frames(struct text *text, const struct different_frames *frames)
{
	for (size_t i = 0; i < frames->count; i++) {
		const struct iaprof_frame *frame = frames->items[i];
		text_append_string(text, i ? ",\n{\"name\":" : "{\"name\":");
		frame_name_append_json(text, frame);
		if (frame->file) {
			text_append_string(text, ",\"file\":");
			text_append_json(text, frame->file);
		}
		uint32_t line = different_frames_line(frames, frame);
		if (line)
			text_append_format(text, ",\"line\":%" PRIu32, line);
		text_append_string(text, "}");
	}
}

static void append_stack(struct text *text, const struct different_frames *frames, const struct iaprof_stack *stack)
{
	const char *before = "[";
	for (uint32_t i = 0; i < stack->frame_count; i++) {
		uint32_t number = frames->numbers[stack->frames[i]];
		if (number == FRAME_IS_HIDDEN)
			continue;
		text_append_string(text, before);
		text_append_unsigned(text, number);
		before = ",";
	}
	text_append_string(text, *before == '[' ? "[]" : "]");
}

/* Identifies a thread, without padding. Names of one profile are the same when their addresses are. */
struct thread_key {
	const char *name;
	uint32_t tid, program; /* frame number */
};

/* The values with the thread of each stack: a number in order of the stacks, 0 if threads are merged. */
struct thread_values {
	struct timed_values values;
	uint32_t *threads; /* by stack */
};

static bool threads_find(struct thread_values *values, const struct iaprof_profile *profile,
			 const struct different_frames *frames, uint64_t choice)
{
	struct string_table keys = { 0 };
	values->threads = calloc(profile->stack_count + 1, sizeof *values->threads);
	bool good = values->threads != NULL;
	for (uint32_t i = 0; good && choice != STACK_TEXT_THREADS_NO && i < profile->stack_count; i++) {
		struct iaprof_stack_origin origin = thread_of_stack(profile, i, choice);
		const struct thread_key key = { origin.thread, origin.tid,
						frames->numbers[iaprof_profile_stack(profile, i)->frames[0]] };
		values->threads[i] = string_table_add(&keys, (const char *)&key, sizeof key, NULL);
		good = values->threads[i] != 0;
	}
	string_table_free(&keys);
	return good;
}

/* Orders values by type and thread. Those of one thread keep their order, in which the array holds them. */
static int by_thread(const void *left, const void *right, void *context)
{
	const struct timed_value *a = left, *b = right;
	const uint32_t *threads = context;
	if (a->value_type != b->value_type)
		return a->value_type < b->value_type ? -1 : 1;
	if (threads[a->stack] != threads[b->stack])
		return threads[a->stack] < threads[b->stack] ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return (a->stack > b->stack) - (a->stack < b->stack);
}

static bool values_make(struct thread_values *values, const struct iaprof_profile *profile,
			const struct different_frames *frames, const struct speedscope *speedscope)
{
	bool good = timed_values_make(&values->values, profile, speedscope->step) &&
		    threads_find(values, profile, frames, speedscope->text.threads);
	if (good && speedscope->text.threads != STACK_TEXT_THREADS_NO && values->values.items.count)
		qsort_r(values->values.items.items, values->values.items.count, sizeof *values->values.items.items,
			by_thread, values->threads);
	return good;
}

/* Appends "CPU time", or "CPU time: program worker (12)". */
static void append_name(struct text *text, const struct iaprof_profile *profile, const struct timed_value *value,
			uint64_t choice)
{
	struct text name = { 0 };
	value_type_append_own_title(&name, profile, value->value_type);
	if (choice != STACK_TEXT_THREADS_NO) {
		struct iaprof_stack_origin origin = thread_of_stack(profile, value->stack, choice);
		text_append_string(&name, ": ");
		frame_name_append(
			&name, iaprof_profile_frame(profile, iaprof_profile_stack(profile, value->stack)->frames[0]));
		text_append_string(&name, origin.thread || origin.tid ? " " : "");
		thread_name_append(&name, &origin);
	}
	text_append_json(text, text_string(&name));
	text->failed |= name.failed;
	text_free(&name);
}

/* Appends the samples of a type and thread, from begin to end of values, in order of time. */
static void append_profile(struct text *text, const struct iaprof_profile *profile, const struct timed_value *begin,
			   const struct timed_value *end, const struct different_frames *frames, uint64_t choice)
{
	const struct iaprof_value_type *value_type = iaprof_profile_value_type(profile, begin->value_type);
	uint64_t sum = 0;
	text_append_string(text, "{\"type\":\"sampled\",\"name\":");
	append_name(text, profile, begin, choice);
	text_append_format(text, ",\"unit\":\"%s\",\n\"samples\":[", unit_of(value_type->unit));
	for (const struct timed_value *value = begin; value < end; value++) {
		text_append_string(text, value > begin ? ",\n" : "\n");
		append_stack(text, frames, iaprof_profile_stack(profile, value->stack));
	}
	text_append_string(text, "],\n\"weights\":[");
	for (const struct timed_value *value = begin; value < end; value++) {
		text_append_string(text, value > begin ? "," : "");
		text_append_unsigned(text, value->value);
		saturating_increase(&sum, value->value);
	}
	text_append_format(text, "],\n\"startValue\":0,\"endValue\":%" PRIu64 "}", sum);
}

static void append_file(struct text *text, const struct iaprof_profile *profile, const struct thread_values *values,
			const struct different_frames *frames, const struct speedscope *speedscope)
{
	const struct timed_value *value = values->values.items.items, *end = array_end(&values->values.items);
	const char *title = speedscope->title;
	uint64_t most = 0;
	uint32_t shown = value_type_best(profile), count = 0, active = 0;
	text_append_string(text, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"name\":");
	text_append_json(text, title ? title : "iaprof");
	text_append_string(text, ",\"exporter\":\"iaprof " PLUGIN_VERSION "\",\n\"shared\":{\"frames\":[");
	append_frames(text, frames);
	text_append_string(text, "]},\n\"profiles\":[");
	while (value < end) {
		const struct timed_value *first = value;
		uint64_t sum = 0;
		while (value < end && value->value_type == first->value_type &&
		       values->threads[value->stack] == values->threads[first->stack])
			saturating_increase(&sum, value++->value);
		if (first->value_type == shown && sum > most) { /* the hottest thread */
			active = count;
			most = sum;
		}
		text_append_string(text, count++ ? ",\n" : "");
		append_profile(text, profile, first, value, frames, speedscope->text.threads);
	}
	text_append_format(text, "],\n\"activeProfileIndex\":%" PRIu32 "}\n", active);
}

static int speedscope_profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile)
{
	const struct speedscope *speedscope = instance;
	struct different_frames frames;
	struct thread_values values = { 0 };
	struct text text = { 0 };
	missing_stacks_report(host, profile);
	bool good = different_frames_make(&frames, profile, &speedscope->text) &&
		    values_make(&values, profile, &frames, speedscope);
	if (good)
		append_file(&text, profile, &values, &frames, speedscope);
	else
		text.failed = true;
	timed_values_free(&values.values);
	free(values.threads);
	different_frames_free(&frames);
	int result = text_write_whole(&text, host, NULL);
	text_free(&text);
	return result;
}

static const struct iaprof_sink_operations operations = {
	.size = sizeof operations,
	.extension = "speedscope.json",
	.finish = output_is_finished,
	.profile = speedscope_profile,
};

static const struct iaprof_plugin speedscope_plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SINK,
	.name = "speedscope",
	.version = PLUGIN_VERSION,
	.description = "Profile for speedscope",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct speedscope),
	.sink = &operations,
	.configure = speedscope_configure,
};

IAPROF_REGISTER_PLUGIN(speedscope_plugin)
