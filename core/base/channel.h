/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between iaprof's own processes over a stream socket (AF_UNIX), each with at most one file descriptor. A
 * process that parses what other users wrote may have been taken over: the receiver trusts no size and no content, and
 * no call waits longer than its deadline.
 */
#ifndef IAPROF_CORE_BASE_CHANNEL_H
#define IAPROF_CORE_BASE_CHANNEL_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/deadline.h"

struct channel_header {
	uint32_t type; /* the protocol's */
	uint32_t size; /* bytes that follow */
};

/* The most parts of a message. */
#define CHANNEL_PARTS_MAX 8

/*
 * deadline: NULL none. Each returns 0 or a negative errno: -ETIMEDOUT at the deadline, -EPIPE
 * when the other end is closed, -EMSGSIZE when the parts have more than UINT32_MAX bytes.
 */

/* descriptor: is sent along and stays the caller's; -1 none. */
int channel_send(int socket, uint32_t type, const struct iovec *parts, size_t count, int descriptor,
		 const struct deadline *deadline);
/* Reads the head of the next message; its bytes are read with channel_read(). *descriptor is -1 when none came. */
int channel_receive(int socket, struct channel_header *header, int *descriptor, const struct deadline *deadline);
/* Reads exactly size bytes of the message at hand. */
int channel_read(int socket, void *bytes, size_t size, const struct deadline *deadline);
/* Reads the next bytes of the message into all parts, whose pointers and sizes change meanwhile. */
int channel_read_parts(int socket, struct iovec *parts, size_t count, const struct deadline *deadline);

/* An answer that is expected: a message of this type, without a descriptor, that begins with a struct. */
struct channel_answer {
	uint32_t type;
	void *head;
	size_t head_size;
	uint64_t rest; /* set: bytes behind the head, which are still to be read */
};
/* Sends a message as channel_send() and reads the head of its answer; -EPROTO when that is another message. */
int channel_ask(int socket, uint32_t type, const struct iovec *parts, size_t count, int descriptor,
		struct channel_answer *answer, const struct deadline *deadline);

/* A negative errno that another process sent; -EPROTO for any number that is none. */
static inline int channel_error(int32_t code)
{
	return code < 0 && code > -4096 ? code : -EPROTO;
}

#endif
