/* SPDX-License-Identifier: Apache-2.0 */
/* Parses /proc/PID/maps, and reads files of other processes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process_mapping {
	uint64_t start, end, file_offset, inode;
	uint32_t device_major, device_minor;
	bool executable, shared;
	const char *path; /* as the Linux kernel wrote it, not NUL-terminated; "" for anonymous memory */
	size_t path_length;
};

/* Parses a line without its line end. Returns false if it is not a mapping. The path points into the line. Pure. */
bool process_mapping_parse(const char *line, size_t length, struct process_mapping *mapping);

/*
 * Parses the line at *text, of *length bytes of text, and moves both to the next line. Returns false at the end. Skips
 * lines that are not mappings. The path points into the text. Pure.
 */
bool process_mapping_next(const char **text, size_t *length, struct process_mapping *mapping);

/* Returns whether the name of the mapped file, without its folders, begins with prefix. Pure. */
bool process_mapping_is_named(const struct process_mapping *mapping, const char *prefix);

/* Returns the contents of a small file below /proc/PID, which the caller frees; NULL with errno set. */
char *process_file_read(pid_t pid, const char *name, size_t *length);

/* Returns the name of a process as it is, which the caller frees; NULL with errno set. */
char *process_name_read(pid_t pid);

/* Writes "process 1234 (python3)", printable; "gone" instead of the name if the process has exited. */
void process_describe(pid_t pid, char *text, size_t size);

/*
 * Returns a private copy of a regular file's bytes, which the caller frees; NULL with errno set (EFBIG: too large for a
 * library).
 */
uint8_t *file_bytes_read(int descriptor, size_t *size);
