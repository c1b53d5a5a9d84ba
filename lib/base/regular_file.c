/* SPDX-License-Identifier: Apache-2.0 */
/* See regular_file.h. */
#include "base/regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/openat2.h>
#include "base/array.h"
#include "base/cleanup.h"

/* Bytes read at a time from a file of unknown size. */
#define READ_SIZE ((size_t)64 << 10)

int path_open(int root, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = { .flags = (uint64_t)(flags | O_CLOEXEC), .resolve = resolve };
	long descriptor = syscall(SYS_openat2, root, path, &how, sizeof how);
	return descriptor < 0 ? -errno : (int)descriptor;
}

int descriptor_reopen(int found)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/self/fd/%d", found);
	int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return descriptor < 0 ? -errno : descriptor;
}

int regular_file_reopen(int found, struct stat *status)
{
	if (fstat(found, status))
		return -errno;
	return S_ISREG(status->st_mode) ? descriptor_reopen(found) : -EINVAL;
}

int regular_file_open(int root, const char *path, int flags)
{
	struct stat status;
	CLEANUP_CLOSE int found = path_open(root >= 0 ? root : AT_FDCWD, path, O_PATH | flags,
					    RESOLVE_NO_MAGICLINKS | (root >= 0 ? (uint64_t)RESOLVE_IN_ROOT : 0));
	/*
	 * Linux before 5.6 and some containers lack the system call; without it another root cannot be searched safely.
	 */
	if ((found == -ENOSYS || found == -EPERM) && root < 0) {
		found = open(path, O_PATH | O_CLOEXEC | flags);
		if (found < 0)
			return -errno;
	}
	return found < 0 ? found : regular_file_reopen(found, &status);
}

int process_root_open(uint32_t pid)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%u/root", pid);
	int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root < 0 ? -errno : root;
}

ssize_t file_read_at(int descriptor, void *bytes, size_t size, uint64_t offset)
{
	size_t done = 0;
	while (done < size) {
		ssize_t count = pread(descriptor, (char *)bytes + done, size - done, (off_t)(offset + done));
		if (count < 0 && errno == EINTR)
			continue;
		if (count < 0)
			return -errno;
		if (!count)
			break;
		done += (size_t)count;
	}
	return (ssize_t)done;
}

int file_write(int descriptor, const void *bytes, size_t size)
{
	for (const char *at = bytes; size;) {
		ssize_t written = write(descriptor, at, size);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written ? -errno : -EIO;
		at += written;
		size -= (size_t)written;
	}
	return 0;
}

char *file_read_all(int descriptor, size_t size_max, size_t *size)
{
	CLEANUP_FREE char *bytes = NULL;
	size_t capacity = 0;
	ssize_t count = 1;
	for (*size = 0; count; *size += (size_t)count) {
		if (!array_grow((void **)&bytes, &capacity, *size + READ_SIZE, 1))
			return NULL;
		count = TEMP_FAILURE_RETRY(read(descriptor, bytes + *size, capacity - *size - 1));
		if (count < 0)
			return NULL;
		if ((size_t)count > size_max - *size) {
			errno = EFBIG;
			return NULL;
		}
	}
	bytes[*size] = '\0';
	return STEAL_POINTER(bytes);
}
