/* SPDX-License-Identifier: Apache-2.0 */
/* See jit_dump.h. Linux: tools/perf/Documentation/jitdump-specification.txt */
#include "symbolizer/jit_dump.h"

#include <errno.h>
#include <string.h>

#define MAGIC 0x4a695444u

struct file_header {
	uint32_t magic, version, size, machine, pad, process;
	uint64_t time, flags;
};

struct record_header {
	uint32_t type, size;
	uint64_t time;
};

enum { CODE_LOAD = 0, CODE_MOVE = 1 };

/* A name that ends with a zero, and the code follow. */
struct code_load {
	struct record_header header;
	uint32_t process, thread;
	uint64_t file_address, address, size, number;
};

bool jit_dump_begins(const char *bytes, size_t length)
{
	uint32_t magic = 0;
	if (length >= sizeof magic)
		memcpy(&magic, bytes, sizeof magic);
	return magic == MAGIC;
}

/* Adds a function. available: bytes of the record that are there. Returns 1, 0 if more of them are needed, or -ENOMEM.
 */
static int add_load(struct perf_map *map, const char *bytes, size_t available, size_t size)
{
	struct code_load load;
	if (size < sizeof load) {
		map->skipped++;
		return 1;
	}
	if (available < sizeof load)
		return 0;
	memcpy(&load, bytes, sizeof load);
	const char *name = bytes + sizeof load;
	const char *end = memchr(name, '\0', available - sizeof load);
	if (!end && available < size)
		return 0;
	if (!end) {
		map->skipped++;
		return 1;
	}
	int result = perf_map_add_function(map, load.address, load.size, name, (size_t)(end - name));
	return result ? result : 1;
}

long jit_dump_add(struct perf_map *map, const char *bytes, size_t length, bool is_begin)
{
	size_t at = 0;
	if (is_begin) {
		struct file_header header;
		if (length < sizeof header)
			return 0;
		memcpy(&header, bytes, sizeof header);
		if (header.magic != MAGIC || header.version != 1 || header.size < sizeof header)
			return -EINVAL;
		at = header.size;
	}
	while (at < length && length - at >= sizeof(struct record_header)) {
		struct record_header header;
		memcpy(&header, bytes + at, sizeof header);
		if (header.size < sizeof header)
			return -EINVAL;
		size_t available = length - at < header.size ? length - at : header.size;
		int added = header.type == CODE_LOAD ? add_load(map, bytes + at, available, header.size) : 1;
		if (added < 0)
			return added;
		if (!added)
			break;
		map->skipped += header.type == CODE_MOVE;
		at += header.size;
	}
	return (long)at;
}
