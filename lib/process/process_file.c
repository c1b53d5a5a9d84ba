/* SPDX-License-Identifier: Apache-2.0 */
/* See process_file.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <linux/openat2.h>
#include "base/cleanup.h"
#include "base/regular_file.h"
#include "process/process_file.h"

static int root_open(uint32_t process)
{
	int root = process_root_open(process);
	return root == -ENOENT ? -ESRCH : root;
}

static int reopen(int found, struct stat *status)
{
	int result = regular_file_reopen(found, status);
	if (result != -EINVAL)
		return result;
	return S_ISDIR(status->st_mode) ? -EISDIR : S_ISLNK(status->st_mode) ? -ELOOP : -EINVAL;
}

int process_file_open(uint32_t process, const char *path, struct stat *status)
{
	if (path[0] != '/')
		return -EINVAL;
	CLEANUP_CLOSE int root = root_open(process);
	if (root < 0)
		return root;
	CLEANUP_CLOSE int found = path_open(root, path, O_PATH | O_NOFOLLOW,
					    RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	return found < 0 ? found : reopen(found, status);
}

int process_file_open_mapped(uint32_t process, uint64_t start, uint64_t length, struct stat *status)
{
	char path[96];
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/map_files/%" PRIx64 "-%" PRIx64, process, start, start + length);
	CLEANUP_CLOSE int found = open(path, O_PATH | O_CLOEXEC);
	return found < 0 ? -errno : reopen(found, status);
}

/* Returns the page frame number of a mapped page, 0 if unknown. */
static uint64_t page_frame(int pagemap, const void *mapped)
{
	uint64_t entry = 0;
	off_t offset = (off_t)((uintptr_t)mapped / (uintptr_t)sysconf(_SC_PAGESIZE) * sizeof entry);

	if (pread(pagemap, &entry, sizeof entry, offset) != (ssize_t)sizeof entry || !(entry >> 63))
		return 0;
	return entry & ((UINT64_C(1) << 55) - 1); /* Documentation/admin-guide/mm/pagemap.rst */
}

/* Returns whether two files share their pages. */
static bool files_are_same(int left, int right)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	void *a = mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_POPULATE, left, 0);
	void *b = mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_POPULATE, right, 0);
	CLEANUP_CLOSE int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	bool shared = false;

	if (a != MAP_FAILED && b != MAP_FAILED && pagemap >= 0) {
		uint64_t frame = page_frame(pagemap, a);
		shared = frame && frame == page_frame(pagemap, b);
	}
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
