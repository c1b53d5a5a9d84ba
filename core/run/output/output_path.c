/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves an output's path to its folder or device: see output_path.h. */
#include "run/output/output_path.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"

/* As the Linux kernel's MAXSYMLINKS. */
#define LINK_COUNT_MAX 40

struct walk {
	const char *path; /* as the user gave it */
	struct output_path *found;
	int folder;              /* folder of the next component */
	char rest[2 * PATH_MAX]; /* components that follow */
	unsigned link_count;
	bool is_beyond_path;  /* the last component was a link: what follows is its target */
	bool followed_others; /* a link of another user */
};

/* Returns whether a user's names are trusted: root, the current user, and the user who called sudo. */
static bool is_trusted(uid_t user)
{
	const char *sudo_user = geteuid() ? NULL : secure_getenv("SUDO_UID");
	char *end;
	if (user == 0 || user == geteuid() || user == getuid())
		return true;
	unsigned long number = sudo_user && *sudo_user ? strtoul(sudo_user, &end, 10) : ULONG_MAX;
	return number != ULONG_MAX && !*end && number == user;
}

static bool is_in_proc(int descriptor)
{
	struct statfs status;
	return !fstatfs(descriptor, &status) && status.f_type == PROC_SUPER_MAGIC;
}

static void replace_descriptor(int *descriptor, int by)
{
	if (*descriptor >= 0)
		close(*descriptor);
	*descriptor = by;
}

/* Reports an error in the folder of the user's path. */
static int fail_in_folder(const struct walk *walk, int code, struct error *error)
{
	const char *slash = strrchr(walk->path, '/');
	int length = !slash ? 1 : slash == walk->path ? 1 : (int)(slash - walk->path);
	const char *folder = slash ? walk->path : ".";
	return code == ENOTDIR ? error_set(error, code, "output %s: %.*s is not a folder", walk->path, length, folder)
			       : error_set(error, code, "output %s: folder %.*s: %s", walk->path, length, folder,
					   strerror(code));
}

static int go_to(struct walk *walk, const char *folder, struct error *error)
{
	int descriptor = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (descriptor < 0)
		return fail_in_folder(walk, errno, error);
	replace_descriptor(&walk->folder, descriptor);
	return 0;
}

/* Removes the next component from rest. Returns false if there is none. */
static bool take_component(struct walk *walk, char *component, size_t size, bool *is_last)
{
	const char *begin = walk->rest + strspn(walk->rest, "/");
	size_t length = strcspn(begin, "/");
	if (!length)
		return false;
	/* A component that is too long is truncated by one byte more than allowed; opening it fails. */
	snprintf(component, size, "%.*s", (int)length, begin);
	const char *next = begin + length;
	*is_last = !next[strspn(next, "/")];
	memmove(walk->rest, next, strlen(next) + 1);
	return true;
}

/* Prepends a link's target to the rest of the path. */
static int follow(struct walk *walk, int link, const struct stat *status, bool is_last, struct error *error)
{
	char target[PATH_MAX], joined[sizeof walk->rest];
	struct stat folder;
	if (fstat(walk->folder, &folder))
		return fail_in_folder(walk, errno, error);
	if ((folder.st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH) && status->st_uid != geteuid() &&
	    status->st_uid != folder.st_uid)
		return error_set(error, EACCES,
				 "output %s: a symbolic link of another user in a world-writable folder (use another "
				 "file)",
				 walk->path);
	walk->followed_others |= !is_trusted(status->st_uid);
	ssize_t length = readlinkat(link, "", target, sizeof target - 1);
	if (length < 0 || ++walk->link_count > LINK_COUNT_MAX)
		return fail_in_folder(walk, length < 0 ? errno : ELOOP, error);
	target[length] = '\0';
	if ((size_t)snprintf(joined, sizeof joined, "%s%s", target, walk->rest) >= sizeof joined)
		return fail_in_folder(walk, ENAMETOOLONG, error);
	strcpy(walk->rest, joined);
	walk->is_beyond_path |= is_last;
	return *target == '/' ? go_to(walk, "/", error) : 0;
}

/* Returns the descriptor that a name in /proc/self/fd refers to; -1 if it is not iaprof's own. */
static int own_descriptor(const char *name, const struct stat *status)
{
	char *end;
	struct stat own;
	unsigned long number = *name >= '0' && *name <= '9' ? strtoul(name, &end, 10) : ULONG_MAX;
	bool is_own = number <= INT_MAX && !*end && !fstat((int)number, &own) && is_same_file(&own, status);
	return is_own ? (int)number : -1;
}

/* Checks that the object may be written. */
static int check_object(const struct walk *walk, struct error *error)
{
	const struct output_path *found = walk->found;
	const struct stat *status = &found->status;
	if (S_ISDIR(status->st_mode))
		return error_set(error, EISDIR, "output %s is a folder (name a file in it)", walk->path);
	if (S_ISBLK(status->st_mode))
		return error_set(error, EACCES, "output %s is a block device (name a file)", walk->path);
	if (found->own_descriptor >= 0)
		return 0;
	if (S_ISREG(status->st_mode))
		return error_set(error, EACCES, "output %s is a descriptor of another process (name the file)",
				 walk->path);
	if (walk->followed_others)
		return error_set(error, EACCES,
				 "output %s: a symbolic link of another user to a device, FIFO or socket "
				 "(name it directly)",
				 walk->path);
	if (!is_trusted(status->st_uid))
		return error_set(error, EACCES, "output %s is a device, FIFO or socket of another user (name a file)",
				 walk->path);
	return 0;
}

/* Handles the last component. A link there is followed only to find out whether it leads to a device. */
static int take_last(struct walk *walk, const char *component, const struct stat *status, bool is_link_of_proc,
		     struct error *error)
{
	struct output_path *found = walk->found;
	found->exists = status != NULL;
	if (!status)
		return 0;
	found->status = *status;
	found->own_descriptor = is_link_of_proc ? own_descriptor(component, status) : -1;
	found->has_object = !S_ISREG(status->st_mode) || is_link_of_proc;
	if (!found->has_object)
		return 0;
	found->object_is_link = is_link_of_proc;
	found->object_folder = fcntl(walk->folder, F_DUPFD_CLOEXEC, 3);
	if (found->object_folder < 0)
		return fail_in_folder(walk, errno, error);
	strcpy(found->object_name, component);
	return check_object(walk, error);
}

/* Notes the folder and name under which a regular file would be created. */
static int note_name(struct walk *walk, const char *component, struct error *error)
{
	struct output_path *found = walk->found;
	if (walk->is_beyond_path)
		return 0;
	found->folder = fcntl(walk->folder, F_DUPFD_CLOEXEC, 3);
	if (found->folder < 0)
		return fail_in_folder(walk, errno, error);
	strcpy(found->name, component);
	return 0;
}

/* Handles one component. Returns 0 to continue, 1 after the last one, or a negative errno. */
static int step(struct walk *walk, struct error *error)
{
	/* Has room for a name that is too long, so that this is detected. */
	char component[sizeof walk->found->name];
	bool is_last;
	if (!take_component(walk, component, sizeof component, &is_last))
		return error_set(error, EISDIR, "output %s is a folder (name a file in it)", walk->path);
	int result = is_last ? note_name(walk, component, error) : 0;
	if (result)
		return result;
	CLEANUP_CLOSE int object = openat(walk->folder, component, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;
	/* It does not exist yet, or creating the file will fail for the same reason. */
	if (object < 0 && is_last)
		return take_last(walk, component, NULL, false, error) ? error->code : 1;
	/* A dangling link is replaced by the file, too. */
	if (object < 0 && walk->is_beyond_path)
		return 1;
	if (object < 0 || fstat(object, &status))
		return fail_in_folder(walk, errno, error);
	bool is_link_of_proc = S_ISLNK(status.st_mode) && is_in_proc(object);
	if (S_ISLNK(status.st_mode) && !is_link_of_proc)
		return follow(walk, object, &status, is_last, error);
	if (is_link_of_proc) {
		replace_descriptor(&object, openat(walk->folder, component, O_PATH | O_CLOEXEC));
		if (object < 0 || fstat(object, &status))
			return fail_in_folder(walk, errno, error);
	}
	if (is_last)
		return take_last(walk, component, &status, is_link_of_proc, error) ? error->code : 1;
	if (!S_ISDIR(status.st_mode))
		return fail_in_folder(walk, ENOTDIR, error);
	replace_descriptor(&walk->folder, STEAL_DESCRIPTOR(object));
	return 0;
}

int output_path_find(struct output_path *found, const char *path, struct error *error)
{
	struct walk walk = { .path = path, .found = found, .folder = -1 };
	if (!*path || path[strlen(path) - 1] == '/')
		return error_set(error, EISDIR, "output %s is a folder (name a file in it)", path);
	if ((size_t)snprintf(walk.rest, sizeof walk.rest, "%s", path) >= PATH_MAX)
		return error_set(error, ENAMETOOLONG, "output %.64s...: %s", path, strerror(ENAMETOOLONG));
	int result = go_to(&walk, *path == '/' ? "/" : ".", error);
	while (!result)
		result = step(&walk, error);
	replace_descriptor(&walk.folder, -1);
	return result < 0 ? result : 0;
}

/* Checks that the opened file is the one that was checked. */
static int check_opened(const struct output_path *found, int descriptor, const char *path, struct error *error)
{
	struct stat status;
	if (!fstat(descriptor, &status) && is_same_file(&status, &found->status) &&
	    (status.st_mode & S_IFMT) == (found->status.st_mode & S_IFMT))
		return descriptor;
	close(descriptor);
	return error_set(error, EAGAIN, "output %s was replaced while it was opened", path);
}

int output_path_open(const struct output_path *found, const char *path, struct error *error)
{
	int flags = O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (found->object_is_link ? 0 : O_NOFOLLOW);
	int descriptor = found->own_descriptor >= 0 ? fcntl(found->own_descriptor, F_DUPFD_CLOEXEC, 3)
						    : openat(found->object_folder, found->object_name, flags);
	if (descriptor >= 0)
		return check_opened(found, descriptor, path, error);
	if (errno == ENXIO && S_ISFIFO(found->status.st_mode))
		return error_set(error, ENXIO, "output %s: no reader has opened this FIFO (start the reader first)",
				 path);
	return error_set(error, errno, "cannot open output %s: %s", path, strerror(errno));
}

void output_path_release(struct output_path *found)
{
	replace_descriptor(&found->folder, -1);
	replace_descriptor(&found->object_folder, -1);
}
