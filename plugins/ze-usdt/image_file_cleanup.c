/* SPDX-License-Identifier: Apache-2.0 */
/* See image_file_cleanup.h. */
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include "process/process_file.h"
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
	struct stat now;

	if (fstatat(file->folder, file->name, &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_dev == file->device &&
	    now.st_ino == file->inode)
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

int image_file_folder_open(uint32_t process, const char *path)
{
	const char *slash = strrchr(path, '/');
	int folder = slash && name_is_tracers(slash + 1) ? process_folder_open(process, path) : -1;

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
