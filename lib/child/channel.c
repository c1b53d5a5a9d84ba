/* SPDX-License-Identifier: Apache-2.0 */
/* See channel.h. */
#include "child/channel.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* Limit on a single wait, in ns: the timeout of poll() is an int. */
#define WAIT_MAX (3600 * NANOSECONDS_PER_SECOND)
/*
 * After a wait shorter than this, in ns, run delay is not read, because that would cost more; the next reading includes
 * it.
 */
#define WAIT_SHORT UINT64_C(1000000)

/* Waits until the socket is ready for events. Returns 0, -ETIMEDOUT or another negative errno. */
static int wait_for(int socket, short events, const struct deadline *deadline)
{
	uint64_t begin = clock_monotonic();
	for (;;) {
		uint64_t left = deadline ? deadline_left(deadline) : UINT64_MAX;
		if (!left)
			return -ETIMEDOUT;
		int timeout = left == UINT64_MAX ? -1 : (int)((left < WAIT_MAX ? left : WAIT_MAX) / 1000000 + 1);
		struct pollfd entry = { .fd = socket, .events = events };
		int ready = poll(&entry, 1, timeout);
		if (ready > 0) {
			if (deadline && clock_monotonic() - begin > WAIT_SHORT)
				deadline_note_helper(deadline);
			return 0;
		}
		if (ready < 0 && errno != EINTR)
			return -errno;
	}
}

/* Returns whether the last call would have blocked. */
static bool has_to_wait(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK;
}

/* The control data that carries one descriptor. */
union descriptor_control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

static void attach(struct msghdr *message, union descriptor_control *control, int descriptor)
{
	memset(control, 0, sizeof *control);
	message->msg_control = control->bytes;
	message->msg_controllen = sizeof control->bytes;
	struct cmsghdr *header = CMSG_FIRSTHDR(message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof descriptor);
	memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
}

/* Removes bytes that were sent or received from the front of the parts. */
static void advance(struct msghdr *message, size_t sent)
{
	while (message->msg_iovlen && sent >= message->msg_iov->iov_len) {
		sent -= message->msg_iov->iov_len;
		message->msg_iov++;
		message->msg_iovlen--;
	}
	if (!message->msg_iovlen)
		return;
	message->msg_iov->iov_base = (char *)message->msg_iov->iov_base + sent;
	message->msg_iov->iov_len -= sent;
}

int channel_send(int socket, uint32_t type, const struct iovec *parts, size_t count, int descriptor,
		 const struct deadline *deadline)
{
	struct iovec vector[CHANNEL_PARTS_MAX + 1];
	uint64_t size = 0;
	if (count > CHANNEL_PARTS_MAX)
		return -EINVAL;
	for (size_t i = 0; i < count; i++) {
		vector[i + 1] = parts[i];
		size += parts[i].iov_len;
	}
	if (size > UINT32_MAX)
		return -EMSGSIZE;
	struct channel_header header = { .type = type, .size = (uint32_t)size };
	vector[0] = (struct iovec){ .iov_base = &header, .iov_len = sizeof header };
	struct msghdr message = { .msg_iov = vector, .msg_iovlen = count + 1 };
	union descriptor_control control;
	if (descriptor >= 0)
		attach(&message, &control, descriptor);
	while (message.msg_iovlen) {
		ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && !has_to_wait())
			return errno == ECONNRESET ? -EPIPE : -errno;
		if (sent < 0) {
			int result = wait_for(socket, POLLOUT, deadline);
			if (result)
				return result;
			continue;
		}
		message.msg_control = NULL;
		message.msg_controllen = 0;
		advance(&message, (size_t)sent);
	}
	return 0;
}

/* Returns the descriptor that came with a message, or -1; closes further ones. */
static int detach(struct msghdr *message)
{
	int found = -1;
	for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < count; i++) {
			int descriptor;
			memcpy(&descriptor, CMSG_DATA(header) + i * sizeof descriptor, sizeof descriptor);
			if (found < 0)
				found = descriptor;
			else
				close(descriptor);
		}
	}
	return found;
}

/* Receives a part of the message, and the descriptor that came with it unless descriptor is NULL. */
static ssize_t receive_some(int socket, struct msghdr *message, int *descriptor, const struct deadline *deadline)
{
	/* Waits in poll() because recvmsg() would wake up whenever the other end reads earlier data. */
	for (;;) {
		union descriptor_control control;
		message->msg_control = descriptor ? control.bytes : NULL;
		message->msg_controllen = descriptor ? sizeof control.bytes : 0;
		ssize_t received = recvmsg(socket, message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		/* A process that ended without reading everything resets the channel once; what it has sent follows. */
		if (received < 0 && (errno == EINTR || errno == ECONNRESET))
			continue;
		if (received < 0 && has_to_wait()) {
			int result = wait_for(socket, POLLIN, deadline);
			if (result)
				return result;
			continue;
		}
		if (received < 0)
			return -errno;
		if (received && descriptor)
			*descriptor = detach(message);
		return received ? received : -EPIPE;
	}
}

/* Fills all parts; the descriptor that came with the first byte is stored unless descriptor is NULL. */
static int receive_parts(int socket, struct msghdr *message, int *descriptor, const struct deadline *deadline)
{
	for (advance(message, 0); message->msg_iovlen; descriptor = NULL) {
		ssize_t received = receive_some(socket, message, descriptor, deadline);
		if (received < 0)
			return (int)received;
		advance(message, (size_t)received);
	}
	return 0;
}

int channel_read(int socket, void *bytes, size_t size, const struct deadline *deadline)
{
	struct iovec part = { .iov_base = bytes, .iov_len = size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	return receive_parts(socket, &message, NULL, deadline);
}

int channel_read_new(int socket, uint64_t size, char **bytes, const struct deadline *deadline)
{
	*bytes = malloc(size + 1);
	if (!*bytes)
		return -ENOMEM;
	(*bytes)[size] = '\0';
	return channel_read(socket, *bytes, size, deadline);
}

/* Closes a descriptor that came with a message that is refused. Returns the code. */
static int refuse(int *descriptor, int code)
{
	if (descriptor && *descriptor >= 0)
		close(STEAL_DESCRIPTOR(*descriptor));
	return code;
}

int channel_receive(int socket, struct channel_header *header, int *descriptor, const struct deadline *deadline)
{
	struct iovec part = { .iov_base = header, .iov_len = sizeof *header };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	*descriptor = -1;
	int result = receive_parts(socket, &message, descriptor, deadline);
	return result ? refuse(descriptor, result) : 0;
}

int channel_serve(int socket,
		  int (*answer)(void *context, int socket, const struct channel_header *header, int descriptor),
		  void *context)
{
	struct channel_header header;
	for (int code = 0, descriptor;;) {
		code = channel_receive(socket, &header, &descriptor, NULL);
		if (code)
			return code == -EPIPE ? 0 : code;
		code = answer(context, socket, &header, descriptor);
		if (code)
			return code;
	}
}

int channel_receive_packet(int socket, struct channel_header *packet, size_t size_max, int *descriptor,
			   const struct deadline *deadline)
{
	struct iovec part = { .iov_base = packet, .iov_len = sizeof *packet + size_max };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	if (descriptor)
		*descriptor = -1;
	ssize_t received = receive_some(socket, &message, descriptor, deadline);
	if (received < 0)
		return (int)received;
	bool is_whole = (size_t)received >= sizeof *packet && !(message.msg_flags & MSG_TRUNC) &&
			packet->size == (size_t)received - sizeof *packet;
	return is_whole ? 0 : refuse(descriptor, -EBADMSG);
}

int channel_wait(int socket, const struct deadline *deadline)
{
	return wait_for(socket, POLLIN, deadline);
}

int channel_receive_answer(int socket, struct channel_answer *answer, const struct deadline *deadline)
{
	struct channel_header header = { 0 };
	struct iovec expected[] = { { .iov_base = &header, .iov_len = sizeof header },
				    { .iov_base = answer->head, .iov_len = answer->head_size } };
	struct msghdr message = { .msg_iov = expected, .msg_iovlen = 2 };
	if (answer->head_size)
		memset(answer->head, 0, answer->head_size);
	if (answer->descriptor)
		*answer->descriptor = -1;
	int code = receive_parts(socket, &message, answer->descriptor, deadline);
	struct channel_failure failure = { 0 };
	if (header.type == CHANNEL_FAILED && header.size == sizeof failure && answer->head_size >= sizeof failure)
		memcpy(&failure, answer->head, sizeof failure);
	if (failure.failure && failure.failure < 256 && failure.callback < 256)
		code = -(int)(CHANNEL_FAILURE + failure.failure + 256 * failure.callback);
	if (!code && (header.type != answer->type || header.size < answer->head_size ||
		      header.size - answer->head_size > answer->rest_max))
		code = -EPROTO;
	answer->rest = code ? 0 : header.size - answer->head_size;
	return code ? refuse(answer->descriptor, code) : 0;
}

int channel_send_bytes(int socket, uint32_t type, const void *bytes, size_t size, int descriptor,
		       const struct deadline *deadline)
{
	const struct iovec part = { .iov_base = (void *)bytes, .iov_len = size };
	return channel_send(socket, type, &part, 1, descriptor, deadline);
}

int channel_ask(int socket, uint32_t type, const void *request, size_t size, int descriptor,
		struct channel_answer *answer, const struct deadline *deadline)
{
	int code = channel_send_bytes(socket, type, request, size, descriptor, deadline);
	return code ? code : channel_receive_answer(socket, answer, deadline);
}
