/* SPDX-License-Identifier: Apache-2.0 */
/* Writes to a descriptor that may be shared with other processes, without waiting for its reader. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

enum stream_kind {
	STREAM_FILE,         /* a regular file: never blocks */
	STREAM_NON_BLOCKING, /* a separate open file description, with O_NONBLOCK */
	STREAM_SOCKET,       /* shared; each call is non-blocking */
	STREAM_SHARED        /* shared, may block: written in small parts when poll() reports space */
};

struct stream {
	int descriptor; /* owned; -1: none */
	enum stream_kind kind;
};

#define STREAM_INIT ((struct stream){ .descriptor = -1 })

/*
 * Opens a stream on a descriptor, which the caller still owns. A pipe or terminal that other processes have open, too,
 * is reopened, because O_NONBLOCK on a shared open file description would affect them. Returns 0 or a negative errno.
 */
int stream_open(struct stream *stream, int descriptor);
/*
 * Like write(), but returns EAGAIN instead of waiting. A STREAM_SHARED stream waits unless poll() has reported space,
 * and writes at most PIPE_BUF bytes.
 */
ssize_t stream_write(const struct stream *stream, const char *data, size_t size);
