/* SPDX-License-Identifier: Apache-2.0 */
/* Writes to what has a reader (a pipe, a socket, a terminal) without waiting for it longer than the run allows. */
#ifndef IAPROF_CORE_RUN_OUTPUT_STREAM_H
#define IAPROF_CORE_RUN_OUTPUT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/output_target.h"

enum output_stream_kind {
	OUTPUT_STREAM_FILE,         /* a regular file: never waits */
	OUTPUT_STREAM_NON_BLOCKING, /* the open file description is ours, and O_NONBLOCK */
	OUTPUT_STREAM_SOCKET,       /* not ours; a call can be told not to wait */
	OUTPUT_STREAM_SHARED        /* not ours, and may block: written to in small parts, when there is room */
};

struct output_stream {
	int descriptor; /* owned; -1: none */
	enum output_stream_kind kind;
};

#define OUTPUT_STREAM_INIT ((struct output_stream){ .descriptor = -1 })

/*
 * Takes an open descriptor, which stays the caller's: of a pipe or a terminal that others have open, too, it gets an
 * open file description of its own, as O_NONBLOCK would be theirs as well. 0 or a negative errno.
 */
int output_stream_open(struct output_stream *stream, int descriptor);
/* 0; -ETIMEDOUT when there was no reader for what the target allows; another negative errno. */
int output_stream_write(struct output_stream *stream, struct output_target *target, const char *data, size_t size);

#endif
