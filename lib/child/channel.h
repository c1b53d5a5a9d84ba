/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between a process and its child over a socket (AF_UNIX), each with at most one file descriptor. One that
 * parses other users' files or runs a plugin may be compromised: the receiver trusts neither sizes nor contents, and no
 * call waits beyond its deadline.
 */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/deadline.h"

struct channel_header {
	uint32_t type; /* defined by the protocol */
	uint32_t size; /* bytes that follow */
};

/* A deadline that has passed: do not wait. */
#define CHANNEL_NOW (&(const struct deadline){ 0 })

/*
 * Type of the message that a process sends instead of an answer when a plugin fails in it, from a signal handler: a
 * struct channel_failure. channel_ask() then returns a number below -CHANNEL_FAILURE, which is no negative errno and
 * from which channel_failure() makes the struct.
 */
#define CHANNEL_FAILED UINT32_MAX
#define CHANNEL_FAILURE 4096
struct channel_failure {
	uint32_t failure;  /* a signal or an enum plugin_failure, below 256; 0: none */
	uint32_t callback; /* decoder_callback_name(), below 256 */
};
static inline struct channel_failure channel_failure(int code)
{
	uint32_t number = code < -CHANNEL_FAILURE ? (uint32_t)(-code - CHANNEL_FAILURE) : 0;
	return (struct channel_failure){ .failure = number % 256, .callback = number / 256 };
}

/* Limit on the number of parts of a message. */
#define CHANNEL_PARTS_MAX 8

/*
 * deadline: NULL if none. The functions return 0 or a negative errno: -ETIMEDOUT at the deadline, -EPIPE if the other
 * end is closed, -EMSGSIZE if the parts have more than UINT32_MAX bytes. Descriptors that are sent without being
 * expected are closed.
 */

/*
 * Sends a message. descriptor: sent along, still owned by the caller; -1 if none. Async-signal-safe without a deadline
 * or with CHANNEL_NOW. A socket of type SOCK_SEQPACKET sends all of it at once or nothing; any thread.
 */
int channel_send(int socket, uint32_t type, const struct iovec *parts, size_t count, int descriptor,
		 const struct deadline *deadline);
/* The same with a single part. */
int channel_send_bytes(int socket, uint32_t type, const void *bytes, size_t size, int descriptor,
		       const struct deadline *deadline);

/* Reads the header of the next message; its bytes are read with channel_read(). *descriptor: -1 if none was sent. */
int channel_receive(int socket, struct channel_header *header, int *descriptor, const struct deadline *deadline);
/*
 * Answers messages until the other end is closed. answer: reads the bytes, owns the descriptor, and returns 0 or a
 * negative errno. Returns that, as channel_receive(), or 0 at the end.
 */
int channel_serve(int socket,
		  int (*answer)(void *context, int socket, const struct channel_header *header, int descriptor),
		  void *context);
/* Reads exactly size bytes of the current message. */
int channel_read(int socket, void *bytes, size_t size, const struct deadline *deadline);
/* The same into new memory, with a NUL appended, which the caller frees even after a failure. Also -ENOMEM. */
int channel_read_new(int socket, uint64_t size, char **bytes, const struct deadline *deadline);
/*
 * Reads the next message of a SOCK_SEQPACKET socket: its header and at most size_max bytes. descriptor: as above, NULL
 * if none is expected. Returns -EBADMSG if it is longer, or has another length than its header.
 */
int channel_receive_packet(int socket, struct channel_header *packet, size_t size_max, int *descriptor,
			   const struct deadline *deadline);

/* The expected answer: a message of this type that begins with a struct. */
struct channel_answer {
	uint32_t type;
	void *head;
	size_t head_size;
	uint32_t rest_max; /* bytes that may follow the head */
	uint64_t rest;     /* result: those that are still unread */
	int *descriptor;   /* the one sent along, or -1; NULL if none is expected */
};
/* Waits until there is something to receive. */
int channel_wait(int socket, const struct deadline *deadline);
/* Reads the head of the answer. Returns -EPROTO if that is another message or longer. */
int channel_receive_answer(int socket, struct channel_answer *answer, const struct deadline *deadline);
/* Sends a request of size bytes and reads the head of the answer. Returns the same. */
int channel_ask(int socket, uint32_t type, const void *request, size_t size, int descriptor,
		struct channel_answer *answer, const struct deadline *deadline);

/* Returns a negative errno that another process sent; -EPROTO if the number is not an errno. */
static inline int channel_error(int32_t code)
{
	return code < 0 && code > -4096 ? code : -EPROTO;
}
