/* SPDX-License-Identifier: Apache-2.0 */
/* iaprof-broker: opens files for iaprof, one at a time, without reading them. */
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <linux/capability.h>

#include "base/cleanup.h"
#include "child/channel.h"
#include "child/child.h"
#include "child/privileges.h"
#include "symbolizer/broker/broker_message.h"
#include "symbolizer/broker/file_open.h"

/* Required to open files of another user's process: its path, its mappings, its root folder, and its user's ids. */
static const unsigned capabilities[] = { CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE, CAP_SETUID,
					 CAP_SETGID };

static int give_up_rights(void)
{
	if (geteuid() == 0 && setgroups(0, NULL) && errno != EPERM)
		return -errno;
	int code = privileges_keep(capabilities, sizeof capabilities / sizeof *capabilities, false);
	return code ? code : prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ? -errno : 0;
}

static int answer(void *context, int socket, const struct channel_header *header, int descriptor)
{
	CLEANUP_CLOSE int root = descriptor;
	CLEANUP_CLOSE int found = -EBADF;
	struct broker_open request;
	char path[PATH_MAX];
	if (header->type != BROKER_OPEN || header->size < sizeof request ||
	    header->size - sizeof request >= sizeof path)
		return -EPROTO;
	size_t length = header->size - sizeof request;
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

int main(void)
{
	if (give_up_rights() || channel_send_bytes(CHILD_CHANNEL, BROKER_READY, NULL, 0, -1, NULL))
		return EXIT_FAILURE;
	return channel_serve(CHILD_CHANNEL, answer, NULL) ? EXIT_FAILURE : EXIT_SUCCESS;
}
