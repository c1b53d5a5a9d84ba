/* SPDX-License-Identifier: Apache-2.0 */
/* Writes and deletes private files. No function here can raise a signal. */
#include "private_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../probes.h"

/* Readers open a file within milliseconds. */
#define KEEP_NANOSECONDS (INT64_C(10) * 1000000000)
#define WAIT_ATTEMPTS 200
#define WAIT_NANOSECONDS 5000000

static int64_t now(void)
{
	struct timespec time = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void file_forget(struct private_files *files, unsigned index)
{
	files->count--;
	memmove(&files->files[index], &files->files[index + 1], (files->count - index) * sizeof *files->files);
}

static void file_remove(struct private_files *files, unsigned index)
{
	if (files->files[index].process == (int)getpid())
		unlink(files->files[index].path);
	file_forget(files, index);
}

static bool path_make(char path[PRIVATE_PATH_MAX], const char *folder)
{
	uint64_t number;

	/* By system call number: getrandom() is newer than the oldest supported C library. */
	if (syscall(SYS_getrandom, &number, sizeof number, 0) != (long)sizeof number)
		return false;
	int length = snprintf(path, PRIVATE_PATH_MAX, "%s/" ZE_IMAGE_PREFIX "%016llx" ZE_IMAGE_SUFFIX, folder,
			      (unsigned long long)number);
	return length > 0 && length < PRIVATE_PATH_MAX;
}

/* Creates a file in the folder, or returns -1. */
static int file_make(char path[PRIVATE_PATH_MAX], const char *folder)
{
	return path_make(path, folder) ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600) : -1;
}

/* In $TMPDIR, or in /tmp if that folder does not exist, as often in containers. */
static int temporary_file_make(char path[PRIVATE_PATH_MAX])
{
	const char *folder = secure_getenv("TMPDIR");
	int file = folder && *folder == '/' ? file_make(path, folder) : -1;

	return file >= 0 ? file : file_make(path, "/tmp");
}

bool file_is_allowed(size_t size)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur);
}

static bool all_written(int file, const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t written = write(file, bytes, size);

		if (written <= 0)
			return false;
		bytes += written;
		size -= (size_t)written;
	}
	return true;
}

const char *private_files_write(struct private_files *files, const void *bytes, size_t size)
{
	struct private_file *entry;

	if (files->count == PRIVATE_FILES_MAX)
		file_remove(files, 0);
	entry = &files->files[files->count];
	if (!file_is_allowed(size))
		return NULL;
	int file = temporary_file_make(entry->path);
	if (file < 0)
		return NULL;
	/* The process's umask may have removed its own read permission. */
	bool written = fchmod(file, 0600) == 0 && all_written(file, bytes, size);
	close(file);
	if (!written) {
		unlink(entry->path);
		return NULL;
	}
	entry->written = now();
	entry->process = getpid();
	files->count++;
	return entry->path;
}

void private_files_sweep(struct private_files *files)
{
	int64_t limit = now() - KEEP_NANOSECONDS;

	while (files->count > 0 && files->files[0].written < limit)
		file_remove(files, 0);
}

/* A reader removes the write permission, and may delete the file itself. */
static bool is_taken(const struct private_file *file)
{
	struct stat status;

	/* By system call number, too: lstat() is versioned since glibc 2.33. */
	return syscall(SYS_lstat, file->path, &status) != 0 || !(status.st_mode & S_IWUSR);
}

static void forget_others(struct private_files *files)
{
	for (unsigned i = files->count; i-- > 0;)
		if (files->files[i].process != (int)getpid())
			file_forget(files, i);
}

static bool all_are_taken(const struct private_files *files)
{
	for (unsigned i = 0; i < files->count; i++)
		if (!is_taken(&files->files[i]))
			return false;
	return true;
}

void private_files_end(struct private_files *files, bool wait)
{
	struct timespec pause = { 0, WAIT_NANOSECONDS };

	forget_others(files);
	for (unsigned i = 0; wait && i < WAIT_ATTEMPTS && !all_are_taken(files); i++)
		nanosleep(&pause, NULL);
	while (files->count > 0)
		file_remove(files, 0);
}
