/* SPDX-License-Identifier: Apache-2.0 */
/* Writing to a descriptor that this process may share with others, without waiting for its reader. */
#ifndef IAPROF_CORE_BASE_STREAM_H
#define IAPROF_CORE_BASE_STREAM_H

#include <stddef.h>
#include <sys/types.h>

enum stream_kind {
	STREAM_FILE,         /* a regular file: never waits */
	STREAM_NON_BLOCKING, /* the open file description is ours, and O_NONBLOCK */
	STREAM_SOCKET,       /* not ours; a call can be told not to wait */
	STREAM_SHARED        /* not ours, and may block: written to in small parts, when there is room */
};

struct stream {
	int descriptor; /* owned; -1: none */
	enum stream_kind kind;
};

#define STREAM_INIT ((struct stream){ .descriptor = -1 })

/*
 * Takes an open descriptor, which stays the caller's: of a pipe or a terminal that others have open, too, it gets an
 * open file description of its own, as O_NONBLOCK would be theirs as well. 0 or a negative errno.
 */
int stream_open(struct stream *stream, int descriptor);
/*
 * As write(), but with EAGAIN instead of a wait. One of STREAM_SHARED waits unless poll() has reported room, and takes
 * PIPE_BUF bytes at most.
 */
ssize_t stream_write(const struct stream *stream, const char *data, size_t size);

#endif
