/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sink speedscope: a file that speedscope opens, with a profile for each value type. The format is that of
 * https://www.speedscope.app/file-format-schema.json, profiles of type "sampled".
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <iaprof/plugin.h>

#include "common/different_frames.h"
#include "common/stack_text.h"

struct speedscope {
	const char *title; /* NULL: "iaprof" */
	struct stack_text_options text;
};

static const struct iaprof_option options[] = {
	{ .name = "title",
	  .type = IAPROF_OPTION_STRING,
	  .offset = offsetof(struct speedscope, title),
	  .help = "what the profile is called" },
	{ .name = "lines",
	  .type = IAPROF_OPTION_BOOL,
	  .offset = offsetof(struct speedscope, text.lines),
	  .default_value = "no",
	  .help = "source lines and inlined functions, from DWARF" },
};

static int speedscope_configure(const struct iaprof_host *host, void *instance)
{
	const struct speedscope *speedscope = instance;
	stack_text_request(&speedscope->text, host);
	return 0;
}

/* The units that speedscope knows; numbers of others are plain. */
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
		text_append_json(text, frame->name);
		if (frame->kind == IAPROF_FRAME_PROCESS && frame->pid) { /* its processes are told apart */
			if (!text->failed)
				text->size--;
			text_append_format(text, " (%" PRIu32 ")\"", frame->pid);
		}
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

/* The next value of a type, from a position on; NULL: there are no more. */
static const struct iaprof_value *value_next(const struct iaprof_profile *profile, uint32_t type, size_t *position)
{
	while (*position < profile->value_count) {
		const struct iaprof_value *value = iaprof_profile_value(profile, (*position)++);
		if (value->value_type == type)
			return value;
	}
	return NULL;
}

static void append_profile(struct text *text, const struct iaprof_profile *profile, uint32_t type,
			   const struct different_frames *frames)
{
	const struct iaprof_value_type *value_type = iaprof_profile_value_type(profile, type);
	const struct iaprof_value *value;
	uint64_t sum = 0;
	size_t position = 0, count = 0;
	text_append_string(text, "{\"type\":\"sampled\",\"name\":");
	text_append_json(text, value_type->name);
	text_append_format(text, ",\"unit\":\"%s\",\n\"samples\":[", unit_of(value_type->unit));
	while ((value = value_next(profile, type, &position))) {
		text_append_string(text, count++ ? ",\n" : "\n");
		append_stack(text, frames, iaprof_profile_stack(profile, value->stack));
	}
	text_append_string(text, "],\n\"weights\":[");
	for (position = count = 0; (value = value_next(profile, type, &position)); count++) {
		text_append_string(text, count ? "," : "");
		text_append_unsigned(text, value->value);
		sum = sum > UINT64_MAX - value->value ? UINT64_MAX : sum + value->value;
	}
	text_append_format(text, "],\n\"startValue\":0,\"endValue\":%" PRIu64 "}", sum);
}

static bool has_values(const struct iaprof_profile *profile, uint32_t type)
{
	return value_next(profile, type, &(size_t){ 0 });
}

static void append_file(struct text *text, const struct iaprof_profile *profile, const struct different_frames *frames,
			const char *title)
{
	const char *before = "";
	text_append_string(text, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"name\":");
	text_append_json(text, title ? title : "iaprof");
	text_append_string(text, ",\"exporter\":\"iaprof " PLUGIN_VERSION "\",\n\"shared\":{\"frames\":[");
	append_frames(text, frames);
	text_append_string(text, "]},\n\"profiles\":[");
	for (uint32_t type = 0; type < profile->value_type_count; type++) {
		if (!has_values(profile, type))
			continue;
		text_append_string(text, before);
		append_profile(text, profile, type, frames);
		before = ",\n";
	}
	text_append_string(text, "]}\n");
}

static int speedscope_profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile)
{
	const struct speedscope *speedscope = instance;
	struct different_frames frames;
	struct text text = { 0 };
	if (different_frames_make(&frames, profile, &speedscope->text))
		append_file(&text, profile, &frames, speedscope->title);
	else
		text.failed = true;
	different_frames_free(&frames);
	int result = text_write_whole(&text, host, NULL);
	text_free(&text);
	return result;
}

/* Each file is complete when profile() returns. */
static int speedscope_finish(const struct iaprof_host *host, void *instance)
{
	(void)host;
	(void)instance;
	return 0;
}

static const struct iaprof_plugin speedscope_plugin = {
	.abi_version = IAPROF_ABI_VERSION,
	.size = sizeof speedscope_plugin,
	.schema_version = IAPROF_SCHEMA_VERSION,
	.kind = IAPROF_PLUGIN_SINK,
	.option_size = sizeof(struct iaprof_option),
	.name = "speedscope",
	.version = PLUGIN_VERSION,
	.description = "a profile for speedscope, with its units",
	.extension = "speedscope.json",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
	.instance_size = sizeof(struct speedscope),
	.configure = speedscope_configure,
	.finish = speedscope_finish,
	.profile = speedscope_profile,
};

IAPROF_REGISTER_PLUGIN(speedscope_plugin)
