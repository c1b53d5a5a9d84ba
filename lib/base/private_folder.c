/* SPDX-License-Identifier: Apache-2.0 */
/* See private_folder.h. */
#include "base/private_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

int private_folder_make_parents(const char *path)
{
	CLEANUP_FREE char *copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	for (char *slash = copy; (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		if (mkdir(copy, 0700) && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

int private_folder_open(const char *path, bool is_created, const char **why)
{
	struct stat status;
	if (is_created && mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	CLEANUP_CLOSE int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0 || fstat(folder, &status))
		return -errno;
	*why = NULL;
	if (status.st_uid != geteuid())
		*why = "it belongs to another user";
	else if (status.st_mode & 0022)
		*why = "other users can write to it";
	/* A reader trusts no segment. */
	return *why && is_created ? -EPERM : STEAL_DESCRIPTOR(folder);
}

int private_folder_lock(int folder)
{
	return flock(folder, LOCK_EX | LOCK_NB) ? -errno : 0;
}

void private_folder_clean(int folder, bool (*is_partial)(const void *context, const char *name), const void *context)
{
	CLEANUP_CLOSEDIR DIR *listed = NULL;
	int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	listed = again < 0 ? NULL : fdopendir(again);
	for (struct dirent *found; listed && (found = readdir(listed));)
		if (is_partial(context, found->d_name))
			unlinkat(folder, found->d_name, 0);
}

int file_lock_take(int folder, const char *name)
{
	for (;;) {
		struct stat status;
		CLEANUP_CLOSE int lock =
			openat(folder, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
		if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) || fstat(lock, &status))
			return -errno;
		/* The previous owner may have removed the file in between. */
		if (status.st_nlink)
			return STEAL_DESCRIPTOR(lock);
	}
}

void file_lock_release(int folder, const char *name, int lock)
{
	if (lock < 0)
		return;
	unlinkat(folder, name, 0);
	close(lock);
}
