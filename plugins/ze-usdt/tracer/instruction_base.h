/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The base that a GPU's instruction pointers are relative to (STATE_BASE_ADDRESS). The driver keeps all code of a
 * process in two heaps of 4 GiB, of discrete GPUs and of the integrated one, and the base is the start of the heap.
 * Where the heaps begin depends on how large the processor's addresses are: see instruction_base.c.
 */
#ifndef ZE_TRACER_INSTRUCTION_BASE_H
#define ZE_TRACER_INSTRUCTION_BASE_H

#include <stdbool.h>
#include <stdint.h>

/* Two heaps for each of several drivers: Level Zero's, OpenCL's, and their variants for older GPUs. */
#define INSTRUCTION_BASES_MAX 16

/* Known bases of this process. Initialise with {0}. */
struct instruction_bases {
	uint64_t items[INSTRUCTION_BASES_MAX];
	uint32_t count;
	uint32_t searches; /* of the process's mappings */
};

/*
 * Returns the base for code at an address without sign extension, or 0 if it is not known. Reads /proc/self/maps for
 * the first address in each heap.
 */
uint64_t instruction_base_find(struct instruction_bases *bases, uint64_t address);

/*
 * The same from the mapping that contains the address: a driver's reservation [start, end), or several that Linux has
 * merged.
 */
uint64_t instruction_base_in_reservation(uint64_t start, uint64_t end, uint64_t address);

/*
 * A line of /proc/self/maps. Returns whether it contains the address; *is_reservation: whether it is anonymous and not
 * accessible.
 */
bool instruction_base_parse_mapping(const char *line, uint64_t address, uint64_t *start, uint64_t *end,
				    bool *is_reservation);

#endif
