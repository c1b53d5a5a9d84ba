/* SPDX-License-Identifier: Apache-2.0 */
/* See flamegraph.h. */
#include "flamegraph.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/private_folder.h"
#include "base/sanitizer.h"
#include "ring/ring_folder.h"
#include "ring/ring_range.h"

/* Limit on messages of the process. */
#define MESSAGES_SIZE_MAX 4096u
#define CHUNK 65536u
#define MILLISECONDS_PER_SECOND 1000
#define NANOSECONDS_PER_MILLISECOND (NANOSECONDS_PER_SECOND / MILLISECONDS_PER_SECOND)

struct child {
	pid_t pid;
	int output, errors; /* pipes; -1 at their end */
};

/* Runs in the child of a process with threads: only calls that are safe after fork(). */
static _Noreturn void run_child(char **arguments, int output, int errors)
{
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const struct rlimit memory = { FLAMEGRAPH_MEMORY_MAX, FLAMEGRAPH_MEMORY_MAX }, core = { 0, 0 };
	const struct rlimit seconds = { FLAMEGRAPH_SECONDS_MAX, FLAMEGRAPH_SECONDS_MAX };
	bool is_limited = !setrlimit(RLIMIT_CPU, &seconds) && !setrlimit(RLIMIT_CORE, &core) &&
			  (HAS_SANITIZER || !setrlimit(RLIMIT_AS, &memory)); /* sanitizers reserve terabytes */
	if (is_limited && input >= 0 && !prctl(PR_SET_PDEATHSIG, SIGKILL) && dup2(input, STDIN_FILENO) >= 0 &&
	    dup2(output, STDOUT_FILENO) >= 0 && dup2(errors, STDERR_FILENO) >= 0) {
		close_range(STDERR_FILENO + 1, ~0u, 0);
		execv(arguments[0], arguments);
	}
	_exit(127);
}

/* Returns 0 or a negative errno. */
static int child_start(struct child *child, char **arguments)
{
	int output[2], errors[2];
	if (pipe2(output, O_CLOEXEC))
		return -errno;
	if (pipe2(errors, O_CLOEXEC)) {
		int result = -errno;
		close(output[0]);
		close(output[1]);
		return result;
	}
	child->pid = fork();
	int result = child->pid < 0 ? -errno : 0;
	if (!child->pid)
		run_child(arguments, output[1], errors[1]);
	close(output[1]);
	close(errors[1]);
	child->output = output[0];
	child->errors = errors[0];
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
static int child_read(struct child *child, int stop, struct text *page, struct text *messages)
{
	uint64_t end = clock_monotonic() + FLAMEGRAPH_SECONDS_MAX * NANOSECONDS_PER_SECOND;
	while (child->output >= 0 || child->errors >= 0) {
		uint64_t now = clock_monotonic();
		struct pollfd pipes[] = { { .fd = child->output, .events = POLLIN },
					  { .fd = child->errors, .events = POLLIN },
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
		if (pipes[0].revents && !read_pipe(&child->output, page, FLAMEGRAPH_SIZE_MAX))
			return page->failed ? -ENOMEM : -EFBIG;
		if (pipes[1].revents && !read_pipe(&child->errors, messages, SIZE_MAX))
			return -ENOMEM;
		keep_end(messages);
	}
	return 0;
}

/* Returns 0 if the process wrote a page, also one whose messages report damaged segments. */
static int child_run(struct child *child, const struct flamegraph *flamegraph, char **arguments, struct text *page,
		     struct text *messages)
{
	int result = child_start(child, arguments), status = 0;
	if (result)
		return result;
	result = child_read(child, flamegraph->stop, page, messages);
	if (result)
		kill(child->pid, SIGKILL);
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (result)
		return result;
	return WIFEXITED(status) && WEXITSTATUS(status) <= 1 && page->size ? 0 : -EIO;
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
	struct child child = { .output = -1, .errors = -1 };
	int result = -ENOMEM;
	if (atomic_fetch_add(&flamegraph->running, 1) >= FLAMEGRAPH_PROCESSES_MAX)
		result = -EBUSY;
	else if (program && after && (before || !baseline))
		result = child_run(&child, flamegraph, baseline ? two : one, page, &messages);
	atomic_fetch_sub(&flamegraph->running, 1);
	if (child.output >= 0)
		close(child.output);
	if (child.errors >= 0)
		close(child.errors);
	if (result)
		explain(result, &messages, why);
	return result;
}
