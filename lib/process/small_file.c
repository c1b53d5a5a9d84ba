/* SPDX-License-Identifier: Apache-2.0 */
/* See small_file.h. */
#include "process/small_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"

#define SIZE_USUAL ((size_t)4 << 10)

size_t small_file_read(const char *path, char **bytes)
{
	CLEANUP_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	CLEANUP_FREE char *text = NULL;
	size_t size = 0, room = 0;
	*bytes = NULL;
	while (descriptor >= 0 && size < SMALL_FILE_SIZE_MAX) {
		if (size + 1 >= room && !array_grow((void **)&text, &room, room ? room + 1 : SIZE_USUAL, 1))
			return 0;
		size_t wanted = room - 1 < SMALL_FILE_SIZE_MAX ? room - 1 : SMALL_FILE_SIZE_MAX;
		ssize_t result = read(descriptor, text + size, wanted - size);
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
