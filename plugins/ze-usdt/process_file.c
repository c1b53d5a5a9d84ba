/* SPDX-License-Identifier: Apache-2.0 */
/* See process_file.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/openat2.h>
#include "process_file.h"

#define PATH_SIZE 4096u

/* glibc has no openat2() before 2.43. */
static int path_open(int root, const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	long descriptor = syscall(SYS_openat2, root, path, &how, sizeof how);
	return descriptor < 0 ? -errno : (int)descriptor;
}

static int root_open(uint32_t process)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/root", process);
	int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root >= 0)
		return root;
	return errno == ENOENT ? -ESRCH : -errno;
}

/* Opens what an O_PATH descriptor refers to, which it closes, for reading: only now, as opening a FIFO or a device acts
 * on it. */
static int descriptor_open(int place, struct stat *status)
{
	int result;

	if (fstat(place, status) != 0) {
		result = -errno;
	} else if (!S_ISREG(status->st_mode)) {
		result = S_ISDIR(status->st_mode) ? -EISDIR : S_ISLNK(status->st_mode) ? -ELOOP : -EINVAL;
	} else {
		char path[64];
		snprintf(path, sizeof path, "/proc/self/fd/%d", place);
		result = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		if (result < 0)
			result = -errno;
	}
	close(place);
	return result;
}

int process_file_open(uint32_t process, const char *path, struct stat *status)
{
	if (path[0] != '/')
		return -EINVAL;
	int root = root_open(process);
	if (root < 0)
		return root;
	int place = path_open(root, path, O_PATH);
	close(root);
	return place < 0 ? place : descriptor_open(place, status);
}

int process_file_open_mapped(uint32_t process, uint64_t start, uint64_t length, struct stat *status)
{
	char path[96];
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, process, start, start + length);
	int place = open(path, O_PATH | O_CLOEXEC);
	return place < 0 ? -errno : descriptor_open(place, status);
}

int process_folder_open(uint32_t process, const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_SIZE];

	if (!slash || (size_t)(slash - path) + 2 > sizeof folder)
		return -ENAMETOOLONG;
	snprintf(folder, sizeof folder, "%.*s", (int)(slash - path) + 1, path);
	int root = root_open(process);
	if (root < 0)
		return root;
	int place = path_open(root, folder, O_PATH | O_DIRECTORY);
	close(root);
	return place;
}

/* The number of the memory page that a mapping shows, 0 when it is not known. */
static uint64_t page_frame(int pagemap, const void *mapped)
{
	uint64_t entry = 0;
	off_t offset = (off_t)((uintptr_t)mapped / (uintptr_t)sysconf(_SC_PAGESIZE) * sizeof entry);

	if (pread(pagemap, &entry, sizeof entry, offset) != (ssize_t)sizeof entry || !(entry >> 63))
		return 0;
	return entry & ((UINT64_C(1) << 55) - 1); /* Documentation/admin-guide/mm/pagemap.rst */
}

/* Whether they share their pages. */
static bool files_are_same(int left, int right)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *a = mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_POPULATE, left, 0);
	void *b = mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_POPULATE, right, 0);
	int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	bool shared = false;

	if (a != MAP_FAILED && b != MAP_FAILED && pagemap >= 0) {
		uint64_t frame = page_frame(pagemap, a);
		shared = frame && frame == page_frame(pagemap, b);
	}
	if (pagemap >= 0)
		close(pagemap);
	if (a != MAP_FAILED)
		munmap(a, size);
	if (b != MAP_FAILED)
		munmap(b, size);
	return shared;
}

bool process_file_is(const struct process_file *known, int descriptor, const struct stat *status)
{
	if (known->status.st_ino != status->st_ino)
		return false;
	return known->status.st_dev == status->st_dev ||
	       (known->status.st_size == status->st_size && known->status.st_mtim.tv_sec == status->st_mtim.tv_sec &&
		known->descriptor >= 0 && files_are_same(known->descriptor, descriptor));
}
