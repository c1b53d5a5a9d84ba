/* SPDX-License-Identifier: Apache-2.0 */
/* See same_class.h. */
#include "same_class.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define REACH 128 /* bytes before and after the handle of an object in which its tables are */
#define WORDS (2 * REACH / sizeof(uint64_t))
#define RANGES_MAX 16384
#define CHUNK (1u << 20)

struct range {
	uint64_t start, end;
	bool is_driver, is_data;
};
static struct range ranges[RANGES_MAX];
static unsigned range_count;

static void ranges_read(const char *driver)
{
	FILE *file = fopen("/proc/self/maps", "r");
	char line[4096];

	range_count = 0;
	while (fgets(line, sizeof line, file) && range_count < RANGES_MAX) {
		struct range *range = &ranges[range_count++];
		unsigned long inode;
		char rights[5];

		if (sscanf(line, "%lx-%lx %4s %*x %*s %lu", &range->start, &range->end, rights, &inode) != 4)
			exit(1);
		range->is_driver = strstr(line, driver);
		range->is_data = strncmp(rights, "rw", 2) == 0 && inode == 0;
	}
	fclose(file);
}

static size_t memory_read(uint64_t address, void *to, size_t size)
{
	struct iovec here = { to, size }, there = { (void *)address, size };
	ssize_t got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);

	return got < 0 ? 0 : (size_t)got;
}

static bool is_in_driver(uint64_t address)
{
	for (unsigned i = 0; i < range_count; i++)
		if (ranges[i].is_driver && address >= ranges[i].start && address < ranges[i].end)
			return true;
	return false;
}

static bool is_in(const struct range *range, const void *address)
{
	return (uintptr_t)address >= range->start && (uintptr_t)address < range->end;
}

void same_class_find(const void *first, const void *second, const char *driver, void (*visit)(void *object))
{
	static uint64_t memory[CHUNK / sizeof(uint64_t)];
	uint64_t one[WORDS] = { 0 }, other[WORDS] = { 0 };
	unsigned tables[WORDS], table_count = 0;

	ranges_read(driver);
	memory_read((uintptr_t)first - REACH, one, sizeof one);
	memory_read((uintptr_t)second - REACH, other, sizeof other);
	for (unsigned i = 0; i < WORDS; i++)
		if (one[i] == other[i] && is_in_driver(one[i]))
			tables[table_count++] = i;
	if (table_count == 0) {
		fprintf(stderr, "the objects have no table of %s\n", driver);
		exit(1);
	}
	for (unsigned i = 0; i < range_count; i++) {
		/* Not the copies that are made here. */
		if (!ranges[i].is_data || is_in(&ranges[i], memory) || is_in(&ranges[i], one))
			continue;
		for (uint64_t at = ranges[i].start; at < ranges[i].end; at += CHUNK - 2 * REACH) {
			size_t left = ranges[i].end - at, size = memory_read(at, memory, left < CHUNK ? left : CHUNK);

			for (size_t word = 0; (word + WORDS) * sizeof(uint64_t) <= size; word++) {
				unsigned same = 0;

				while (same < table_count && memory[word + tables[same]] == one[tables[same]])
					same++;
				if (same == table_count)
					visit((void *)(at + word * sizeof(uint64_t) + REACH));
			}
		}
	}
}
