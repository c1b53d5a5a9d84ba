/* SPDX-License-Identifier: Apache-2.0 */
/* See broker.h. */
#include "symbolizer/broker/broker.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child/channel.h"
#include "symbolizer/broker/broker_message.h"
#include "plugin/helper.h"

struct broker {
	struct child child;
	bool is_ready;
	int failure; /* result of the last start */
};

static void start(struct broker *broker)
{
	static char *const arguments[] = { BROKER_PROGRAM, NULL };
	broker->is_ready = false;
	broker->failure = helper_start(&broker->child, arguments);
}

struct broker *broker_new(void)
{
	struct broker *broker = calloc(1, sizeof *broker);
	if (!broker)
		return NULL;
	broker->child = (struct child)CHILD_NONE;
	start(broker); /* started now to be ready when needed */
	return broker;
}

void broker_free(struct broker *broker)
{
	if (broker)
		child_close(&broker->child);
	free(broker);
}

/* A starting broker has not accessed other users' files yet, so its time limit is longer than theirs. */
static int wait_until_ready(struct broker *broker)
{
	struct deadline deadline = deadline_make(NULL, BROKER_TIMEOUT_START);
	struct channel_answer ready = { .type = BROKER_READY };
	int code = broker->is_ready ? 0 : channel_receive_answer(broker->child.channel, &ready, &deadline);
	broker->is_ready = !code;
	return code;
}

/* Sends a request, with a path that is not too long. Returns a descriptor and sets identity, or a negative errno. */
static int request_file(struct broker *broker, const struct broker_open *open, const char *path, int root,
			const struct deadline *deadline, struct file_identity *identity)
{
	if (deadline_has_passed(deadline))
		return -ETIMEDOUT;
	if (broker->child.channel < 0 && broker->failure != -ENOENT)
		start(broker);
	if (broker->child.channel < 0)
		return -ENOSYS; /* an error of the broker is not an error of the file */
	struct iovec parts[] = { { .iov_base = (void *)open, .iov_len = sizeof *open },
				 { .iov_base = (void *)path, .iov_len = strlen(path) } };
	int code = wait_until_ready(broker);
	struct deadline own = deadline_make(deadline->delay, BROKER_TIMEOUT);
	own = deadline_earlier(&own, deadline);
	own.helper = &broker->child.delayed;
	struct broker_opened opened;
	int descriptor = -1;
	struct channel_answer answer = {
		.type = BROKER_OPENED, .head = &opened, .head_size = sizeof opened, .descriptor = &descriptor
	};
	if (!code)
		code = channel_send(broker->child.channel, BROKER_OPEN, parts, 2, root, &own);
	if (!code)
		code = channel_receive_answer(broker->child.channel, &answer, &own);
	if (code) {
		child_close(&broker->child);
		return code;
	}
	if (!opened.code && descriptor >= 0) {
		*identity = opened.identity;
		return descriptor;
	}
	if (descriptor >= 0)
		close(descriptor);
	return channel_error(opened.code);
}

int broker_open(struct broker *broker, const struct file_request *request, const struct deadline *deadline,
		struct file_identity *identity)
{
	if (strlen(request->path) >= PATH_MAX)
		return -ENAMETOOLONG;
	struct broker_open open = { .user = request->user,
				    .group = request->group,
				    .follow_links = request->follow_links,
				    .pid = request->pid,
				    .has_root = request->root >= 0,
				    .has_device = request->pid != 0,
				    .device_major = request->device_major,
				    .device_minor = request->device_minor,
				    .user_mounts = request->user_mounts };
	return request_file(broker, &open, request->path, request->root, deadline, identity);
}

int broker_open_memory(struct broker *broker, uint32_t pid, const struct deadline *deadline)
{
	struct file_identity none;
	struct broker_open open = { .user = BROKER_OWN_RIGHTS, .group = BROKER_OWN_RIGHTS, .pid = pid, .is_memory = 1 };
	return request_file(broker, &open, "", -1, deadline, &none);
}

uint64_t broker_cpu_time(struct broker *broker)
{
	return child_cpu_time(&broker->child);
}

const char *broker_reason(int code)
{
	switch (-code) {
	case EINVAL:
		return "not a regular file";
	case EOPNOTSUPP:
		return "not on an ordinary file system";
	case ETIMEDOUT:
		return "its file system did not answer in time";
	case ESRCH:
		return "its process has ended";
	case ELOOP:
		return "a symbolic link";
	case EDQUOT:
		return "file systems of its user did not answer earlier";
	case ENOSYS:
		return "iaprof-broker cannot be started";
	default:
		return strerror(-code);
	}
}
