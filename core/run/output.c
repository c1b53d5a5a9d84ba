/* SPDX-License-Identifier: Apache-2.0 */
/* Output files, whole or not at all: see output.h. */
#include "run/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"

#define BUFFER_SIZE ((size_t)64 << 10)

/*
 * Names of temporary files, where a signal handler finds them: a handler can look at nothing else than file-scope
 * state. A run has few outputs open at a time; one that finds no place here is only not removed by a second Ctrl-C.
 */
#define TEMPORARY_COUNT_MAX 64
static _Atomic(char *) temporary_names[TEMPORARY_COUNT_MAX];

/* Names that are tried until one is free. */
#define TEMPORARY_ATTEMPTS 100

struct iaprof_output {
	int descriptor;
	char *path;      /* the final name */
	char *temporary; /* NULL: written to directly */
	size_t used;
	char buffer[BUFFER_SIZE];
};

static void remember_temporary(char *name)
{
	for (size_t i = 0; i < TEMPORARY_COUNT_MAX; i++) {
		char *none = NULL;
		if (atomic_compare_exchange_strong(&temporary_names[i], &none, name))
			return;
	}
}

static void forget_temporary(char *name)
{
	for (size_t i = 0; i < TEMPORARY_COUNT_MAX; i++) {
		char *expected = name;
		if (atomic_compare_exchange_strong(&temporary_names[i], &expected, NULL))
			return;
	}
}

void output_remove_temporary_files(void)
{
	for (size_t i = 0; i < TEMPORARY_COUNT_MAX; i++) {
		const char *name = atomic_load(&temporary_names[i]);
		if (name)
			unlink(name);
	}
}

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
	free(target->path);
	target->path = NULL;
}

/* The folder part of a path, "." when there is none. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return !slash ? strdup(".") : slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
}

static const char *file_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool is_standard_output(const char *path)
{
	return !strcmp(path, "-");
}

/* Whether something is there that is written to directly. */
static bool is_special(const char *path, struct stat *status)
{
	return !stat(path, status) && !S_ISREG(status->st_mode);
}

static bool is_null_device(const struct stat *status)
{
	return S_ISCHR(status->st_mode) && status->st_rdev == makedev(1, 3);
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* What is open or written to directly is known by its inode: "4:1234". */
static int identify_inode(const struct stat *status, char **identity, struct error *error)
{
	if (is_null_device(status))
		return 0;
	if (asprintf(identity, "%ju:%ju", (uintmax_t)status->st_dev, (uintmax_t)status->st_ino) >= 0)
		return 0;
	*identity = NULL;
	return error_set(error, ENOMEM, "out of memory");
}

/* A file that gets its name at the end is known by that name in its folder. A link of that name will be replaced. */
static int identify_name(const char *path, char **identity, struct error *error)
{
	CLEANUP_FREE char *folder = folder_of(path);
	CLEANUP_FREE char *real_folder = folder ? realpath(folder, NULL) : NULL;
	if (!real_folder)
		return error_set(error, errno, "output %s: folder %s: %s", path, folder ? folder : "", strerror(errno));
	if (!*file_of(path))
		return error_set(error, EISDIR, "output %s is a folder: name a file in it", path);
	struct stat status;
	if (!stat(real_folder, &status) && !S_ISDIR(status.st_mode))
		return error_set(error, ENOTDIR, "output %s: %s is not a folder", path, folder);
	if (access(real_folder, W_OK | X_OK))
		return error_set(error, errno, "output %s: cannot write in folder %s: %s", path, folder,
				 strerror(errno));
	if (asprintf(identity, "%s/%s", real_folder, file_of(path)) >= 0)
		return 0;
	*identity = NULL;
	return error_set(error, ENOMEM, "out of memory");
}

int output_target_check(const struct output_target *target, char **identity, struct error *error)
{
	const char *path = target->path;
	struct stat status, standard_output;
	bool has_standard_output = !fstat(STDOUT_FILENO, &standard_output);
	*identity = NULL;
	if (is_standard_output(path)) {
		if (!has_standard_output)
			return error_set(error, errno, "standard output: %s", strerror(errno));
		return identify_inode(&standard_output, identity, error);
	}
	if (is_special(path, &status))
		return S_ISDIR(status.st_mode)
			       ? error_set(error, EISDIR, "output %s is a folder: name a file in it", path)
			       : identify_inode(&status, identity, error);
	int result = identify_name(path, identity, error);
	/* As in: iaprof -k folded -k csv:output=FILE > FILE. */
	if (!result && has_standard_output && !stat(path, &status) && is_same_file(&status, &standard_output)) {
		free(STEAL_POINTER(*identity));
		result = identify_inode(&standard_output, identity, error);
	}
	return result;
}

/* The target's path with the variant before its extension: profile.cpu.folded. */
static char *path_of_variant(const struct output_target *target, const char *variant)
{
	if (!variant)
		return strdup(target->path);
	char safe[64];
	size_t length = 0;
	for (; variant[length] && length < sizeof safe - 1; length++)
		safe[length] = variant[length] == '/' || (unsigned char)variant[length] <= ' ' ? '_' : variant[length];
	safe[length] = '\0';
	const char *dot = strrchr(file_of(target->path), '.');
	char *path;
	int result = dot && dot != file_of(target->path)
			     ? asprintf(&path, "%.*s.%s%s", (int)(dot - target->path), target->path, safe, dot)
			     : asprintf(&path, "%s.%s", target->path, safe);
	return result < 0 ? NULL : path;
}

/*
 * Not mkostemp(), which gives 0600: a profile is as readable as any file of this user, and who asks for the umask
 * changes it for the threads of other sinks.
 */
static int try_temporary(struct iaprof_output *output, const char *folder)
{
	uint32_t random;
	if (getrandom(&random, sizeof random, 0) != sizeof random)
		return -EIO;
	free(STEAL_POINTER(output->temporary));
	if (asprintf(&output->temporary, "%s/.%s.%08" PRIx32, folder, file_of(output->path), random) < 0) {
		output->temporary = NULL;
		return -ENOMEM;
	}
	output->descriptor = open(output->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666);
	return output->descriptor < 0 ? -errno : 0;
}

static int open_temporary(struct iaprof_output *output, struct error *error)
{
	CLEANUP_FREE char *folder = folder_of(output->path);
	if (!folder)
		return error_set(error, ENOMEM, "out of memory");
	int result = -EEXIST;
	for (int attempt = 0; result == -EEXIST && attempt < TEMPORARY_ATTEMPTS; attempt++)
		result = try_temporary(output, folder);
	if (result) {
		free(STEAL_POINTER(output->temporary));
		return error_set(error, result, "create a file in %s: %s", folder, strerror(-result));
	}
	remember_temporary(output->temporary);
	return 0;
}

static int open_descriptor(struct output_target *target, struct iaprof_output *output, const char *variant,
			   struct error *error)
{
	struct stat status;
	if (!is_standard_output(output->path)) {
		if (!is_special(output->path, &status))
			return open_temporary(output, error);
		output->descriptor = open(output->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		return output->descriptor < 0 ? error_set(error, errno, "open: %s", strerror(errno)) : 0;
	}
	if (variant && target->opened_stdout)
		return error_set(error, EINVAL,
				 "several value types cannot share standard output: choose one with value=, or "
				 "name a file with -o");
	target->opened_stdout = true;
	output->descriptor = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	return output->descriptor < 0 ? error_set(error, errno, "standard output: %s", strerror(errno)) : 0;
}

struct iaprof_output *output_open(struct output_target *target, const char *variant, struct error *error)
{
	struct iaprof_output *output = malloc(sizeof *output);
	if (!output) {
		error_set(error, ENOMEM, "out of memory");
		return NULL;
	}
	output->descriptor = -1;
	output->temporary = NULL;
	output->used = 0;
	output->path = is_standard_output(target->path) ? strdup("-") : path_of_variant(target, variant);
	int result = output->path ? open_descriptor(target, output, variant, error)
				  : error_set(error, ENOMEM, "out of memory");
	if (!result)
		return output;
	error_wrap(error, "output %s", output->path ? output->path : target->path);
	output_discard(output);
	return NULL;
}

static int write_all(struct iaprof_output *output, const char *data, size_t size, struct error *error)
{
	while (size) {
		ssize_t written = write(output->descriptor, data, size);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return error_set(error, errno, "write %s: %s",
					 is_standard_output(output->path) ? "standard output" : output->path,
					 strerror(errno));
		data += written;
		size -= (size_t)written;
	}
	return 0;
}

int output_flush(struct iaprof_output *output, struct error *error)
{
	size_t used = output->used;
	output->used = 0;
	return write_all(output, output->buffer, used, error);
}

int output_write(struct iaprof_output *output, const void *data, size_t size, struct error *error)
{
	if (size > sizeof output->buffer - output->used) {
		int result = output_flush(output, error);
		if (result)
			return result;
		if (size >= sizeof output->buffer)
			return write_all(output, data, size, error);
	}
	memcpy(output->buffer + output->used, data, size);
	output->used += size;
	return 0;
}

/* Frees the output; a temporary file that is still there goes too. */
void output_discard(struct iaprof_output *output)
{
	if (!output)
		return;
	if (output->descriptor >= 0)
		close(output->descriptor);
	if (output->temporary) {
		unlink(output->temporary);
		forget_temporary(output->temporary);
	}
	free(output->temporary);
	free(output->path);
	free(output);
}

int output_close(struct iaprof_output *output, struct error *error)
{
	int result = output_flush(output, error);
	/* Some file systems tell of a failed write only when the file is closed. */
	if (!result && close(STEAL_DESCRIPTOR(output->descriptor)))
		result = error_set(error, errno, "write %s: %s", output->path, strerror(errno));
	if (!result && output->temporary) {
		if (rename(output->temporary, output->path)) {
			result = error_set(error, errno, "rename to %s: %s", output->path, strerror(errno));
		} else {
			forget_temporary(output->temporary);
			free(output->temporary);
			output->temporary = NULL;
		}
	}
	output_discard(output);
	return result;
}
