/* SPDX-License-Identifier: Apache-2.0 */
/* Targets of outputs, checked before the run: see output_target.h. */
#include "run/output/output_target.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/major.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/format.h"
#include "run/output/output_path.h"

int output_target_set(struct output_target *target, const char *path, struct error *error)
{
	if (!*path)
		return error_set(error, EINVAL, "output: no file name");
	char *copy = strdup(path);
	if (!copy)
		return error_set(error, ENOMEM, "out of memory");
	free(target->path);
	target->path = copy;
	return 0;
}

void output_target_release(struct output_target *target)
{
	if (target->descriptor >= 0)
		close(target->descriptor);
	target->descriptor = -1;
	free(STEAL_POINTER(target->path));
	free(STEAL_POINTER(target->written));
}

bool output_target_is_stream(const struct output_target *target)
{
	return target->path &&
	       (is_standard_output(target->path) || (target->descriptor >= 0 && !target->is_null_device));
}

static bool is_null_device(const struct stat *status)
{
	return S_ISCHR(status->st_mode) && status->st_rdev == makedev(1, 3);
}

/* Identifies a file that is open or written in place by its inode: "4:1234". */
static int identify_inode(const struct stat *status, char **identity, struct error *error)
{
	if (is_null_device(status))
		return 0;
	*identity = format_new("%ju:%ju", (uintmax_t)status->st_dev, (uintmax_t)status->st_ino);
	return *identity ? 0 : error_set(error, ENOMEM, "out of memory");
}

/* Identifies a file that is renamed at the end by its folder and name. A link of that name is replaced. */
static int identify_name(const char *path, const struct output_path *found, char **identity, struct error *error)
{
	struct stat folder;
	const char *slash = strrchr(path, '/');
	int length = !slash || slash == path ? 1 : (int)(slash - path);
	if (fstat(found->folder, &folder) || faccessat(found->folder, ".", W_OK | X_OK, 0))
		return error_set(error, errno, "output %s: cannot write in folder %.*s: %s", path, length,
				 slash ? path : ".", strerror(errno));
	*identity = format_new("%ju:%ju/%s", (uintmax_t)folder.st_dev, (uintmax_t)folder.st_ino, found->name);
	return *identity ? 0 : error_set(error, ENOMEM, "out of memory");
}

static int identify(const char *path, const struct output_path *found, char **identity, struct error *error)
{
	struct stat standard_output;
	/* As in: iaprof -k folded -k csv:output=FILE > FILE. */
	bool is_open = found->exists && !fstat(STDOUT_FILENO, &standard_output) &&
		       is_same_file(&found->status, &standard_output);
	return found->has_object || is_open ? identify_inode(&found->status, identity, error)
					    : identify_name(path, found, identity, error);
}

int output_target_check(const struct output_target *target, char **identity, struct error *error)
{
	struct stat status;
	*identity = NULL;
	if (is_standard_output(target->path)) {
		if (fstat(STDOUT_FILENO, &status))
			return error_set(error, errno, "standard output: %s", strerror(errno));
		return identify_inode(&status, identity, error);
	}
	CLEANUP(output_path_release) struct output_path found = OUTPUT_PATH_INIT;
	int result = output_path_find(&found, target->path, error);
	return result ? result : identify(target->path, &found, identity, error);
}

bool output_target_is_terminal(const struct output_target *target)
{
	struct stat status;
	if (is_standard_output(target->path))
		return isatty(STDOUT_FILENO);
	/* A terminal is not opened again to identify it: that may wait for a modem, or make it the controlling one. */
	if (stat(target->path, &status) || !S_ISCHR(status.st_mode))
		return false;
	unsigned number = major(status.st_rdev);
	return number == TTY_MAJOR || number == TTYAUX_MAJOR ||
	       (number >= UNIX98_PTY_SLAVE_MAJOR && number < UNIX98_PTY_SLAVE_MAJOR + UNIX98_PTY_MAJOR_COUNT);
}

int output_target_hold(struct output_target *target, struct error *error)
{
	if (is_standard_output(target->path) || target->descriptor >= 0)
		return 0;
	CLEANUP(output_path_release) struct output_path found = OUTPUT_PATH_INIT;
	int result = output_path_find(&found, target->path, error);
	if (result || !found.has_object)
		return result;
	result = output_path_open(&found, target->path, error);
	if (result < 0)
		return result;
	target->descriptor = result;
	target->is_null_device = is_null_device(&found.status);
	return 0;
}
