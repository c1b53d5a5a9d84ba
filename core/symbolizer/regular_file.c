/* SPDX-License-Identifier: Apache-2.0 */
/* Opening files that other users chose: see regular_file.h. */
#include "symbolizer/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/openat2.h>
#include "base/cleanup.h"

/* Opens for reading what an O_PATH descriptor stands for: looking at it first has no effect on a device or a FIFO. */
static int reopen(int path_descriptor)
{
	struct stat status;
	if (fstat(path_descriptor, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", path_descriptor);
	int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return descriptor < 0 ? -errno : descriptor;
}

int regular_file_open(int root, const char *path, int flags)
{
	struct open_how how = { .flags = (uint64_t)(O_PATH | O_CLOEXEC | flags),
				.resolve = RESOLVE_NO_MAGICLINKS | (root >= 0 ? (uint64_t)RESOLVE_IN_ROOT : 0) };
	CLEANUP_CLOSE int found = (int)syscall(SYS_openat2, root >= 0 ? root : AT_FDCWD, path, &how, sizeof how);
	/* Linux before 5.6 and some containers lack the call; another root cannot be searched safely without it. */
	if (found < 0 && (errno == ENOSYS || errno == EPERM) && root < 0)
		found = open(path, O_PATH | O_CLOEXEC | flags);
	return found < 0 ? -errno : reopen(found);
}

int regular_file_open_proc(uint32_t pid, const char *name)
{
	char path[128];
	snprintf(path, sizeof path, "/proc/%u/%s", pid, name);
	CLEANUP_CLOSE int found = open(path, O_PATH | O_CLOEXEC);
	return found < 0 ? -errno : reopen(found);
}

int process_root_open(uint32_t pid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%u/root", pid);
	int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root < 0 ? -errno : root;
}
