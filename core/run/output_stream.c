/* SPDX-License-Identifier: Apache-2.0 */
/* Writes with a deadline: see output_stream.h. */
#include "run/output_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

/* A reader that takes less than this in the time that a write may wait counts as one that has stopped. */
#define PROGRESS_SIZE ((size_t)64 << 10)
/* How often a write that waits looks whether the run has ended, ms. */
#define WAIT_STEP 100
/* How long it waits for room that poll() reports and write() does not find, as on a terminal, ms. */
#define RETRY_STEP 10

/* Another open file description of the same pipe or terminal; -1 when there can be none. */
static int open_again(int descriptor)
{
	char path[64];
	int flags = fcntl(descriptor, F_GETFL);
	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
		return -1;
	snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
	return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

int output_stream_open(struct output_stream *stream, int descriptor)
{
	struct stat status;
	if (fstat(descriptor, &status))
		return -errno;
	stream->kind = S_ISREG(status.st_mode)    ? OUTPUT_STREAM_FILE
		       : S_ISSOCK(status.st_mode) ? OUTPUT_STREAM_SOCKET
						  : OUTPUT_STREAM_NON_BLOCKING;
	stream->descriptor = stream->kind == OUTPUT_STREAM_NON_BLOCKING ? open_again(descriptor) : -1;
	if (stream->descriptor >= 0)
		return 0;
	if (stream->kind == OUTPUT_STREAM_NON_BLOCKING)
		stream->kind = OUTPUT_STREAM_SHARED;
	stream->descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
	return stream->descriptor < 0 ? -errno : 0;
}

static bool is_too_late(struct output_target *target, uint64_t since)
{
	atomic_fetch_add(&target->activity, 1);
	return target->write_by && clock_monotonic() >= target->write_by(target->context, since);
}

/* Waits until there may be room. */
static int wait_writable(const struct output_stream *stream, struct output_target *target, uint64_t since)
{
	struct pollfd descriptor = { .fd = stream->descriptor, .events = POLLOUT };
	for (;;) {
		int ready = poll(&descriptor, 1, WAIT_STEP);
		if (ready > 0)
			return 0;
		if (ready < 0 && errno != EINTR)
			return -errno;
		if (is_too_late(target, since))
			return -ETIMEDOUT;
	}
}

static ssize_t write_some(const struct output_stream *stream, const char *data, size_t size)
{
	if (stream->kind == OUTPUT_STREAM_SOCKET)
		return send(stream->descriptor, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	/* A pipe that poll() says has room takes this much without waiting. */
	if (stream->kind == OUTPUT_STREAM_SHARED && size > PIPE_BUF)
		size = PIPE_BUF;
	return write(stream->descriptor, data, size);
}

/* Writes at most PROGRESS_SIZE bytes, in the time for that. */
static int write_part(struct output_stream *stream, struct output_target *target, const char *data, size_t size)
{
	uint64_t since = clock_monotonic();
	bool has_waited = false;
	while (size) {
		int result = 0;
		if (stream->kind == OUTPUT_STREAM_SHARED)
			result = wait_writable(stream, target, since);
		if (result)
			return result;
		ssize_t written = write_some(stream, data, size);
		if (written >= 0) {
			data += written;
			size -= (size_t)written;
			has_waited = false;
		} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
			if (has_waited)
				poll(NULL, 0, RETRY_STEP);
			result = has_waited && is_too_late(target, since) ? -ETIMEDOUT
									  : wait_writable(stream, target, since);
			has_waited = true;
		} else if (errno != EINTR) {
			result = -errno;
		}
		if (result)
			return result;
	}
	return 0;
}

int output_stream_write(struct output_stream *stream, struct output_target *target, const char *data, size_t size)
{
	int result = 0;
	while (size && !result) {
		size_t part = size < PROGRESS_SIZE ? size : PROGRESS_SIZE;
		result = write_part(stream, target, data, part);
		atomic_fetch_add(&target->activity, 1);
		data += part;
		size -= part;
	}
	return result;
}
