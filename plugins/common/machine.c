/* SPDX-License-Identifier: Apache-2.0 */
/* See machine.h. */
#include "machine.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

uint64_t clock_read(clockid_t clock)
{
	struct timespec time = { 0 };

	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

bool kernel_release_is_at_least(const char *release, unsigned long major, unsigned long minor)
{
	char *end;
	unsigned long found = strtoul(release, &end, 10);

	if (end == release || *end != '.')
		return false;
	unsigned long found_minor = strtoul(end + 1, NULL, 10);
	return found > major || (found == major && found_minor >= minor);
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
