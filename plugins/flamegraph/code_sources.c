/* SPDX-License-Identifier: Apache-2.0 */
/* See code_sources.h. */
#include "code_sources.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Tails of a path that are tried: a deeper one is not of a source tree. */
#define TAILS_MAX 128

/* A device or FIFO must neither be waited for nor become our terminal. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

static int open_folder(struct code_sources *sources, const struct iaprof_host *host, const char *name, size_t length)
{
	char path[4096];
	if (sources->folder_count >= SOURCE_FOLDERS_MAX)
		return host->fail(host, E2BIG, "sources= has more than %d folders", SOURCE_FOLDERS_MAX);
	if (!length || length >= sizeof path)
		return host->fail(host, EINVAL, "sources= has a folder without a name, or with one that is too long");
	memcpy(path, name, length);
	path[length] = '\0';
	int descriptor = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (descriptor < 0) {
		int error = errno;
		return host->fail(host, error, "sources=%s: %s", path, strerror(error));
	}
	sources->folders[sources->folder_count++] = descriptor;
	return 0;
}

int code_sources_open(struct code_sources *sources, const struct iaprof_host *host, const char *folders)
{
	sources->is_off = folders && strcmp(folders, "no") == 0;
	sources->takes_paths = geteuid() != 0 && !getauxval(AT_SECURE);
	int result = 0;
	while (folders && !sources->is_off && result == 0) {
		size_t length = strcspn(folders, ":");
		result = open_folder(sources, host, folders, length);
		folders = folders[length] ? folders + length + 1 : NULL;
	}
	return result;
}

void code_sources_close(struct code_sources *sources)
{
	while (sources->folder_count)
		close(sources->folders[--sources->folder_count]);
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

/* Neither a link nor the path leads out of the folder (openat2(2), RESOLVE_BENEATH). */
static int open_below(int folder, const char *path)
{
	struct open_how how = { .flags = OPEN_FLAGS, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };
	return (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
}

/* The longest tail of the path that there is in one of the folders; else the path itself. */
static int open_source(const struct code_sources *sources, const char *path)
{
	const char *tail = path;
	for (size_t i = 0; i < TAILS_MAX; i++) {
		tail += strspn(tail, "/");
		for (size_t k = 0; *tail && !leads_up(tail) && k < sources->folder_count; k++) {
			int descriptor = open_below(sources->folders[k], tail);
			if (descriptor >= 0)
				return descriptor;
		}
		tail += strcspn(tail, "/");
		if (!*tail)
			break;
	}
	return sources->takes_paths ? open(path, OPEN_FLAGS) : -1;
}

/* The whole file, or NULL: it became shorter, or cannot be read. */
static char *read_whole(int descriptor, size_t size)
{
	char *text = malloc(size + 1);
	size_t done = 0;
	while (text && done < size) {
		ssize_t got = read(descriptor, text + done, size - done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	if (text && done == size) {
		text[size] = '\0';
		return text;
	}
	free(text);
	return NULL;
}

static char *read_source(struct code_sources *sources, int descriptor, size_t *size, const char **why)
{
	struct stat status;
	*why = "it is not a regular file";
	if (fstat(descriptor, &status) || !S_ISREG(status.st_mode))
		return NULL;
	*size = (size_t)status.st_size;
	*why = "it is empty";
	if (!*size) /* so are files in /proc, which are no sources */
		return NULL;
	*why = "it is larger than 1 MiB";
	if (*size > SOURCE_SIZE_MAX)
		return NULL;
	*why = "all sources together are larger than 16 MiB";
	if (*size > SOURCES_SIZE_MAX - sources->size)
		return NULL;
	*why = "it cannot be read";
	char *text = read_whole(descriptor, *size);
	if (!text || !memchr(text, '\0', *size)) {
		sources->size += text ? *size : 0;
		return text;
	}
	*why = "it is not text";
	free(text);
	return NULL;
}

char *code_sources_read(struct code_sources *sources, const char *path, size_t *size, const char **why)
{
	*why = sources->is_off        ? "sources=no"
	       : sources->takes_paths ? "it is not there, nor below a folder of sources="
				      : "it is not below a folder of sources=, and root looks nowhere else";
	if (sources->is_off || !*path)
		return NULL;
	int descriptor = open_source(sources, path);
	if (descriptor < 0)
		return NULL;
	char *text = read_source(sources, descriptor, size, why);
	close(descriptor);
	return text;
}
