/* SPDX-License-Identifier: Apache-2.0 */
/* Writes with a deadline: see output_stream.h. */
#include "run/output/output_stream.h"

#include <errno.h>
#include <poll.h>

#include "base/clock.h"

/* A reader that reads less than this while a write may wait is considered stuck. */
#define PROGRESS_SIZE ((size_t)64 << 10)
/* Interval at which a waiting write checks whether the run has ended, in ms. */
#define WAIT_STEP 100
/* Wait after poll() reported room but write() found none, as on a terminal, in ms. */
#define RETRY_STEP 10

static bool is_too_late(struct output_target *target, uint64_t since)
{
	atomic_fetch_add(&target->activity, 1);
	return target->write_by && clock_monotonic() >= target->write_by(target->context, since);
}

/* Waits until there may be room. */
static int wait_writable(const struct stream *stream, struct output_target *target, uint64_t since)
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

/* Writes at most PROGRESS_SIZE bytes within the time limit for them. */
static int write_part(struct stream *stream, struct output_target *target, const char *data, size_t size)
{
	uint64_t since = clock_monotonic();
	bool has_waited = false;
	while (size) {
		int result = 0;
		if (stream->kind == STREAM_SHARED)
			result = wait_writable(stream, target, since);
		if (result)
			return result;
		ssize_t written = stream_write(stream, data, size);
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

int output_stream_write(struct stream *stream, struct output_target *target, const char *data, size_t size)
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
