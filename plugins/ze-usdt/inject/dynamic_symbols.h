/* SPDX-License-Identifier: Apache-2.0 */
/* Where functions lie in a 64-bit x86-64 ELF library: by dynamic symbol. Pure functions over bytes of anybody's file.
 */
#ifndef IAPROF_ZE_USDT_INJECT_DYNAMIC_SYMBOLS_H
#define IAPROF_ZE_USDT_INJECT_DYNAMIC_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

struct dynamic_symbol {
	const char *name;     /* set by the caller */
	uint64_t file_offset; /* of the function's first byte, in an executable segment; 0: not found */
};

/*
 * Finds functions that the library exports. Of one with several versions the default one is taken. Returns how many
 * were found, or -EINVAL for bytes that are no ELF file of this kind; file_offset is set for every symbol.
 */
int dynamic_symbols_find(const uint8_t *memory, size_t size, struct dynamic_symbol *symbols, size_t count);

/*
 * The file offset of a system call instruction in an executable segment, or 0. It may lie inside of a longer one: who
 * jumps to it executes a system call all the same.
 */
uint64_t system_call_find(const uint8_t *memory, size_t size);

#endif
