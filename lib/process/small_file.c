/* SPDX-License-Identifier: Apache-2.0 */
/* See small_file.h. */
#include "process/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"

size_t small_file_read(const char *path, char **bytes)
{
	CLEANUP_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	*bytes = descriptor < 0 ? NULL : malloc(SMALL_FILE_SIZE_MAX + 1);
	size_t size = 0;
	while (*bytes && size < SMALL_FILE_SIZE_MAX) {
		ssize_t result = read(descriptor, *bytes + size, SMALL_FILE_SIZE_MAX - size);
		if (result < 0 && errno == EINTR)
			continue;
		if (result <= 0)
			break;
		size += (size_t)result;
	}
	if (*bytes)
		(*bytes)[size] = '\0';
	return size;
}
