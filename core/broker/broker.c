/* SPDX-License-Identifier: Apache-2.0 */
/* Asking the broker for files: see broker.h. */
#include "broker/broker.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/channel.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/helper.h"
#include "broker/broker_message.h"

struct broker {
	struct helper helper;
	bool has_answered; /* since it was started */
	int failure;       /* of the last start */
};

static char *const program[] = { BROKER_PROGRAM, NULL };

struct broker *broker_new(void)
{
	struct broker *broker = calloc(1, sizeof *broker);
	if (broker)
		broker->failure = helper_start(&broker->helper, program); /* ready when it is needed */
	return broker;
}

void broker_free(struct broker *broker)
{
	if (!broker)
		return;
	helper_stop(&broker->helper);
	free(broker);
}

/* Whether it waits for a processor, and not for a file: then the machine is busy, and nobody blocks it. */
static bool waits_for_processor(const struct broker *broker)
{
	char path[32], text[512];
	snprintf(path, sizeof path, "/proc/%d/stat", broker->helper.pid);
	CLEANUP_FCLOSE FILE *file = fopen(path, "re");
	const char *name_end = file && fgets(text, sizeof text, file) ? strrchr(text, ')') : NULL;
	return name_end && name_end[1] == ' ' && name_end[2] == 'R';
}

/* Waits for the answer, longer than to the deadline while the broker could not even begin. */
static int wait_for_answer(struct broker *broker, struct channel_header *header, int *descriptor, uint64_t deadline)
{
	uint64_t latest = clock_monotonic() + BROKER_TIMEOUT_BUSY;
	int code;
	while ((code = channel_receive(broker->helper.socket, header, descriptor, deadline)) == -ETIMEDOUT &&
	       deadline < latest && (!broker->has_answered || waits_for_processor(broker)))
		deadline += BROKER_TIMEOUT;
	return code;
}

static int receive(struct broker *broker, uint64_t deadline, struct file_identity *identity)
{
	struct channel_header header;
	struct broker_opened answer;
	int descriptor;
	int code = wait_for_answer(broker, &header, &descriptor, deadline);
	if (!code && (header.type != BROKER_OPENED || header.size != sizeof answer))
		code = -EPROTO;
	if (!code)
		code = channel_read(broker->helper.socket, &answer, sizeof answer, deadline);
	if (code) {
		if (descriptor >= 0)
			close(descriptor);
		helper_stop(&broker->helper);
		return code;
	}
	broker->has_answered = true;
	if (answer.code || descriptor < 0) {
		if (descriptor >= 0)
			close(descriptor);
		return channel_error(answer.code);
	}
	*identity = answer.identity;
	return descriptor;
}

int broker_open(struct broker *broker, const struct file_request *request, uint64_t deadline,
		struct file_identity *identity)
{
	uint64_t now = clock_monotonic();
	if (strlen(request->path) >= PATH_MAX)
		return -ENAMETOOLONG;
	if (now >= deadline)
		return -ETIMEDOUT;
	if (broker->helper.socket < 0 && broker->failure != -ENOENT) {
		broker->has_answered = false;
		broker->failure = helper_start(&broker->helper, program);
	}
	if (broker->helper.socket < 0)
		return -ENOSYS; /* the error of the program is none of the file */
	struct broker_open open = { .user = request->user,
				    .group = request->group,
				    .follow_links = request->follow_links,
				    .pid = request->pid,
				    .has_root = request->root >= 0,
				    .has_device = request->pid != 0,
				    .device_major = request->device_major,
				    .device_minor = request->device_minor,
				    .user_mounts = request->user_mounts };
	struct iovec parts[] = { { .iov_base = &open, .iov_len = sizeof open },
				 { .iov_base = (void *)request->path, .iov_len = strlen(request->path) } };
	uint64_t latest = now + BROKER_TIMEOUT;
	deadline = deadline < latest ? deadline : latest;
	int code = channel_send(broker->helper.socket, BROKER_OPEN, parts, 2, request->root, deadline);
	if (!code)
		return receive(broker, deadline, identity);
	helper_stop(&broker->helper);
	return code;
}

uint64_t broker_cpu_time(const struct broker *broker)
{
	return helper_cpu_time(&broker->helper);
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
	case ELOOP:
		return "a symbolic link";
	case EDQUOT:
		return "its user's file systems did not answer before";
	case ENOSYS:
		return "iaprof-broker cannot be started";
	default:
		return strerror(-code);
	}
}
