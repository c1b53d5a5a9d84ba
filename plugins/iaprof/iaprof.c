/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sink iaprof: GPU stalls as the stream of tab-separated lines that Intel's AI flame graph profiler of this name
 * writes, for the tools that read it. plugins/iaprof/README.md has the format; source replay reads it.
 */
#include <errno.h>
#include <inttypes.h>
#include <iaprof/plugin.h>

#include "common/text.h"
#include "stall_rows.h"
#include "stream_strings.h"

struct stream {
	struct iaprof_output *output; /* NULL: not yet opened */
	struct stream_strings strings;
	struct stall_left_out left_out;
};

/* Opens the output with the first call, for it belongs to the sink's thread. The stream begins with the first string,
 * by which readers know it. */
static int open_output(const struct iaprof_host *host, struct stream *stream)
{
	struct text text = { 0 };
	if (stream->output)
		return 0;
	stream->output = host->output_open(host, NULL);
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

/* "lost SOURCE REASON": how many; "lost-unknown SOURCE REASON": how many times nobody could say. */
static void append_lost(struct text *text, const char *what, const struct iaprof_lost *lost, uint64_t count)
{
	if (!count)
		return;
	text_append_format(text, "metric\t%s ", what);
	size_t begin = text->size;
	text_append_name(text, lost->source);
	for (size_t i = begin; !text->failed && i < text->size; i++)
		if (text->data[i] == ' ') /* it ends the source's name */
			text->data[i] = '_';
	text_append_string(text, " ");
	text_append_name(text, lost->reason);
	text_append_format(text, "\t%" PRIu64 "\n", count < INT64_MAX ? count : (uint64_t)INT64_MAX);
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
	for (size_t i = 0; i < profile->lost_count; i++) {
		const struct iaprof_lost *lost = iaprof_profile_lost(profile, i);
		append_lost(&text, "lost", lost, lost->count);
		append_lost(&text, "lost-unknown", lost, lost->unknown);
	}
	if (result == 0)
		result = text_write(&text, host, stream->output);
	text_free(&text);
	/* Somebody may be reading it live. */
	return result < 0 ? result : host->output_flush(host, stream->output);
}

/* What is left at the end of a run whose last interval was whole. */
static bool is_nothing(const struct iaprof_profile *profile)
{
	return profile->interval && profile->begin == profile->end && !profile->value_count && !profile->lost_count;
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
		host->fail(host, result, "not enough memory for %zu stacks", profile->value_count);
	else
		result = write_interval(host, stream, profile, &rows);
	stall_rows_free(&rows);
	return result;
}

/* What is counted is said once, when the run is over: "COUNT before NAME after". */
static void tell(const struct iaprof_host *host, uint64_t count, const char *before, const char *name,
		 const char *after)
{
	struct text text = { 0 };
	text_append_name(&text, name);
	text_append(&text, "", 1);
	host->log(host, IAPROF_LOG_WARNING, "%" PRIu64 " %s %s%s", count, before, text.failed ? "" : text.data, after);
	text_free(&text);
}

static void tell_left_out(const struct iaprof_host *host, const struct stall_left_out *left_out)
{
	if (left_out->values)
		tell(host, left_out->values, "values that are no GPU stalls, such as those of", left_out->type,
		     ", have no place in this stream and are left out: take another sink for them");
	if (left_out->reasons)
		tell(host, left_out->reasons, "stalls have reasons that the stream has no column for, such as",
		     left_out->reason, ": they are in the column other");
}

static int stream_finish(const struct iaprof_host *host, void *instance)
{
	struct stream *stream = instance;
	int result = open_output(host, stream);
	tell_left_out(host, &stream->left_out);
	return result < 0 ? result : host->output_close(host, stream->output);
}

static void stream_destroy(const struct iaprof_host *host, void *instance)
{
	(void)host;
	struct stream *stream = instance;
	stream_strings_free(&stream->strings);
}

static const struct iaprof_plugin stream_plugin = {
	.abi_version = IAPROF_ABI_VERSION,
	.size = sizeof stream_plugin,
	.schema_version = IAPROF_SCHEMA_VERSION,
	.kind = IAPROF_PLUGIN_SINK,
	.flags = IAPROF_PLUGIN_INTERVALS,
	.option_size = sizeof(struct iaprof_option),
	.name = "iaprof",
	.version = PLUGIN_VERSION,
	.description = "GPU stalls as the stream of tab-separated lines that Intel's profiler of this name writes",
	.extension = "txt",
	.instance_size = sizeof(struct stream),
	.destroy = stream_destroy,
	.finish = stream_finish,
	.profile = stream_profile,
};

IAPROF_REGISTER_PLUGIN(stream_plugin)
