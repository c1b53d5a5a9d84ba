/* SPDX-License-Identifier: Apache-2.0 */
/* See broker.h. */
#include "symbolizer/broker/broker.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/worker/channel.h"
#include "symbolizer/worker/helper.h"
#include "symbolizer/broker/broker_message.h"

struct broker {
	struct helper helper;
	struct delayed_process delayed;
	bool is_ready;
	int failure; /* result of the last start */
};

static char *const program[] = { BROKER_PROGRAM, NULL };
static void start(struct broker *broker)
{
	broker->is_ready = false;
	broker->failure = helper_start(&broker->helper, program);
	broker->delayed = (struct delayed_process){ .pid = broker->helper.pid };
}

struct broker *broker_new(void)
{
	struct broker *broker = calloc(1, sizeof *broker);
	if (broker)
		start(broker); /* started now to be ready when needed */
	return broker;
}

void broker_free(struct broker *broker)
{
	if (!broker)
		return;
	helper_stop(&broker->helper);
	free(broker);
}

static int receive(struct broker *broker, const struct deadline *deadline, struct file_identity *identity)
{
	struct channel_header header;
	struct broker_opened answer;
	int descriptor;
	int code = channel_receive(broker->helper.socket, &header, &descriptor, deadline);
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
	if (answer.code || descriptor < 0) {
		if (descriptor >= 0)
			close(descriptor);
		return channel_error(answer.code);
	}
	*identity = answer.identity;
	return descriptor;
}

/* A starting broker has not accessed other users' files yet, so its time limit is longer than theirs. */
static int wait_until_ready(struct broker *broker)
{
	if (broker->is_ready)
		return 0;
	struct deadline deadline = deadline_make(NULL, BROKER_TIMEOUT_START);
	struct channel_header header;
	int unexpected;
	int code = channel_receive(broker->helper.socket, &header, &unexpected, &deadline);
	if (unexpected >= 0)
		close(unexpected);
	if (!code && (header.type != BROKER_READY || header.size))
		code = -EPROTO;
	broker->is_ready = !code;
	return code;
}

int broker_open(struct broker *broker, const struct file_request *request, const struct deadline *deadline,
		struct file_identity *identity)
{
	if (strlen(request->path) >= PATH_MAX)
		return -ENAMETOOLONG;
	if (deadline_has_passed(deadline))
		return -ETIMEDOUT;
	if (broker->helper.socket < 0 && broker->failure != -ENOENT)
		start(broker);
	if (broker->helper.socket < 0)
		return -ENOSYS; /* an error of the broker is not an error of the file */
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
	int code = wait_until_ready(broker);
	struct deadline own = deadline_make(deadline->delay, BROKER_TIMEOUT);
	own = deadline_earlier(&own, deadline);
	own.helper = &broker->delayed;
	if (!code)
		code = channel_send(broker->helper.socket, BROKER_OPEN, parts, 2, request->root, &own);
	if (!code)
		return receive(broker, &own, identity);
	helper_stop(&broker->helper);
	return code;
}

uint64_t broker_cpu_time(struct broker *broker)
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
