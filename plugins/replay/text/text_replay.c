/* SPDX-License-Identifier: Apache-2.0 */
/* See text_replay.h. */
#include "text_replay.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "text/text_span.h"

/* Default for the first interval of a stream: Intel's program writes one every 10 ms. */
#define STREAM_INTERVAL UINT64_C(10000000)

static void refuse(void *context, const struct text_line *line, const char *why)
{
	/* The other members of the taker are those of the records. */
	struct text_replay *replay = (struct text_replay *)((char *)context - offsetof(struct text_replay, records));
	text_refused_add(&replay->refused, line, why);
}

static int take_line(void *context, const struct text_line *taken)
{
	struct text_replay *replay = context;
	struct text_line without_mark = *taken, *line = &without_mark;
	if (line->number == 1)
		span_take(&line->text, TEXT_BYTE_ORDER_MARK);
	switch (replay->options.format) {
	case TEXT_FORMAT_FOLDED:
		return folded_text_line(&replay->folded, line);
	case TEXT_FORMAT_PERF_SCRIPT:
		return perf_script_line(&replay->perf_script, line);
	case TEXT_FORMAT_STREAM:
		return stall_stream_line(&replay->stream, line);
	default:
		return -EINVAL;
	}
}

int text_replay_init(struct text_replay *replay, const struct iaprof_host *host,
		     const struct text_replay_options *options)
{
	const struct profile_records_options of_records = { .source = "replay",
							    .value_type = options->value_type,
							    .unit = options->unit };
	uint64_t interval = host->target(host)->interval;
	replay->host = host;
	replay->options = *options;
	replay->taker = (struct text_taker){ .sample = profile_records_sample,
					     .lost = profile_records_lost,
					     .number = profile_records_number,
					     .time = profile_records_time,
					     .refuse = refuse,
					     .context = &replay->records };
	replay->folded.taker = replay->perf_script.taker = replay->stream.taker = &replay->taker;
	replay->stream.interval = interval ? interval : STREAM_INTERVAL;
	replay->lines = (struct text_lines){ .take = take_line, .context = replay };
	return profile_records_init(&replay->records, host, &of_records);
}

static int fail(const struct text_replay *replay, int error)
{
	return replay->host->fail(replay->host, error, "%s: line %" PRIu64 ": %s", replay->options.file,
				  replay->lines.number, strerror(-error));
}

int text_replay_feed(struct text_replay *replay, const char *bytes, size_t size)
{
	int result = text_lines_feed(&replay->lines, bytes, size);
	if (!result)
		result = profile_records_flush(&replay->records);
	return result ? fail(replay, result) : 0;
}

static int end_reader(struct text_replay *replay, bool is_whole)
{
	int result = is_whole ? text_lines_end(&replay->lines) : 0;
	if (!result && replay->options.format == TEXT_FORMAT_PERF_SCRIPT)
		result = perf_script_end(&replay->perf_script);
	if (!result && replay->options.format == TEXT_FORMAT_STREAM)
		result = stall_stream_end(&replay->stream);
	return result;
}

/* Skipped lines are missing from the profile, so they are recorded as lost. */
static int report_refused(struct text_replay *replay)
{
	const struct text_refused *refused = &replay->refused;
	if (!refused->count)
		return 0;
	struct text_lost lost = { .source = span_of("replay"),
				  .reason = span_of("lines that could not be read"),
				  .count = refused->count,
				  .time = replay->records.latest };
	replay->host->log(replay->host, IAPROF_LOG_WARNING,
			  "%s: %" PRIu64 " line%s skipped, the first is line %" PRIu64 ", which %s: \"%s\"",
			  replay->options.file, refused->count, refused->count == 1 ? "" : "s", refused->number,
			  refused->why, refused->text);
	return profile_records_lost(&replay->records, &lost);
}

static int report_types_lost(struct text_replay *replay)
{
	struct text_lost lost = { .source = span_of("replay"),
				  .reason = span_of("value types that are too many, or have too long a name"),
				  .count = replay->records.types_lost,
				  .time = replay->records.latest };
	return lost.count ? profile_records_lost(&replay->records, &lost) : 0;
}

static void warn_about_input(const struct text_replay *replay)
{
	static const struct {
		size_t offset;
		const char *noun, *text;
	} warnings[] = {
		{ offsetof(struct text_replay, records.stacks_cut), "stack", "too deep and truncated" },
		{ offsetof(struct text_replay, records.numbers_lost), "value", "of too many metrics and skipped" },
		{ offsetof(struct text_replay, folded.rounded), "value", "with a fraction and rounded" },
	};
	for (size_t i = 0; i < sizeof warnings / sizeof *warnings; i++) {
		uint64_t count;
		memcpy(&count, (const char *)replay + warnings[i].offset, sizeof count);
		if (count)
			replay->host->log(replay->host, IAPROF_LOG_WARNING, "%s: %" PRIu64 " %s%s %s",
					  replay->options.file, count, warnings[i].noun, count == 1 ? "" : "s",
					  warnings[i].text);
	}
}

int text_replay_end(struct text_replay *replay, bool is_whole)
{
	int result = end_reader(replay, is_whole);
	if (!result)
		result = report_refused(replay);
	if (!result)
		result = report_types_lost(replay);
	if (!result)
		result = profile_records_end(&replay->records);
	warn_about_input(replay);
	return result ? fail(replay, result) : 0;
}

void text_replay_free(struct text_replay *replay)
{
	text_lines_free(&replay->lines);
	perf_script_free(&replay->perf_script);
	stall_stream_free(&replay->stream);
	profile_records_free(&replay->records);
}
