/* SPDX-License-Identifier: Apache-2.0 */
/* See image_file_cleanup.h. */
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "image_file_cleanup.h"

/* Readers open a file within milliseconds. */
#define KEEP_TIME UINT64_C(2000000000) /* ns */

static bool name_is_tracers(const char *name)
{
	size_t prefix = sizeof ZE_IMAGE_PREFIX - 1;

	return strncmp(name, ZE_IMAGE_PREFIX, prefix) == 0 &&
	       strspn(name + prefix, "0123456789abcdef") == ZE_IMAGE_DIGITS &&
	       strcmp(name + prefix + ZE_IMAGE_DIGITS, ZE_IMAGE_SUFFIX) == 0;
}

/* Deletes the file, unless another one has taken its name. */
static void file_remove(struct image_file *file)
{
	struct statx now;

	/* A user can have mounted another file system at the name, whose server is not asked. */
	if (statx(file->folder, file->name, AT_SYMLINK_NOFOLLOW | AT_STATX_DONT_SYNC, STATX_INO, &now) == 0 &&
	    makedev(now.stx_dev_major, now.stx_dev_minor) == file->device && now.stx_ino == file->inode)
		unlinkat(file->folder, file->name, 0);
	close(file->folder);
}

static void oldest_remove(struct image_file_cleanup *files, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		file_remove(&files->items[i]);
	files->count -= count;
	memmove(files->items, files->items + count, files->count * sizeof *files->items);
}

int image_file_folder_open(struct broker *broker, uint32_t process, const char *path)
{
	char folder_path[PATH_MAX];
	const char *slash = strrchr(path, '/');

	if (!slash || !name_is_tracers(slash + 1) || (size_t)(slash - path) + 2 > sizeof folder_path)
		return -1;
	snprintf(folder_path, sizeof folder_path, "%.*s", (int)(slash - path) + 1, path);
	int folder = broker_open_folder(broker, process, folder_path);
	return folder < 0 ? -1 : folder;
}

void image_file_cleanup_add(struct image_file_cleanup *files, int descriptor, int folder, const char *path,
			    const struct stat *status, uint64_t now)
{
	const char *name = strrchr(path, '/') + 1;

	if (folder < 0)
		return;
	/* Mark the file for the process, which may have exited: the owner can no longer write it. */
	if (fchmod(descriptor, S_IRUSR) != 0) {
		close(folder);
		return;
	}
	if (files->count == IMAGE_FILES_MAX)
		oldest_remove(files, 1);
	struct image_file *file = &files->items[files->count++];
	*file = (struct image_file){ .folder = folder, .device = status->st_dev, .inode = status->st_ino, .time = now };
	memcpy(file->name, name, strlen(name) + 1);
}

void image_file_cleanup_expire(struct image_file_cleanup *files, uint64_t now)
{
	unsigned count = 0;

	while (count < files->count && now - files->items[count].time > KEEP_TIME)
		count++;
	oldest_remove(files, count);
}

void image_file_cleanup_free(struct image_file_cleanup *files)
{
	oldest_remove(files, files->count);
}
