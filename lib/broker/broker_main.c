/* SPDX-License-Identifier: Apache-2.0 */
/* iaprof-broker: opens files for iaprof, without reading them, and reads processes. One request at a time. */
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdalign.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <linux/capability.h>

#include "base/cleanup.h"
#include "child/channel.h"
#include "child/child.h"
#include "child/privileges.h"
#include "broker/broker_message.h"
#include "broker/file_open.h"
#include "broker/target_read.h"

/* Required for another user's process: its files, its mappings, its memory, its root folder, and its user's ids. */
static const unsigned capabilities[] = { CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE, CAP_SETUID,
					 CAP_SETGID };

static int give_up_rights(void)
{
	if (geteuid() == 0 && setgroups(0, NULL) && errno != EPERM)
		return -errno;
	int code = privileges_keep(capabilities, sizeof capabilities / sizeof *capabilities, false);
	return code ? code : prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ? -errno : 0;
}

static int answer_open(int socket, size_t size, int root)
{
	CLEANUP_CLOSE int found = -EBADF;
	struct broker_open request;
	char path[PATH_MAX];
	if (size < sizeof request || size - sizeof request >= sizeof path)
		return -EPROTO;
	size_t length = size - sizeof request;
	int code = channel_read(socket, &request, sizeof request, NULL);
	if (!code)
		code = channel_read(socket, path, length, NULL);
	if (code)
		return code;
	path[length] = '\0';
	struct broker_opened opened = { 0 };
	if (!request.has_root || root >= 0)
		found = file_open(&request, root, path, &opened.identity);
	opened.code = found < 0 ? found : 0;
	return channel_send_bytes(socket, BROKER_OPENED, &opened, sizeof opened, found, NULL);
}

struct service {
	struct target_file file;
	alignas(8) char list[BROKER_BYTES_MAX];
	alignas(8) char bytes[BROKER_BYTES_MAX];
};

static int answer_read(struct service *service, int socket, size_t size, int descriptor)
{
	struct broker_read request;
	if (size < sizeof request || size - sizeof request > sizeof service->list)
		return -EPROTO;
	size_t list_size = size - sizeof request;
	int code = channel_read(socket, &request, sizeof request, NULL);
	if (!code)
		code = channel_read(socket, service->list, list_size, NULL);
	if (code)
		return code;
	ssize_t count = target_read(&service->file, &request, service->list, list_size, descriptor, service->bytes);
	struct broker_bytes head = { .code = count < 0 ? (int32_t)count : 0 };
	const struct iovec parts[] = { { &head, sizeof head }, { service->bytes, count < 0 ? 0 : (size_t)count } };
	return channel_send(socket, BROKER_BYTES, parts, 2, -1, NULL);
}

static int answer(void *context, int socket, const struct channel_header *header, int descriptor)
{
	CLEANUP_CLOSE int sent = descriptor;
	switch (header->type) {
	case BROKER_OPEN:
		return answer_open(socket, header->size, sent);
	case BROKER_READ:
		return answer_read(context, socket, header->size, sent);
	default:
		return -EPROTO;
	}
}

int main(void)
{
	if (give_up_rights() || channel_send_bytes(CHILD_CHANNEL, BROKER_READY, NULL, 0, -1, NULL))
		return EXIT_FAILURE;
	static struct service service = { .file = { .descriptor = -1 } };
	return channel_serve(CHILD_CHANNEL, answer, &service) ? EXIT_FAILURE : EXIT_SUCCESS;
}
