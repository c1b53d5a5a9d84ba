/* SPDX-License-Identifier: Apache-2.0 */
/* See flamegraph.h. */
#include "flamegraph.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/private_folder.h"
#include "base/sanitizer.h"
#include "child/child.h"
#include "child/privileges.h"
#include "ring/ring_folder.h"
#include "ring/ring_range.h"

/* Limit on messages of the process. */
#define MESSAGES_SIZE_MAX 4096u
#define CHUNK 65536u
/* Time to end after both pipes were closed, ns: its memory is freed. */
#define END_TIME (10 * NANOSECONDS_PER_SECOND)
#define MILLISECONDS_PER_SECOND 1000
#define NANOSECONDS_PER_MILLISECOND (NANOSECONDS_PER_SECOND / MILLISECONDS_PER_SECOND)

struct reader {
	struct child child;
	int output, errors; /* pipes; -1 at their end */
};

/* In the child. */
static void limit_resources(void)
{
	if (privileges_limit(RLIMIT_CPU, FLAMEGRAPH_SECONDS_MAX) || privileges_limit(RLIMIT_CORE, 0) ||
	    /* Sanitizers reserve terabytes. */
	    (!HAS_SANITIZER && privileges_limit(RLIMIT_AS, FLAMEGRAPH_MEMORY_MAX)))
		_exit(CHILD_NOT_EXECUTED);
}

/* Returns 0 or a negative errno. */
static int start(struct reader *reader, char **arguments)
{
	int output[2] = { -1, -1 }, errors[2] = { -1, -1 };
	int result = pipe2(output, O_CLOEXEC) || pipe2(errors, O_CLOEXEC) ? -errno : 0;
	const struct child_setup setup = { .path = arguments[0],
					   .arguments = arguments,
					   .streams = (const int[]){ -1, output[1], errors[1] },
					   .dies_with_us = true,
					   .prepare = limit_resources };
	if (!result)
		result = child_start(&reader->child, &setup);
	if (output[1] >= 0)
		close(output[1]);
	if (errors[1] >= 0)
		close(errors[1]);
	reader->output = output[0];
	reader->errors = errors[0];
	return result;
}

/* Reads the available bytes of a pipe. Returns false at its end, and when there are more than the limit. */
static bool read_pipe(int *pipe, struct text *text, size_t limit)
{
	ssize_t got = text_reserve(text, CHUNK) ? read(*pipe, text->data + text->size, CHUNK) : -1;
	if (got > 0)
		text->size += (size_t)got;
	if ((got < 0 && errno == EINTR && !text->failed) || (got > 0 && text->size <= limit))
		return true;
	close(*pipe);
	*pipe = -1;
	return got == 0;
}

/* Keeps the end of the messages: the last one explains a failure. */
static void keep_end(struct text *messages)
{
	if (messages->size <= MESSAGES_SIZE_MAX)
		return;
	memmove(messages->data, messages->data + messages->size - MESSAGES_SIZE_MAX, MESSAGES_SIZE_MAX);
	messages->size = MESSAGES_SIZE_MAX;
}

/* Reads both pipes to their end. Returns 0, or -ETIME, -ECANCELED, -EFBIG, -ENOMEM. */
static int read_pipes(struct reader *reader, int stop, struct text *page, struct text *messages)
{
	uint64_t end = clock_monotonic() + FLAMEGRAPH_SECONDS_MAX * NANOSECONDS_PER_SECOND;
	while (reader->output >= 0 || reader->errors >= 0) {
		uint64_t now = clock_monotonic();
		struct pollfd pipes[] = { { .fd = reader->output, .events = POLLIN },
					  { .fd = reader->errors, .events = POLLIN },
					  { .fd = stop, .events = POLLIN } };
		if (now >= end)
			return -ETIME;
		int found = poll(pipes, 3, (int)((end - now) / (NANOSECONDS_PER_SECOND / MILLISECONDS_PER_SECOND)) + 1);
		if (found < 0 && errno != EINTR)
			return -errno;
		if (found <= 0)
			continue;
		if (pipes[2].revents)
			return -ECANCELED;
		if (pipes[0].revents && !read_pipe(&reader->output, page, FLAMEGRAPH_SIZE_MAX))
			return page->failed ? -ENOMEM : -EFBIG;
		if (pipes[1].revents && !read_pipe(&reader->errors, messages, SIZE_MAX))
			return -ENOMEM;
		keep_end(messages);
	}
	return 0;
}

/* Returns 0 if the process wrote a page, also one whose messages report damaged segments. */
static int run(struct reader *reader, const struct flamegraph *flamegraph, char **arguments, struct text *page,
	       struct text *messages)
{
	int result = start(reader, arguments);
	if (!result)
		result = read_pipes(reader, flamegraph->stop, page, messages);
	if (!result)
		child_wait(&reader->child, END_TIME);
	child_close(&reader->child);
	int status = reader->child.status;
	if (result)
		return result;
	return status != -1 && WIFEXITED(status) && WEXITSTATUS(status) <= 1 && page->size ? 0 : -EIO;
}

static void explain(int result, const struct text *messages, struct text *why)
{
	size_t length = messages->size;
	const char *line = messages->data;
	while (length && (line[length - 1] == '\n' || line[length - 1] == '\0'))
		length--;
	/* The last line contains the error. */
	const char *last = length ? memrchr(line, '\n', length) : NULL;
	CLEANUP_FREE char *text =
		length ? strndup(last ? last + 1 : line, length - (size_t)(last ? last + 1 - line : 0)) : NULL;
	if (result == -ETIME)
		text_append_format(why, "iaprof took longer than %u s (select a shorter range)",
				   FLAMEGRAPH_SECONDS_MAX);
	else if (result == -EFBIG)
		text_append_string(why, "the page is too large (select a shorter range)");
	else if (text && result == -EIO)
		text_append_name(why, text);
	else if (result == -EIO)
		text_append_string(why,
				   "iaprof could not be run, or ended without a message (the range may need too much "
				   "memory)");
	else
		text_append_string(why, strerror(-result));
}

static char *range_text(const struct flamegraph *flamegraph, const struct flamegraph_range *range)
{
	char *text;
	int length = asprintf(&text, "%s:@%" PRIu64 ".%03u..@%" PRIu64 ".%03u", flamegraph->folder,
			      range->from / MILLISECONDS_PER_SECOND, (unsigned)(range->from % MILLISECONDS_PER_SECOND),
			      range->to / MILLISECONDS_PER_SECOND, (unsigned)(range->to % MILLISECONDS_PER_SECOND));
	return length < 0 ? NULL : text;
}

static void explain_empty(const struct ring_segments *segments, struct text *why)
{
	char begin[32], end[32];
	uint64_t last = 0;
	for (size_t i = 0; i < segments->count; i++)
		last = segments->items[i].end > last ? segments->items[i].end : last;
	text_append_string(why, "no data in this range");
	if (!segments->count)
		return;
	ring_time_describe(segments->items[0].begin, begin);
	ring_time_describe(last, end);
	text_append_format(why, " (the ring has %s..%s)", begin, end);
}

int flamegraph_check(const struct flamegraph *flamegraph, const struct flamegraph_range *range, struct text *why)
{
	struct ring_segments segments = { 0 };
	const char *owner;
	CLEANUP_CLOSE int folder = private_folder_open(flamegraph->folder, false, &owner);
	int result = folder < 0 ? folder : ring_folder_list(folder, &segments);
	bool has_data = false;
	for (size_t i = 0; i < segments.count && !has_data; i++)
		has_data = segments.items[i].begin < range->to * NANOSECONDS_PER_MILLISECOND &&
			   segments.items[i].end > range->from * NANOSECONDS_PER_MILLISECOND;
	if (!result && !has_data) {
		explain_empty(&segments, why);
		result = -ENODATA;
	}
	array_free(&segments);
	return result;
}

int flamegraph_append(struct flamegraph *flamegraph, const struct flamegraph_range *range,
		      const struct flamegraph_range *baseline, struct text *page, struct text *why)
{
	CLEANUP_FREE char *program = strdup(flamegraph->program), *after = range_text(flamegraph, range);
	CLEANUP_FREE char *before = baseline ? range_text(flamegraph, baseline) : NULL;
	CLEANUP(text_free) struct text messages = { 0 };
	char replay[] = "--replay", difference[] = "--diff", sink[] = "-k", name[] = "flamegraph:spans=yes",
	     output[] = "-o", standard[] = "-", quiet[] = "-q";
	char *one[] = { program, quiet, replay, after, sink, name, output, standard, NULL };
	char *two[] = { program, quiet, difference, before, after, sink, name, output, standard, NULL };
	struct reader reader = { .child = CHILD_NONE, .output = -1, .errors = -1 };
	int result = -ENOMEM;
	if (atomic_fetch_add(&flamegraph->running, 1) >= FLAMEGRAPH_PROCESSES_MAX)
		result = -EBUSY;
	else if (program && after && (before || !baseline))
		result = run(&reader, flamegraph, baseline ? two : one, page, &messages);
	atomic_fetch_sub(&flamegraph->running, 1);
	if (reader.output >= 0)
		close(reader.output);
	if (reader.errors >= 0)
		close(reader.errors);
	if (result)
		explain(result, &messages, why);
	return result;
}
