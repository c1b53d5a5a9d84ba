/* SPDX-License-Identifier: Apache-2.0 */
/* See source_files.h. */
#include "text/source_files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/public_file.h"
#include "base/regular_file.h"

/* Maximum number of suffixes of a path to try: no source tree is deeper than that. */
#define TAILS_MAX 128

/* Flags that neither wait for a FIFO or a device nor make one the controlling terminal. */
#define OPEN_FLAGS (O_RDONLY | O_NONBLOCK | O_NOCTTY)

static int open_folder(struct source_files *files, const struct iaprof_host *host, const char *name, size_t length)
{
	char path[4096];
	if (files->folder_count >= SOURCE_FOLDERS_MAX)
		return host->fail(host, E2BIG, "sources= has more than %d folders", SOURCE_FOLDERS_MAX);
	if (!length || length >= sizeof path)
		return host->fail(host, EINVAL, "sources=: a folder name is empty or too long");
	memcpy(path, name, length);
	path[length] = '\0';
	int descriptor = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (descriptor < 0) {
		int error = errno;
		return host->fail(host, error, "sources=%s: %s", path, strerror(error));
	}
	files->folders[files->folder_count++] = descriptor;
	return 0;
}

int source_files_open(struct source_files *files, const struct iaprof_host *host, const char *setting)
{
	bool recorded = host->target(host)->flags & IAPROF_TARGET_RECORDED;
	files->mode = recorded ? SOURCE_FILES_CAPTURE : SOURCE_FILES_PUBLIC;
	if (!setting)
		return 0;
	if (!strcmp(setting, "no")) {
		files->mode = SOURCE_FILES_NONE;
		return 0;
	}
	if (!strcmp(setting, "yes"))
		return recorded ? host->fail(host, EINVAL,
					     "sources=yes: a replay opens no file that a capture names (set "
					     "sources=FOLDER to read those below FOLDER)")
				: 0;
	files->mode = SOURCE_FILES_FOLDERS;
	int result = 0;
	while (setting && result == 0) {
		size_t length = strcspn(setting, ":");
		result = open_folder(files, host, setting, length);
		setting = setting[length] ? setting + length + 1 : NULL;
	}
	return result;
}

void source_files_close(struct source_files *files)
{
	while (files->folder_count)
		close(files->folders[--files->folder_count]);
}

static bool leads_up(const char *path)
{
	for (size_t length; *path; path += length + (path[length] == '/')) {
		length = strcspn(path, "/");
		if (length == 2 && memcmp(path, "..", 2) == 0)
			return true;
	}
	return false;
}

/* Opens the longest suffix of the path that exists below one of the folders. */
static int open_in_folders(const struct source_files *files, const char *path)
{
	const char *tail = path;
	for (size_t i = 0; i < TAILS_MAX; i++) {
		tail += strspn(tail, "/");
		for (size_t k = 0; *tail && !leads_up(tail) && k < files->folder_count; k++) {
			int descriptor =
				path_open(files->folders[k], tail, OPEN_FLAGS, RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS);
			if (descriptor >= 0)
				return descriptor;
		}
		tail += strcspn(tail, "/");
		if (!*tail)
			break;
	}
	return -ENOENT;
}

static char *read_source(struct source_files *files, int descriptor, size_t *size, const char **why)
{
	struct stat status;
	*why = "not a regular file";
	if (fstat(descriptor, &status) || !S_ISREG(status.st_mode))
		return NULL;
	*size = (size_t)status.st_size;
	*why = "empty file";
	if (!*size) /* includes files in /proc, which are not sources */
		return NULL;
	*why = "larger than 1 MiB";
	if (*size > SOURCE_FILE_SIZE_MAX)
		return NULL;
	*why = "all sources together exceed 16 MiB";
	if (*size > SOURCE_FILES_SIZE_MAX - files->size)
		return NULL;
	*why = "read error";
	CLEANUP_FREE char *text = malloc(*size + 1);
	if (!text || file_read_at(descriptor, text, *size, 0) != (ssize_t)*size)
		return NULL;
	*why = "not a text file";
	if (memchr(text, '\0', *size))
		return NULL;
	text[*size] = '\0';
	files->size += *size;
	return STEAL_POINTER(text);
}

static int open_source(struct source_files *files, const char *path, const char **why)
{
	switch (files->mode) {
	case SOURCE_FILES_FOLDERS:
		*why = "not found below the folders of sources=";
		return open_in_folders(files, path);
	case SOURCE_FILES_PUBLIC:
		return public_file_open(path, why);
	case SOURCE_FILES_CAPTURE:
		*why = "not in the capture (record with sources=yes, or set sources=FOLDER)";
		return -ENOENT;
	default:
		*why = "disabled by sources=no";
		return -ENOENT;
	}
}

char *source_files_read(struct source_files *files, const char *path, size_t *size, const char **why)
{
	*why = "no path";
	CLEANUP_CLOSE int descriptor = *path ? open_source(files, path, why) : -ENOENT;
	if (descriptor < 0)
		return NULL;
	return read_source(files, descriptor, size, why);
}
