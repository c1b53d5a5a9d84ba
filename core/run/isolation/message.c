/* SPDX-License-Identifier: Apache-2.0 */
/* Sends and receives packets: see message.h. */
#include "run/isolation/message.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define HEADER_SIZE offsetof(struct message, bytes)

static const char *const names[ISOLATED_CALLBACK_COUNT] = {
	[ISOLATED_NONE] = "",
	[ISOLATED_CONFIGURE] = "configure",
	[ISOLATED_PROBE] = "probe",
	[ISOLATED_CHECK] = "check",
	[ISOLATED_PREPARE] = "prepare",
	[ISOLATED_START] = "start",
	[ISOLATED_STOP] = "stop",
	[ISOLATED_FINISH] = "finish",
	[ISOLATED_DESTROY] = "destroy",
	[ISOLATED_THREAD] = "thread",
	[ISOLATED_DESCRIPTOR] = "descriptor",
	[ISOLATED_TIMER] = "timer",
	[ISOLATED_MAPPED_FILE] = "mapped file",
	[ISOLATED_UNWIND] = "unwind",
	[ISOLATED_RECORDS] = "records",
	[ISOLATED_PROFILE] = "profile",
};

const char *isolated_callback_name(uint32_t callback)
{
	return names[callback < ISOLATED_CALLBACK_COUNT ? callback : ISOLATED_NONE];
}

enum isolated_callback isolated_callback_find(const char *name)
{
	for (uint32_t i = 1; name && i < ISOLATED_CALLBACK_COUNT; i++)
		if (!strcmp(names[i], name))
			return (enum isolated_callback)i;
	return ISOLATED_NONE;
}

static int send_packet(int socket, const struct msghdr *packet, int flags)
{
	ssize_t sent;
	do
		sent = sendmsg(socket, packet, flags | MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

int message_send(int socket, uint32_t kind, int32_t value, uint32_t number, const void *bytes, size_t size, int flags)
{
	struct {
		uint32_t kind;
		int32_t value;
		uint32_t number, size;
	} header = { kind, value, number, (uint32_t)size };
	_Static_assert(sizeof header == HEADER_SIZE, "the header of struct message");
	if (size > MESSAGE_BYTES_MAX)
		return -E2BIG;
	struct iovec parts[] = { { &header, sizeof header }, { (void *)bytes, size } };
	const struct msghdr packet = { .msg_iov = parts, .msg_iovlen = size ? 2 : 1 };
	return send_packet(socket, &packet, flags);
}

int message_send_file(int socket, uint32_t kind, int descriptor, int flags)
{
	uint32_t header[] = { kind, 0, 0, 0 };
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof descriptor)];
	} control = { 0 };
	struct iovec part = { header, sizeof header };
	struct msghdr packet = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control
	};
	control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof descriptor),
					   .cmsg_level = SOL_SOCKET,
					   .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&control.header), &descriptor, sizeof descriptor);
	return send_packet(socket, &packet, flags);
}

int message_receive(int socket, struct message *message, int *descriptor, int flags)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	if (descriptor)
		*descriptor = -1;
	struct iovec part = { message, HEADER_SIZE + MESSAGE_BYTES_MAX };
	struct msghdr packet = { .msg_iov = &part, .msg_iovlen = 1 };
	if (descriptor) {
		packet.msg_control = &control;
		packet.msg_controllen = sizeof control;
	}
	ssize_t received;
	do
		received = recvmsg(socket, &packet, flags | MSG_CMSG_CLOEXEC);
	/* A process that ended without reading everything resets the connection once; what it has sent follows. */
	while (received < 0 && (errno == EINTR || errno == ECONNRESET));
	if (received <= 0)
		return received ? -errno : -EPIPE;
	if ((size_t)received < HEADER_SIZE || packet.msg_flags & MSG_TRUNC ||
	    message->size != (size_t)received - HEADER_SIZE)
		return -EBADMSG;
	const struct cmsghdr *header = descriptor ? CMSG_FIRSTHDR(&packet) : NULL;
	if (header && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof *descriptor))
		memcpy(descriptor, CMSG_DATA(header), sizeof *descriptor);
	message->bytes[message->size] = '\0';
	return 0;
}
