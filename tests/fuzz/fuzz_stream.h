/* SPDX-License-Identifier: Apache-2.0 */
/* The input of a fuzz target as what a worker's child sends. */
#pragma once

#include <stdint.h>
#include <sys/socket.h>

/* What fits into a socket without a reader. */
#define STREAM_SIZE_MAX 100000

/* Children get no context of the target. */
static struct {
	const uint8_t *bytes;
	size_t size;
} stream;

/* Sends the stream to the reader, as a child does. */
static int stream_feed(void *context, int socket)
{
	/* The reader may have closed its end: no SIGPIPE. */
	return stream.size && send(socket, stream.bytes, stream.size, MSG_NOSIGNAL) < 0;
}
