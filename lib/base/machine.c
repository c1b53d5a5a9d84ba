/* SPDX-License-Identifier: Apache-2.0 */
/* See machine.h. */
#include "base/machine.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/cleanup.h"

bool kernel_release_is_at_least(const char *release, unsigned long major, unsigned long minor)
{
	char *end;
	unsigned long found = strtoul(release, &end, 10);

	if (end == release || *end != '.')
		return false;
	unsigned long found_minor = strtoul(end + 1, NULL, 10);
	return found > major || (found == major && found_minor >= minor);
}

int line_read(const char *path, char *text, size_t size)
{
	text[0] = '\0';
	CLEANUP_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	ssize_t length = descriptor < 0 ? -1 : read(descriptor, text, size - 1);
	if (length < 0)
		return -errno;
	text[length] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return 0;
}

bool link_name(const char *path, char *name, size_t size)
{
	char target[PATH_MAX];
	ssize_t length = readlink(path, target, sizeof target - 1);

	name[0] = '\0';
	if (length <= 0)
		return false;
	target[length] = '\0';
	const char *slash = strrchr(target, '/');
	const char *last = slash ? slash + 1 : target;
	if (strlen(last) >= size)
		return false;
	strcpy(name, last);
	return true;
}

/* Returns where the running program is, or was; NULL on failure. */
static char *program_link(void)
{
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
	return length > 0 ? strndup(path, (size_t)length) : NULL;
}

char *program_path(void)
{
	char *path = program_link();
	/* Under an emulator, such as valgrind's, the link leads to the emulator. */
	if (path && !access(path, X_OK))
		return path;
	free(path);
	return strdup("/proc/self/exe");
}

char *program_folder(void)
{
	char *path = program_link(), *slash = path ? strrchr(path, '/') : NULL;
	if (slash) {
		*slash = '\0';
		return path;
	}
	free(path);
	return NULL;
}
