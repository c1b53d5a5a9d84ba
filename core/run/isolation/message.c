/* SPDX-License-Identifier: Apache-2.0 */
/* See message.h. */
#include "run/isolation/message.h"

#include <errno.h>
#include <string.h>

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

int message_send(int socket, uint32_t kind, int32_t value, uint32_t number, const void *bytes, size_t size,
		 const struct deadline *deadline)
{
	struct message_head head = { value, number };
	const struct iovec parts[] = { { &head, sizeof head }, { (void *)bytes, size } };
	return size > MESSAGE_BYTES_MAX ? -E2BIG : channel_send(socket, kind, parts, 2, -1, deadline);
}

int message_send_file(int socket, uint32_t kind, int descriptor, const struct deadline *deadline)
{
	const struct message_head head = { 0 };
	return channel_send_bytes(socket, kind, &head, sizeof head, descriptor, deadline);
}

int message_receive(int socket, struct message *message, int *descriptor, const struct deadline *deadline)
{
	int result = channel_receive_packet(socket, &message->header, sizeof message->head + MESSAGE_BYTES_MAX,
					    descriptor, deadline);
	if (!result && message->header.size < sizeof message->head)
		result = -EBADMSG;
	message->size = result ? 0 : message->header.size - sizeof message->head;
	message->bytes[message->size] = '\0';
	return result;
}
