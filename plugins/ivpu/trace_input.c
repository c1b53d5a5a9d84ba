/* SPDX-License-Identifier: Apache-2.0 */
/* See trace_input.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <iaprof/record.h>
#include "finding_records.h"
#include "record_batch.h"
#include "trace_input.h"

#define READ_SIZE (64u * 1024)
#define FLUSH_PERIOD (250u * 1000 * 1000)

static int fail_with_errno(const struct trace_input *input, const char *what)
{
	int error = errno;
	return input->host->fail(input->host, error, "%s %s: %s", what, input->path, strerror(error));
}

int trace_input_open(struct trace_input *input, const struct iaprof_host *host, const char *path,
		     const struct ivpu_limits *limits, bool each_call)
{
	*input = (struct trace_input){ .host = host, .path = path, .limits = limits, .descriptor = -1 };
	struct stat status;
	/* Not to wait here for the writer of a pipe. */
	input->descriptor =
		strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (input->descriptor < 0)
		return fail_with_errno(input, "open");
	if (fstat(input->descriptor, &status) < 0)
		return fail_with_errno(input, "look at");
	if (input->descriptor != STDIN_FILENO && !S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode))
		return host->fail(host, EINVAL, "%s is neither a file nor a pipe: give input= what bpftrace wrote",
				  path);
	return trace_calls_init(&input->calls, host, each_call);
}

void trace_input_close(struct trace_input *input)
{
	if (input->descriptor > STDIN_FILENO)
		close(input->descriptor);
	input->descriptor = -1;
	trace_calls_free(&input->calls);
}

static void refuse(struct trace_input *input, const char *why)
{
	if (input->refused++)
		return;
	input->first_refused = input->line_number;
	input->first_refused_why = why;
	size_t size = sizeof input->first_refused_text - 1;
	size = input->line_size < size ? input->line_size : size;
	for (size_t i = 0; i < size; i++)
		input->first_refused_text[i] = input->line[i] >= ' ' && input->line[i] <= '~' ? input->line[i] : '?';
	input->first_refused_text[size] = '\0';
}

static int take_line(struct trace_input *input)
{
	struct trace_line line;
	input->line_number++;
	trace_line_parse(input->line, input->line_size, &line);
	int result = 0;
	switch (line.kind) {
	case TRACE_LINE_CALL:
	case TRACE_LINE_COUNT:
		result = trace_calls_add(&input->calls, &line, input->line_number);
		break;
	case TRACE_LINE_HEADER:
		input->has_header = true;
		break;
	case TRACE_LINE_LOST:
		if (__builtin_add_overflow(input->lost, line.count, &input->lost))
			input->lost = IAPROF_COUNT_UNKNOWN;
		break;
	case TRACE_LINE_REFUSED:
		refuse(input, line.why);
		break;
	default:
		break;
	}
	input->line_size = 0;
	return result;
}

static int take_bytes(struct trace_input *input, const char *bytes, size_t size)
{
	while (size) {
		const char *end = memchr(bytes, '\n', size);
		size_t part = end ? (size_t)(end - bytes) : size;
		size_t room = sizeof input->line - input->line_size;
		/* What is beyond the room is of a line that is refused anyway. */
		memcpy(input->line + input->line_size, bytes, part < room ? part : room);
		input->line_size += (uint32_t)(part < room ? part : room);
		int result = end ? take_line(input) : 0;
		if (result)
			return result;
		part += end ? 1 : 0;
		bytes += part;
		size -= part;
	}
	return 0;
}

static bool is_stopping(const volatile int *stopping)
{
	return __atomic_load_n(stopping, __ATOMIC_ACQUIRE);
}

/* Some bytes: how many, 0 at the end or when the run is, or a negative errno after host->fail(). */
static ssize_t read_some(const struct trace_input *input, char *bytes, const volatile int *stopping)
{
	struct pollfd descriptor = { .fd = input->descriptor, .events = POLLIN };
	for (;;) {
		if (is_stopping(stopping))
			return 0;
		int ready = poll(&descriptor, 1, 100);
		ssize_t got = ready > 0 ? read(input->descriptor, bytes, READ_SIZE) : -1;
		if (got >= 0)
			return got;
		if (ready != 0 && errno != EINTR && errno != EAGAIN)
			return fail_with_errno(input, "read");
		if (ready == 0 && !descriptor.revents)
			return -EAGAIN;
	}
}

static int flush_now_and_then(struct trace_input *input)
{
	uint64_t now = input->host->clock(input->host);
	if (now - input->flush_time < FLUSH_PERIOD)
		return 0;
	input->flush_time = now;
	return trace_calls_flush(&input->calls);
}

static int read_all(struct trace_input *input, const volatile int *stopping)
{
	char bytes[READ_SIZE];
	ssize_t got;
	input->flush_time = input->host->clock(input->host);
	while ((got = read_some(input, bytes, stopping)) > 0 || got == -EAGAIN) {
		int result = got > 0 ? take_bytes(input, bytes, (size_t)got) : 0;
		if (!result)
			result = flush_now_and_then(input);
		if (result)
			return result;
	}
	if (got < 0)
		return (int)got;
	/* The last line may lack its end; when the run ends earlier, it is no whole line. */
	return input->line_size && !is_stopping(stopping) ? take_line(input) : 0;
}

static int tell_findings(struct trace_input *input)
{
	uint64_t time = input->host->clock(input->host);
	struct trace_calls *calls = &input->calls;
	struct record_batch *batch = &calls->records.batch;
	struct ivpu_tally tally = ivpu_running_tally(&calls->running);
	struct ivpu_overview overview = { .calls = calls->call_count,
					  .messages = calls->running.tally.messages,
					  .boot_polls = calls->boot_polls };
	memcpy(overview.headline_counts, calls->headline_counts, sizeof overview.headline_counts);
	int result = ivpu_overview_emit(batch, &overview, time);
	if (!result)
		result = ivpu_rates_emit(batch, &tally, time);
	if (!result)
		result = ivpu_findings_emit(batch, &tally, input->limits, time);
	return result ? result : trace_calls_flush(calls);
}

static void tell_facts(const struct trace_input *input)
{
	const struct iaprof_host *host = input->host;
	const struct trace_calls *calls = &input->calls;
	host->metadata(host, "input", "%s", input->path);
	host->metadata(host, "calls", "%" PRIu64 " (%s)", calls->call_count,
		       calls->is_summed ? "from a map" : "from lines");
	if (calls->call_count && !calls->has_time)
		host->metadata(host, "times of the trace", "none: a line counts as a nanosecond");
	for (uint32_t i = IVPU_HEADLINE_NONE + 1; i < IVPU_HEADLINE_COUNT && calls->call_count; i++) {
		char key[64];
		snprintf(key, sizeof key, "headline %s", ivpu_headline_name(i));
		host->metadata(host, key, "%" PRIu64 " calls, %.1f %%", calls->headline_counts[i],
			       100.0 * (double)calls->headline_counts[i] / (double)calls->call_count);
	}
	host->metadata(host, "messages", "%" PRIu64, calls->running.tally.messages);
	host->metadata(host, "polls in boot", "%" PRIu64, calls->boot_polls);
	host->metadata(host, "calls with order not known", "%" PRIu64, calls->order_unknown);
	host->metadata(host, "lines refused", "%" PRIu64, input->refused);
}

static bool is_other_text(const struct trace_input *input)
{
	return input->refused && !input->calls.call_count && !input->has_header;
}

static void warn(const struct trace_input *input)
{
	const struct iaprof_host *host = input->host;
	const struct trace_calls *calls = &input->calls;
	if (input->refused)
		host->log(host, IAPROF_LOG_WARNING,
			  "%s: %" PRIu64
			  " lines are not what bpftrace writes of calls, and are left out; the first is line "
			  "%" PRIu64 " (%s): \"%s\"",
			  input->path, input->refused, input->first_refused, input->first_refused_why,
			  input->first_refused_text);
	if (calls->other_map_lines)
		host->log(host, IAPROF_LOG_WARNING,
			  "%s: %" PRIu64
			  " lines are of maps other than @%s, and are left out: only one can count the calls",
			  input->path, calls->other_map_lines, calls->map);
	if (!calls->call_count && !is_other_text(input))
		host->log(host, IAPROF_LOG_WARNING, "%s has no calls: did anybody use the NPU meanwhile?", input->path);
	if (input->lost)
		host->lost(host, "bpftrace lost events", calls->begin, input->lost, calls->records.count_type,
			   input->lost == IAPROF_COUNT_UNKNOWN ? 0 : input->lost);
}

int trace_input_run(struct trace_input *input, const volatile int *stopping)
{
	int result = read_all(input, stopping);
	if (!result)
		result = trace_calls_finish(&input->calls);
	if (!result)
		result = tell_findings(input);
	tell_facts(input);
	warn(input);
	if (!result && is_other_text(input))
		result = input->host->fail(input->host, EINVAL,
					   "%s is no trace of calls: write it with bpftrace -e 'kprobe:intel_vpu:* { "
					   "printf(\"%%s\\n\", probe); }'",
					   input->path);
	return result;
}
