/* SPDX-License-Identifier: Apache-2.0 */
/* See process_maps.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/cleanup.h"
#include "base/regular_file.h"
#include "process/process_maps.h"
#include "text/printable.h"
#include "text/text_span.h"

/* A process can have 65530 mappings (vm.max_map_count), or more if that was raised; lines have about 100 bytes. */
#define PROCESS_FILE_SIZE_MAX (16u << 20)
/* libze_loader and libc have 1 to 3 MB. */
#define LIBRARY_SIZE_MAX (64u << 20)

bool process_mapping_parse(const char *line, size_t length, struct process_mapping *mapping)
{
	/* "7f0000001000-7f0000003000 r-xp 00002000 fe:0a 247498      /usr/bin/env": proc_pid_maps(5) */
	enum { START, END, ACCESS, OFFSET, MAJOR, MINOR, FIELD_COUNT };
	static const char separators[FIELD_COUNT] = { '-', ' ', ' ', ' ', ':', ' ' };
	struct text_span rest = { line, length }, fields[FIELD_COUNT];
	uint64_t major, minor;

	*mapping = (struct process_mapping){ 0 };
	for (size_t i = 0; i < FIELD_COUNT; i++)
		if (!span_take_field(&rest, separators[i], &fields[i]))
			return false;
	if (!span_hexadecimal(fields[START], &mapping->start) || !span_hexadecimal(fields[END], &mapping->end) ||
	    mapping->start >= mapping->end || fields[ACCESS].length != 4 ||
	    !span_hexadecimal(fields[OFFSET], &mapping->file_offset) || !span_hexadecimal(fields[MAJOR], &major) ||
	    !span_hexadecimal(fields[MINOR], &minor) || !span_decimal(span_take_word(&rest), &mapping->inode) ||
	    major > UINT32_MAX || minor > UINT32_MAX)
		return false;
	while (rest.length && *rest.text == ' ')
		rest = span_part(rest, 1, rest.length);
	mapping->executable = fields[ACCESS].text[2] == 'x';
	mapping->shared = fields[ACCESS].text[3] == 's';
	mapping->device_major = (uint32_t)major;
	mapping->device_minor = (uint32_t)minor;
	mapping->path = rest.text;
	mapping->path_length = rest.length;
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
		if (process_mapping_parse(line, line_length, mapping))
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
	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	CLEANUP_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	return descriptor < 0 ? NULL : file_read_all(descriptor, PROCESS_FILE_SIZE_MAX, length);
}

char *process_name_read(pid_t pid)
{
	size_t length;
	char *name = process_file_read(pid, "comm", &length);

	/* The name may contain newlines, too. */
	if (name && length && name[length - 1] == '\n')
		name[length - 1] = '\0';
	return name;
}

void process_describe(pid_t pid, char *text, size_t size)
{
	char *name = process_name_read(pid);

	snprintf(text, size, "process %d (%s)", (int)pid, name && name[0] ? name : "gone");
	text_make_printable(text);
	free(name);
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
	/* Fewer bytes if the file was truncated: readers validate every offset. */
	ssize_t count = bytes ? file_read_at(descriptor, bytes, (size_t)status.st_size, 0) : 0;
	*size = count > 0 ? (size_t)count : 0;
	return bytes;
}
