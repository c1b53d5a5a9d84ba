/* SPDX-License-Identifier: Apache-2.0 */
/* See private_folder.h. */
#include "base/private_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
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

/* Returns why a folder is not private, or NULL. */
static const char *find_others(const struct stat *status)
{
	if (status->st_uid != geteuid())
		return "it belongs to another user";
	return status->st_mode & 0022 ? "other users can write to it" : NULL;
}

int private_folder_open(const char *path, bool is_created, const char **why)
{
	struct stat status;
	if (is_created && mkdir(path, 0700) && errno != EEXIST)
		return -errno;
	CLEANUP_CLOSE int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0 || fstat(folder, &status))
		return -errno;
	*why = find_others(&status);
	/* A reader trusts no segment. */
	return *why && is_created ? -EPERM : STEAL_DESCRIPTOR(folder);
}

int private_folder_lock(int folder)
{
	return flock(folder, LOCK_EX | LOCK_NB) ? -errno : 0;
}

void private_folder_unlock(int folder)
{
	(void)flock(folder, LOCK_UN);
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

static int check_writable(int at, const char *path)
{
	return faccessat(at, path, W_OK | X_OK, AT_EACCESS) ? -errno : 0;
}

/* Checks whether a folder that does not exist can be created. */
static int check_parent(const char *path, bool makes_parents)
{
	CLEANUP_FREE char *copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	const char *parent = copy;
	int result;
	do {
		parent = dirname((char *)parent);
		result = check_writable(AT_FDCWD, parent);
	} while (result == -ENOENT && makes_parents && strcmp(parent, ".") != 0 && strcmp(parent, "/") != 0);
	return result;
}

/* Checks whether a folder can be opened for writing, or created. *opened: its descriptor; -1: it does not exist. */
static int check_folder(const char *path, bool makes_parents, int *opened, const char **why)
{
	struct stat status;
	CLEANUP_CLOSE int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	*opened = -1;
	if (folder < 0 && errno == ENOENT)
		return check_parent(path, makes_parents);
	if (folder < 0 || fstat(folder, &status))
		return -errno;
	*why = find_others(&status);
	int result = *why ? -EPERM : check_writable(folder, ".");
	if (!result)
		*opened = STEAL_DESCRIPTOR(folder);
	return result;
}

static int check_lock(int locked)
{
	/* A shared lock, which other checks can have at the same time. */
	return flock(locked, LOCK_SH | LOCK_NB) || flock(locked, LOCK_UN) ? -errno : 0;
}

static int check_file_lock(int folder, const char *name)
{
	CLEANUP_CLOSE int lock = openat(folder, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (lock < 0)
		return errno == ENOENT ? 0 : -errno;
	return check_lock(lock);
}

void private_folder_report(const struct iaprof_host *host, const char *option, const char *path, bool makes_parents,
			   const char *lock)
{
	const char *why = NULL;
	CLEANUP_CLOSE int folder = -1;
	int result = check_folder(path, makes_parents, &folder, &why);
	bool is_new = !result && folder < 0;
	if (!result && !is_new)
		result = lock ? check_file_lock(folder, lock) : check_lock(folder);
	if (result == -EWOULDBLOCK)
		host->check_item(host, IAPROF_CHECK_LIMITED, option, "%s: in use by a running iaprof", path);
	else if (result)
		host->check_item(host, IAPROF_CHECK_MISSING, option, "%s: %s (set %s=)", path,
				 why ? why : strerror(-result), option);
	else
		host->check_item(host, IAPROF_CHECK_GOOD, option, "%s%s", path, is_new ? " will be created" : "");
}
