/* SPDX-License-Identifier: Apache-2.0 */
/* See small_file.h. */
#include "process/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"

#define SIZE_USUAL ((size_t)4 << 10)

size_t small_file_read(const char *path, char **bytes)
{
	CLEANUP_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP_FREE char *text = NULL;
	size_t size = 0, room = 0;
	*bytes = NULL;
	while (descriptor >= 0 && size < SMALL_FILE_SIZE_MAX) {
		if (size == room) {
			room = room ? 2 * room : SIZE_USUAL;
			char *larger = realloc(text, room + 1);
			if (!larger)
				return 0;
			text = larger;
		}
		ssize_t result = read(descriptor, text + size, room - size);
		if (result < 0 && errno == EINTR)
			continue;
		if (result <= 0)
			break;
		size += (size_t)result;
	}
	if (text)
		text[size] = '\0';
	*bytes = STEAL_POINTER(text);
	return size;
}
