/* SPDX-License-Identifier: Apache-2.0 */
/* See stream.h. */
#include "base/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens a separate open file description of the same pipe or terminal; returns -1 if that is impossible. */
static int open_again(int descriptor)
{
	char path[64];
	int flags = fcntl(descriptor, F_GETFL);
	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
		return -1;
	snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
	return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

int stream_open(struct stream *stream, int descriptor)
{
	struct stat status;
	if (fstat(descriptor, &status))
		return -errno;
	stream->kind = S_ISREG(status.st_mode)    ? STREAM_FILE
		       : S_ISSOCK(status.st_mode) ? STREAM_SOCKET
						  : STREAM_NON_BLOCKING;
	stream->descriptor = stream->kind == STREAM_NON_BLOCKING ? open_again(descriptor) : -1;
	if (stream->descriptor >= 0)
		return 0;
	if (stream->kind == STREAM_NON_BLOCKING)
		stream->kind = STREAM_SHARED;
	stream->descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
	return stream->descriptor < 0 ? -errno : 0;
}

ssize_t stream_write(const struct stream *stream, const char *data, size_t size)
{
	if (stream->kind == STREAM_SOCKET)
		return send(stream->descriptor, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
	/* If poll() reports space in a pipe, a write of this size does not block. */
	if (stream->kind == STREAM_SHARED && size > PIPE_BUF)
		size = PIPE_BUF;
	return write(stream->descriptor, data, size);
}
