/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See instruction_base.h. Intel's driver (compute-runtime, shared/source/memory_manager/gfx_partition.cpp) places its
 * heaps
 * - at 2^47 on processors with addresses of 48 bits, where no program has mappings above;
 * - otherwise in a reservation of its own: anonymous memory without access, of N * 2^40 + 2^16 bytes for N GPUs, whose
 *   start is rounded up to 2^16. Reservations of several drivers follow one another, and Linux merges them into one
 *   mapping: /proc/self/maps shows where the first one begins.
 */
#include "instruction_base.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIXED_START (UINT64_C(1) << 47)
#define HEAP_SIZE (UINT64_C(1) << 32)
#define CODE_HEAPS 2
#define GRANULARITY (UINT64_C(1) << 16)
#define TERABYTE (UINT64_C(1) << 40)

/* Reservations in one mapping: one for each driver. */
#define RESERVATIONS_MAX 8

/* Each search reads all mappings of the process. */
#define SEARCHES_MAX 32

/* Of a line, what is in front of the path. */
#define LINE_SIZE 128

static uint64_t heap_base(uint64_t start, uint64_t address)
{
	uint64_t offset = address - start;

	return address >= start && offset < CODE_HEAPS * HEAP_SIZE ? start + offset / HEAP_SIZE * HEAP_SIZE : 0;
}

uint64_t instruction_base_in_reservation(uint64_t start, uint64_t end, uint64_t address)
{
	uint64_t size = end - start, aligned = (start + GRANULARITY - 1) / GRANULARITY * GRANULARITY;
	uint64_t terabytes = size / TERABYTE, reservations = size % TERABYTE / GRANULARITY;

	if (size % GRANULARITY || reservations == 0 || reservations > RESERVATIONS_MAX || terabytes < reservations ||
	    address < aligned)
		return 0;
	/* Each of the preceding reservations has one terabyte at least, and so has each that follows. */
	uint64_t before = (address - aligned) / TERABYTE;
	uint64_t least = before > 0, most = before < reservations - 1 ? before : reservations - 1;
	uint64_t behind = terabytes - before;
	if (reservations > behind && reservations - behind > least)
		least = reservations - behind;
	return least == most ? heap_base(aligned + before * TERABYTE + least * GRANULARITY, address) : 0;
}

bool instruction_base_parse_mapping(const char *line, uint64_t address, uint64_t *start, uint64_t *end,
				    bool *is_reservation)
{
	static const char reserved[] = " ---p 00000000 00:00 0";
	char *rest;

	*start = strtoull(line, &rest, 16);
	if (*rest != '-')
		return false;
	*end = strtoull(rest + 1, &rest, 16);
	*is_reservation = strncmp(rest, reserved, sizeof reserved - 1) == 0 &&
			  strspn(rest + sizeof reserved - 1, " ") == strlen(rest + sizeof reserved - 1);
	return *start <= address && address < *end;
}

/* Returns the base by the mapping that contains the address. */
static uint64_t base_in_line(const char *line, uint64_t address, bool *is_found)
{
	uint64_t start, end;
	bool is_reservation;

	if (!instruction_base_parse_mapping(line, address, &start, &end, &is_reservation))
		return 0;
	*is_found = true;
	return is_reservation ? instruction_base_in_reservation(start, end, address) : 0;
}

/* Does not allocate memory: the thread is the program's. */
static uint64_t base_by_mappings(int file, uint64_t address)
{
	char buffer[4096], line[LINE_SIZE];
	size_t length = 0;
	bool is_found = false;
	uint64_t base = 0;
	ssize_t size;

	while (!is_found && (size = read(file, buffer, sizeof buffer)) > 0)
		for (ssize_t i = 0; i < size && !is_found; i++) {
			if (buffer[i] != '\n') {
				line[length] = buffer[i];
				length += length < sizeof line - 1;
				continue;
			}
			line[length] = 0;
			length = 0;
			base = base_in_line(line, address, &is_found);
		}
	return is_found ? base : heap_base(FIXED_START, address);
}

uint64_t instruction_base_find(struct instruction_bases *bases, uint64_t address)
{
	uint64_t base = 0;

	for (uint32_t i = 0; i < bases->count; i++)
		if (address >= bases->items[i] && address - bases->items[i] < HEAP_SIZE)
			return bases->items[i];
	if (!address || bases->count == INSTRUCTION_BASES_MAX || bases->searches == SEARCHES_MAX)
		return 0;
	bases->searches++;
	int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return 0;
	base = base_by_mappings(file, address);
	close(file);
	if (base)
		bases->items[bases->count++] = base;
	return base;
}
