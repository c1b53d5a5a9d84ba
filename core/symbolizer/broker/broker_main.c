/* SPDX-License-Identifier: Apache-2.0 */
/* iaprof-broker: opens files for iaprof, one at a time, without reading them. */
#include <cap-ng.h>
#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "symbolizer/worker/channel.h"
#include "symbolizer/worker/helper.h"
#include "symbolizer/broker/broker_message.h"
#include "symbolizer/broker/file_open.h"

/* Required to open files of another user's process: its path, its mappings, its root folder, and its user's ids. */
static const unsigned capabilities[] = { CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE, CAP_SETUID,
					 CAP_SETGID };

static int give_up_rights(void)
{
	capng_get_caps_process();
	bool had[sizeof capabilities / sizeof *capabilities];
	for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++)
		had[i] = capng_have_capability(CAPNG_PERMITTED, capabilities[i]);
	if (geteuid() == 0 && setgroups(0, NULL) && errno != EPERM)
		return -errno;
	capng_clear(CAPNG_SELECT_BOTH);
	for (size_t i = 0; i < sizeof capabilities / sizeof *capabilities; i++)
		if (had[i])
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, capabilities[i]);
	if (capng_apply(CAPNG_SELECT_CAPS))
		return -EPERM;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ? -errno : 0;
}

static int answer(const struct channel_header *header, int root)
{
	struct broker_open request;
	char path[PATH_MAX];
	if (header->type != BROKER_OPEN || header->size < sizeof request ||
	    header->size - sizeof request >= sizeof path)
		return -EPROTO;
	size_t length = header->size - sizeof request;
	int code = channel_read(HELPER_SOCKET, &request, sizeof request, NULL);
	if (!code)
		code = channel_read(HELPER_SOCKET, path, length, NULL);
	if (code)
		return code;
	path[length] = '\0';
	struct broker_opened opened = { 0 };
	int descriptor = -EBADF;
	if (!request.has_root || root >= 0)
		descriptor = file_open(&request, root, path, &opened.identity);
	opened.code = descriptor < 0 ? descriptor : 0;
	struct iovec part = { .iov_base = &opened, .iov_len = sizeof opened };
	code = channel_send(HELPER_SOCKET, BROKER_OPENED, &part, 1, descriptor, NULL);
	if (descriptor >= 0)
		close(descriptor);
	return code;
}

int main(void)
{
	struct channel_header header;
	if (give_up_rights() || channel_send(HELPER_SOCKET, BROKER_READY, NULL, 0, -1, NULL))
		return EXIT_FAILURE;
	for (int code = 0, root; !code && !channel_receive(HELPER_SOCKET, &header, &root, NULL);) {
		code = answer(&header, root);
		if (root >= 0)
			close(root);
	}
	return EXIT_SUCCESS;
}
