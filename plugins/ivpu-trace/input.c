/* SPDX-License-Identifier: Apache-2.0 */
/* See input.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <iaprof/record.h>
#include "input.h"
#include "json_line.h"
#include "npu/device.h"
#include "npu/report.h"
#include "text/quantity.h"

#define READ_SIZE (64u * 1024)
#define FLUSH_PERIOD (250u * 1000 * 1000)

static int line_add(struct trace_input *input, struct trace_line *line)
{
	if (input->are_counts && line->kind == TRACE_LINE_CALL && line->time_kind == TRACE_TIME_NANOSECONDS) {
		line->kind = TRACE_LINE_COUNT;
		line->count = line->time;
		line->time_kind = TRACE_TIME_NONE;
		line->is_column = true;
	}
	return trace_calls_add(&input->calls, line);
}

static int units_refuse(struct trace_input *input, uint64_t unit)
{
	const struct iaprof_host *host = input->host;
	char readings[300];
	trace_units_describe(&input->units, readings, sizeof readings);
	if (unit)
		return host->fail(host, EINVAL,
				  "the heading of %s contradicts its times, which are not in %s: %s (set "
				  "time-unit=)",
				  input->file.file, trace_unit_name(unit, false), readings);
	return host->fail(host, EINVAL, "the unit of the times in %s is not known: %s (set time-unit=)",
			  input->file.file, readings);
}

/* Determines the unit of the times. Returns 0, or a negative errno after host->fail(). */
static int unit_decide(struct trace_input *input)
{
	const struct iaprof_host *host = input->host;
	int counts = trace_units_are_counts(&input->units);
	input->are_counts = counts > 0 && !input->unit;
	if (input->are_counts || !input->units.lines)
		return 0;
	if (counts < 0 && !input->unit)
		return host->fail(
			host, EINVAL,
			"the numbers in %s can be counts of uniq -c or times: functions are repeated, and the "
			"numbers never decrease (set time-unit= if they are times; sort before uniq -c if not)",
			input->file.file);
	uint64_t unit = input->unit ? input->unit : input->form.unit;
	if (!input->unit && unit && !trace_unit_is_plausible(&input->units, unit))
		return units_refuse(input, unit);
	unit = unit ? unit : trace_units_decide(&input->units);
	if (!unit)
		return units_refuse(input, 0);
	input->calls.clock.unit = unit;
	return 0;
}

static int compare_lines(const void *left, const void *right)
{
	const struct trace_line *one = left, *other = right;
	if (one->time != other->time)
		return one->time < other->time ? -1 : 1;
	return one->number < other->number ? -1 : one->number > other->number;
}

/* Passes on the oldest waiting lines. */
static int lines_pass_on(struct trace_input *input, uint32_t count)
{
	int result = 0;
	if (input->is_disordered && input->is_sorted)
		qsort(input->pending, input->pending_count, sizeof *input->pending, compare_lines);
	input->is_disordered = false;
	for (uint32_t i = 0; i < count && !result; i++)
		result = line_add(input, &input->pending[i]);
	input->pending_count -= count;
	input->settled -= input->settled < count ? input->settled : count;
	if (input->pending_count)
		memmove(input->pending, input->pending + count, input->pending_count * sizeof *input->pending);
	return result;
}

/* Decides the unit of numbers, and passes on waiting lines: all of them at the end, or while a pipe is silent. */
static int lines_release(struct trace_input *input, bool all)
{
	int result = input->is_decided ? 0 : unit_decide(input);
	input->is_decided = true;
	if (result)
		return result;
	input->is_sorted = !input->are_counts && input->units.lines;
	return lines_pass_on(input, all || !input->is_sorted ? input->pending_count : input->pending_count / 2);
}

static bool is_unit_open(const struct trace_line *line)
{
	return line->kind == TRACE_LINE_CALL && !line->is_unit_known &&
	       (line->time_kind == TRACE_TIME_NANOSECONDS || line->time_kind == TRACE_TIME_SECONDS);
}

static int line_queue(struct trace_input *input, struct trace_line *line)
{
	bool is_open = is_unit_open(line);
	if (is_open && input->units.lines < TRACE_PENDING_MAX && (!input->is_decided || input->unit)) {
		bool is_new = trace_calls_is_new(&input->calls, line->name);
		for (uint32_t i = 0; i < input->pending_count && is_new; i++)
			is_new = strcmp(input->pending[i].name, line->name) != 0;
		trace_units_add(&input->units, line, is_new);
	}
	/* A unit that the user set is checked at the end, so that a pipe is not held back. */
	int result = input->unit && !input->is_decided && is_open ? lines_release(input, true) : 0;
	if (result)
		return result;
	if (input->is_decided ? !input->is_sorted : !is_open && !input->pending_count)
		return line_add(input, line);
	if (!input->pending)
		input->pending = calloc(TRACE_PENDING_MAX, sizeof *input->pending);
	if (!input->pending)
		return input->host->fail(input->host, ENOMEM, "out of memory");
	const struct trace_line *last = input->pending_count ? &input->pending[input->pending_count - 1] : NULL;
	/* Lines without a time, such as maps, keep their position. */
	if (last && !is_open)
		line->time = last->time;
	input->is_disordered |= last && line->time < last->time;
	input->pending[input->pending_count++] = *line;
	return input->pending_count == TRACE_PENDING_MAX ? lines_release(input, false) : 0;
}

/* The DRM scheduler's events are of all GPUs and accelerators. */
static bool device_is_npu(struct trace_input *input, const char *device)
{
	if (strcmp(input->device, device)) {
		memcpy(input->device, device, sizeof input->device);
		input->is_npu = npu_is_at("/sys", device);
	}
	return input->is_npu;
}

static int text_handle(struct trace_input *input, const struct text_line *text)
{
	struct trace_line line = { .kind = TRACE_LINE_REFUSED, .why = text->wrong };

	if (!text->wrong)
		trace_form_parse(&input->form, text->text.text, text->text.length, &line);
	line.number = text->number;
	if (line.kind == TRACE_LINE_JOB && *line.job.device && !device_is_npu(input, line.job.device))
		line.kind = TRACE_LINE_OTHER;
	switch (line.kind) {
	case TRACE_LINE_CALL:
	case TRACE_LINE_COUNT:
	case TRACE_LINE_RETURN:
	case TRACE_LINE_OTHER:
	case TRACE_LINE_JOB:
	case TRACE_LINE_MESSAGE:
	case TRACE_LINE_POWER:
		return line_queue(input, &line);
	case TRACE_LINE_HEADER:
		input->has_header = true;
		break;
	case TRACE_LINE_LOST:
		if (__builtin_add_overflow(input->lost, line.count, &input->lost))
			input->lost = IAPROF_COUNT_UNKNOWN;
		break;
	case TRACE_LINE_REFUSED:
		text_refused_add(&input->refused, text, line.why);
		break;
	default:
		break;
	}
	return 0;
}

/* The lines that one line of JSON stands for. */
struct converted {
	struct trace_input *input;
	const struct text_line *from;
	int result;
};

static void converted_handle(void *context, struct text_span line)
{
	struct converted *converted = context;
	struct text_line text = { .text = line, .number = converted->from->number };
	if (!converted->result)
		converted->result = text_handle(converted->input, &text);
}

static int line_handle(void *context, const struct text_line *text)
{
	struct trace_input *input = context;
	struct converted converted = { .input = input, .from = text };
	if (text->wrong || !trace_json_is(text->text))
		return text_handle(input, text);
	if (!trace_json_convert(text->text, converted_handle, &converted))
		text_refused_add(&input->refused, text, "not a line of bpftrace -f json");
	return converted.result;
}

int trace_input_open(struct trace_input *input, const struct iaprof_host *host, const char *path,
		     const struct ivpu_limits *limits, uint64_t unit, bool each_call)
{
	*input = (struct trace_input){ .host = host, .limits = limits, .unit = unit, .file = { .is_live = true } };
	input->lines = (struct text_lines){ .take = line_handle, .context = input };
	int result = input_file_open(&input->file, host, path);
	if (result)
		return result;
	struct stat status;
	if (fstat(input->file.descriptor, &status) < 0)
		return host->fail(host, errno, "look at %s: %s", path, strerror(errno));
	if (input->file.descriptor != STDIN_FILENO && !S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))
		return host->fail(host, EINVAL, "%s is neither a file nor a pipe (input= requires a text trace)", path);
	input->is_pipe = !S_ISREG(status.st_mode);
	return trace_calls_init(&input->calls, host, each_call);
}

void trace_input_close(struct trace_input *input)
{
	input_file_close(&input->file);
	text_lines_free(&input->lines);
	free(input->pending);
	trace_calls_free(&input->calls);
}

static int calls_flush(struct trace_input *input)
{
	uint64_t now = input->host->clock(input->host);
	if (now - input->flush_time < FLUSH_PERIOD)
		return 0;
	input->flush_time = now;
	/* bpftrace reads all CPUs in less time; lines of a file are always passed on in the same way. */
	int result = input->is_decided && input->is_pipe ? lines_pass_on(input, input->settled) : 0;
	input->settled = input->pending_count;
	/* The durations of calls that were sent could not be added. */
	return result || input->calls.has_durations ? result : trace_calls_flush(&input->calls);
}

static int input_read(struct trace_input *input)
{
	char bytes[READ_SIZE];
	ssize_t got;
	input->flush_time = input->host->clock(input->host);
	while ((got = input_file_read_some(&input->file, bytes, sizeof bytes)) > 0 || got == -EAGAIN) {
		int result = got > 0 ? text_lines_feed(&input->lines, bytes, (size_t)got) : 0;
		if (!result && got == -EAGAIN && input->is_decided)
			result = lines_pass_on(input, input->pending_count);
		if (!result)
			result = calls_flush(input);
		if (result)
			return result;
	}
	/* If the run ended early, the last line is incomplete. */
	if (got == -ECANCELED)
		return lines_release(input, true);
	if (got < 0)
		return input->host->fail(input->host, (int)got, "read %s: %s", input->file.file, strerror((int)-got));
	int result = text_lines_end(&input->lines);
	return result ? result : lines_release(input, true);
}

static int findings_emit(struct trace_input *input)
{
	uint64_t time = input->host->clock(input->host);
	struct trace_calls *calls = &input->calls;
	struct record_batch *batch = &calls->records.batch;
	struct npu_report report = { .statistics = ivpu_running_statistics(&calls->running),
				     .overview = &calls->overview,
				     .use = &calls->use.use,
				     .queues = &calls->use.queues,
				     .limits = input->limits };
	for (uint32_t i = 0; i < calls->names.entries.count; i++)
		if (calls->functions[i]->known->family == IVPU_FAMILY_OTHER && calls->functions[i]->count)
			ivpu_unknown_add(&report.unknown, calls->functions[i]->name, calls->functions[i]->count);
	int result = npu_report_emit(&report, batch, time);
	if (!result)
		result = trace_histograms_emit(&input->form.histograms, batch, calls->clock.begin);
	return result ? result : trace_calls_flush(calls);
}

static void facts_send(const struct trace_input *input)
{
	const struct iaprof_host *host = input->host;
	const struct trace_calls *calls = &input->calls;
	host->metadata(host, "input", "%s", input->file.file);
	host->metadata(host, "calls", "%" PRIu64 " (%s)", calls->overview.calls,
		       calls->is_summed ? "from a map" : "from lines");
	if (calls->overview.calls && !calls->clock.has_time)
		host->metadata(host, "times of the trace", "none");
	else if (calls->clock.unit)
		host->metadata(host, "unit of times", "%s", trace_unit_name(calls->clock.unit, false));
	for (uint32_t i = 0; i < IVPU_FAMILY_COUNT && calls->overview.calls; i++) {
		char key[64];
		if (!calls->overview.family_counts[i])
			continue;
		snprintf(key, sizeof key, "family %s", ivpu_family_name(i));
		host->metadata(host, key, "%" PRIu64 " calls, %s %%", calls->overview.family_counts[i],
			       quantity_number(100.0 * (double)calls->overview.family_counts[i] /
					       (double)calls->overview.calls)
				       .text);
	}
	if (calls->overview.knows_messages)
		host->metadata(host, "messages", "%" PRIu64, calls->running.statistics.messages.count);
	if (calls->overview.knows_polls)
		host->metadata(host, "polls in boot", "%" PRIu64, calls->running.statistics.boots.polls);
	if (calls->other_functions)
		host->metadata(host, "lines of other functions and events", "%" PRIu64, calls->other_functions);
	host->metadata(host, "calls with order not known", "%" PRIu64, calls->order_unknown);
	host->metadata(host, "lines refused", "%" PRIu64, input->refused.count);
}

static bool has_data(const struct trace_input *input)
{
	return input->calls.overview.calls || input->calls.use.has_job_events || input->form.histograms.count;
}

/* Limit on unreadable lines of a trace without data: bpftrace may print a few warnings. */
#define WARNINGS_MAX 8

static bool is_other_text(const struct trace_input *input)
{
	return input->refused.count && !has_data(input) && (!input->has_header || input->refused.count > WARNINGS_MAX);
}

static void warnings_log(const struct trace_input *input)
{
	const struct iaprof_host *host = input->host;
	const struct trace_calls *calls = &input->calls;
	if (input->unit && input->units.lines && !trace_unit_is_plausible(&input->units, calls->clock.unit))
		host->log(host, IAPROF_LOG_WARNING, "%s: times are hardly in %s, as time-unit= says", input->file.file,
			  trace_unit_name(calls->clock.unit, false));
	if (input->refused.count)
		host->log(host, IAPROF_LOG_WARNING,
			  "%s: skipped lines that are not part of a trace of calls: line %" PRIu64
			  " (%s): \"%s\", %" PRIu64 " in total",
			  input->file.file, input->refused.number, input->refused.why, input->refused.text,
			  input->refused.count);
	if (calls->other_map_lines)
		host->log(host, IAPROF_LOG_WARNING,
			  "%s: skipped lines of maps other than @%s, as only one map can count the calls: %" PRIu64,
			  input->file.file, calls->map, calls->other_map_lines);
	if (!has_data(input) && !is_other_text(input))
		host->log(host, IAPROF_LOG_WARNING, "%s contains no calls (was the NPU used during the trace?)",
			  input->file.file);
	if (calls->use.jobs_dropped)
		host->lost(host, "more than 1,024 jobs in flight", calls->clock.begin, calls->use.jobs_dropped, 0, 0);
	if (input->lost)
		host->lost(host, "bpftrace lost events", calls->clock.begin, input->lost, calls->records.count_type,
			   input->lost == IAPROF_COUNT_UNKNOWN ? 0 : input->lost);
}

int trace_input_run(struct trace_input *input, const volatile int *stopping)
{
	input->file.stopping = stopping;
	int result = input_read(input);
	if (!result)
		result = trace_calls_finish(&input->calls);
	if (!result)
		result = findings_emit(input);
	facts_send(input);
	warnings_log(input);
	if (!result && is_other_text(input))
		result = input->host->fail(input->host, EINVAL,
					   "%s is not a trace of calls (record one with bpftrace -e "
					   "'kprobe:intel_vpu:* { printf(\"%%s\\n\", probe); }')",
					   input->file.file);
	return result;
}
