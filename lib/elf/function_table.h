/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that a library does not export, in a table of addresses that the dynamic linker fills in. */
#pragma once

#include "elf/elf_reader.h"

/*
 * Finds the file offsets of the functions at count indexes of the table that has the exported function anchor at index
 * anchor_index. Returns false if there is no table with all of them. The file is untrusted.
 */
bool function_table_find(const struct elf_reader *bytes, const char *anchor, uint32_t anchor_index,
			 const uint32_t *indexes, size_t count, uint64_t *offsets);
