/* SPDX-License-Identifier: Apache-2.0 */
/* See remote_file.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "remote_file.h"

#define SEAL_EXECUTABLE 0x20 /* F_SEAL_EXEC, since Linux 6.3 */

/*
 * Another thread of the process may have replaced the descriptor: writing with our rights to any file that it can open
 * for reading would be fatal. Only an empty file that can be sealed is accepted, which no file with a name is.
 */
static int file_open(pid_t thread, int remote)
{
	char path[64];
	struct stat status;
	struct statfs system;

	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)thread, remote);
	/* Not opened yet: that may wait, or have an effect on a device. */
	CLEANUP_CLOSE int place = open(path, O_PATH | O_CLOEXEC);
	if (place < 0)
		return -errno;
	if (fstat(place, &status) != 0 || fstatfs(place, &system) != 0)
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_nlink != 0 || status.st_size != 0 || system.f_type != TMPFS_MAGIC)
		return -EPERM;
	snprintf(path, sizeof path, "/proc/self/fd/%d", place);
	int descriptor = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (descriptor < 0)
		return -errno;
	/* vm.memfd_noexec may have set the seal of executable files. */
	if ((fcntl(descriptor, F_GET_SEALS) & ~SEAL_EXECUTABLE) == 0)
		return descriptor;
	close(descriptor);
	return -EPERM;
}

int remote_file_fill(pid_t thread, int remote, int source)
{
	struct stat status;
	off_t offset = 0;

	CLEANUP_CLOSE int descriptor = file_open(thread, remote);
	if (descriptor < 0)
		return descriptor;
	if (fstat(source, &status) != 0)
		return -errno;
	while (offset < status.st_size) {
		ssize_t count = sendfile(descriptor, source, &offset, (size_t)(status.st_size - offset));
		if (count <= 0)
			return count < 0 ? -errno : -EIO;
	}
	return fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0 ? 0
													     : -errno;
}
