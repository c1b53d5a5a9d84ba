/* SPDX-License-Identifier: Apache-2.0 */
/* See process_maps.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "process_maps.h"

/* A process may have 65530 mappings (vm.max_map_count) and more where that was raised; lines have about 100 bytes. */
#define PROCESS_FILE_SIZE_MAX (16u << 20)
/* libze_loader and libc have 1 to 3 MB. */
#define LIBRARY_SIZE_MAX (64u << 20)

/* A number up to the next character that is no digit of the base, which must be end (NUL: anything). */
static bool number_read(const char **text, const char *limit, unsigned int base, char end, uint64_t *number)
{
	const char *at = *text;
	uint64_t value = 0;

	for (; at < limit; at++) {
		unsigned int digit = *at >= '0' && *at <= '9'   ? (unsigned int)(*at - '0')
				     : *at >= 'a' && *at <= 'f' ? (unsigned int)(*at - 'a') + 10
								: 99;
		if (digit >= base)
			break;
		if (value > (UINT64_MAX - digit) / base)
			return false;
		value = value * base + digit;
	}
	if (at == *text || (end && (at == limit || *at++ != end)))
		return false;
	*text = at;
	*number = value;
	return true;
}

static bool mapping_parse(const char *line, size_t length, struct process_mapping *mapping)
{
	const char *limit = line + length;
	uint64_t major, minor;

	*mapping = (struct process_mapping){ 0 };
	if (!number_read(&line, limit, 16, '-', &mapping->start) ||
	    !number_read(&line, limit, 16, ' ', &mapping->end) || mapping->start >= mapping->end || limit - line < 5 ||
	    line[4] != ' ')
		return false;
	mapping->executable = line[2] == 'x';
	line += 5;
	if (!number_read(&line, limit, 16, ' ', &mapping->file_offset) || !number_read(&line, limit, 16, ':', &major) ||
	    !number_read(&line, limit, 16, ' ', &minor) || !number_read(&line, limit, 10, '\0', &mapping->inode) ||
	    major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	mapping->device_major = (uint32_t)major;
	mapping->device_minor = (uint32_t)minor;
	while (line < limit && *line == ' ')
		line++;
	mapping->path = line;
	mapping->path_length = (size_t)(limit - line);
	return true;
}

bool process_mapping_next(const char **text, size_t *length, struct process_mapping *mapping)
{
	while (*length) {
		const char *line = *text;
		const char *end = memchr(line, '\n', *length);
		size_t line_length = end ? (size_t)(end - line) : *length;
		size_t taken = line_length + (end != NULL);
		*text += taken;
		*length -= taken;
		if (mapping_parse(line, line_length, mapping))
			return true;
	}
	return false;
}

bool process_mapping_is_named(const struct process_mapping *mapping, const char *prefix)
{
	const char *slash = mapping->path_length ? memrchr(mapping->path, '/', mapping->path_length) : NULL;
	size_t prefix_length = strlen(prefix);

	if (!slash)
		return false;
	size_t name_length = mapping->path_length - (size_t)(slash + 1 - mapping->path);
	return name_length >= prefix_length && memcmp(slash + 1, prefix, prefix_length) == 0;
}

char *process_file_read(pid_t pid, const char *name, size_t *length)
{
	char path[64];
	size_t capacity = 1u << 16, used = 0;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return NULL;
	char *text = malloc(capacity);
	int error = text ? 0 : ENOMEM;
	while (!error) {
		ssize_t count = read(descriptor, text + used, capacity - used - 1);
		if (count <= 0) {
			error = count < 0 ? errno : 0;
			break;
		}
		used += (size_t)count;
		if (capacity - used > 1)
			continue;
		char *larger = capacity < PROCESS_FILE_SIZE_MAX ? realloc(text, capacity *= 2) : NULL;
		if (larger)
			text = larger;
		else
			error = EFBIG;
	}
	close(descriptor);
	if (error) {
		free(text);
		errno = error;
		return NULL;
	}
	text[used] = '\0';
	*length = used;
	return text;
}

uint8_t *file_bytes_read(int descriptor, size_t *size)
{
	struct stat status;

	if (fstat(descriptor, &status) != 0)
		return NULL;
	if (status.st_size <= 0 || status.st_size > (off_t)LIBRARY_SIZE_MAX) {
		errno = EFBIG;
		return NULL;
	}
	uint8_t *bytes = malloc((size_t)status.st_size);
	if (!bytes)
		return NULL;
	for (*size = 0; *size < (size_t)status.st_size;) {
		ssize_t count = pread(descriptor, bytes + *size, (size_t)status.st_size - *size, (off_t)*size);
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			break; /* it became shorter: the readers look at every offset */
		*size += (size_t)count;
	}
	return bytes;
}
