/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sink iaprof: GPU stalls as a stream of tab-separated lines, in the format of Intel's AI flame graph profiler of this
 * name, for tools that read its output. plugins/sink-iaprof/README.md describes the format; source replay reads it.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <iaprof/plugin.h>

#include "text/text.h"
#include "stall_rows.h"
#include "text/plural.h"
#include "stream_strings.h"

struct stream {
	struct iaprof_output *output; /* NULL: not yet opened */
	struct stream_strings strings;
	struct stall_left_out left_out;
};

/*
 * Opens the output on the first call, because outputs belong to the sink's thread. The stream begins with the first
 * string, by which readers recognise it.
 */
static int open_output(const struct iaprof_host *host, struct stream *stream)
{
	struct text text = { 0 };
	if (stream->output)
		return 0;
	stream->output = host->output_open(host, NULL, 0);
	if (!stream->output)
		return -EIO;
	text_append_string(&text, STREAM_UNKNOWN_FILE_TEXT);
	stream_strings_id(&stream->strings, &text);
	text_free(&text);
	return text_write(&stream->strings.new_lines, host, stream->output);
}

static void append_kernel(struct text *text, const struct stall_row *row)
{
	text_append_format(text,
			   "kernel\t0x%" PRIx64 "\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu32 "\t%" PRIu32 "\n",
			   row->address, row->program, row->pid, row->stack, row->file, row->symbol);
}

static void append_stalls(struct text *text, const struct stall_row *row)
{
	text_append_format(text, "eustall\t0x%" PRIx64 "\t%" PRIu32, row->offset, row->instruction);
	for (size_t i = 0; i < STALL_COLUMN_COUNT; i++)
		text_append_format(text, "\t%" PRIu64, row->counts[i]);
	text_append_string(text, "\n");
}

/* "lost SOURCE REASON": number of lost events; "lost-unknown SOURCE REASON": number of losses of unknown size. */
static void append_lost(struct text *text, const char *what, const struct iaprof_lost *lost, uint64_t count)
{
	if (!count)
		return;
	text_append_format(text, "metric\t%s ", what);
	size_t begin = text->size;
	text_append_name(text, lost->source);
	for (size_t i = begin; !text->failed && i < text->size; i++)
		if (text->data[i] == ' ') /* a space ends the source's name */
			text->data[i] = '_';
	text_append_string(text, " ");
	text_append_name(text, lost->reason);
	text_append_format(text, "\t%" PRIu64 "\n", count < INT64_MAX ? count : (uint64_t)INT64_MAX);
}

static int64_t integer_of(double value)
{
	double nearest = value < 0 ? value - 0.5 : value + 0.5;
	return nearest >= 0x1p63 ? INT64_MAX : nearest <= -0x1p63 ? INT64_MIN : (int64_t)nearest;
}

/* Appends a counter's last value. Names of losses begin with "lost". */
static void append_counter(struct text *text, const struct iaprof_activity *activity,
			   const struct iaprof_counter *counter)
{
	text_append_string(text, strncmp(counter->name, "lost", 4) ? "metric\t" : "metric\t_");
	text_append_name(text, counter->name);
	if (counter->device != IAPROF_ACTIVITY_NONE) {
		text_append_string(text, " ");
		text_append_name(text, iaprof_activity_device(activity, counter->device)->name);
	}
	text_append_format(text, "\t%" PRId64 "\n", integer_of(counter->last));
}

static void append_counters(struct text *text, const struct iaprof_activity *activity)
{
	for (size_t i = 0; activity && i < activity->counter_count; i++)
		if (iaprof_activity_counter(activity, i)->count)
			append_counter(text, activity, iaprof_activity_counter(activity, i));
}

static int write_interval(const struct iaprof_host *host, struct stream *stream, const struct iaprof_profile *profile,
			  const struct stall_rows *rows)
{
	struct text text = { 0 };
	int result = text_write(&stream->strings.new_lines, host, stream->output);
	text_append_format(&text, "interval\t%" PRIu32 "\t%" PRIu64 ".%06" PRIu64 "\n", profile->interval,
			   profile->end / 1000000000u, profile->end % 1000000000u / 1000u);
	for (size_t i = 0; result == 0 && i < rows->count; i++) {
		if (i == 0 || !stall_rows_same_kernel(&rows->rows[i - 1], &rows->rows[i]))
			append_kernel(&text, &rows->rows[i]);
		append_stalls(&text, &rows->rows[i]);
		result = text_write(&text, host, stream->output);
	}
	append_counters(&text, profile->activity);
	for (size_t i = 0; i < profile->lost_count; i++) {
		const struct iaprof_lost *lost = iaprof_profile_lost(profile, i);
		append_lost(&text, "lost", lost, lost->count);
		append_lost(&text, "lost-unknown", lost, lost->unknown);
	}
	if (result == 0)
		result = text_write(&text, host, stream->output);
	text_free(&text);
	/* Live readers need each interval immediately. */
	return result < 0 ? result : host->output_flush(host, stream->output);
}

/* Returns whether the profile is empty, as after a complete last interval. */
static bool is_nothing(const struct iaprof_profile *profile)
{
	return profile->interval && profile->begin == profile->end && !profile->value_count && !profile->lost_count;
}

static int stream_configure(const struct iaprof_host *host, void *instance)
{
	host->request(host, IAPROF_REQUEST_ACTIVITY);
	return 0;
}

static int stream_profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile)
{
	struct stream *stream = instance;
	struct stall_rows rows = { 0 };
	int result = open_output(host, stream);
	if (result < 0 || is_nothing(profile))
		return result;
	result = stall_rows_make(&rows, profile, &stream->strings, &stream->left_out);
	if (result < 0)
		host->fail(host, result, "out of memory for %zu stacks", profile->value_count);
	else
		result = write_interval(host, stream, profile, &rows);
	stall_rows_free(&rows);
	return result;
}

/* Logs "COUNT NOUN TEXT NAME)"; text_after contains the opening parenthesis. */
static void warn(const struct iaprof_host *host, const char *noun, uint64_t count, const char *text_after,
		 const char *name)
{
	struct text text = { 0 };
	if (!count)
		return;
	text_append_name(&text, name);
	text_append(&text, "", 1);
	host->log(host, IAPROF_LOG_WARNING, "%" PRIu64 " %s%s %s%s)", count, noun, plural(count), text_after,
		  text.failed ? "" : text.data);
	text_free(&text);
}

static void warn_of_losses(const struct iaprof_host *host, const struct stall_left_out *left_out)
{
	warn(host, "value", left_out->values,
	     "skipped: the format has GPU stalls only (use another sink; first type: ", left_out->type);
	warn(host, "stall", left_out->reasons,
	     "counted as \"other\": the format has no such reason (first: ", left_out->reason);
}

static int stream_finish(const struct iaprof_host *host, void *instance)
{
	struct stream *stream = instance;
	int result = open_output(host, stream);
	warn_of_losses(host, &stream->left_out);
	return result < 0 ? result : host->output_close(host, stream->output);
}

static void stream_destroy(const struct iaprof_host *host, void *instance)
{
	struct stream *stream = instance;
	stream_strings_free(&stream->strings);
}

static const struct iaprof_sink_operations operations = {
	.size = sizeof operations,
	.extension = "txt",
	.finish = stream_finish,
	.profile = stream_profile,
};

static const struct iaprof_plugin stream_plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SINK,
	.flags = IAPROF_PLUGIN_INTERVALS,
	.name = "iaprof",
	.version = PLUGIN_VERSION,
	.description = "GPU stalls in the text format of Intel's AI flame graph profiler",
	.instance_size = sizeof(struct stream),
	.sink = &operations,
	.configure = stream_configure,
	.destroy = stream_destroy,
};

IAPROF_REGISTER_PLUGIN(stream_plugin)
