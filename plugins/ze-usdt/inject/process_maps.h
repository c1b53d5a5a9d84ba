/* SPDX-License-Identifier: Apache-2.0 */
/* The mappings of another process, from the text of /proc/PID/maps, and the files behind them. */
#ifndef IAPROF_ZE_USDT_INJECT_PROCESS_MAPS_H
#define IAPROF_ZE_USDT_INJECT_PROCESS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct process_mapping {
	uint64_t start, end, file_offset, inode;
	uint32_t device_major, device_minor;
	bool executable;
	const char *path; /* as the kernel wrote it, not ended by NUL; "" for anonymous memory */
	size_t path_length;
};

/*
 * Reads the line that begins at *text, of *length bytes of text, and moves both to the next line. False at the end.
 * What is no mapping is skipped. The path points into the text. Pure.
 */
bool process_mapping_next(const char **text, size_t *length, struct process_mapping *mapping);

/* Whether the name of the mapped file, without its folders, begins with prefix. Pure. */
bool process_mapping_is_named(const struct process_mapping *mapping, const char *prefix);

/* The whole text of a small file below /proc/PID. The caller frees it; NULL with errno set. */
char *process_file_read(pid_t pid, const char *name, size_t *length);

/* A private copy of a regular file's bytes. The caller frees it; NULL with errno set (EFBIG: larger than a library is).
 */
uint8_t *file_bytes_read(int descriptor, size_t *size);

#endif
