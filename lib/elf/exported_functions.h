/* SPDX-License-Identifier: Apache-2.0 */
/* File offsets of the functions that a library exports. The file is untrusted. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "elf/elf_reader.h"

/*
 * Finds the file offset of each of count functions; 0 for functions that are not exported. Returns false for a file of
 * another kind, or one that is damaged or too large.
 */
bool exported_functions_find(const struct elf_reader *bytes, const char *const *names, size_t count, uint64_t *offsets);

/* Returns the file offset of one function, or 0 if it is not exported or the file is invalid. */
uint64_t exported_function_find(const struct elf_reader *bytes, const char *name);
