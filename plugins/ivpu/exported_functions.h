/* SPDX-License-Identifier: Apache-2.0 */
/* Where the functions that a library exports are in its file, which anybody may have written. */
#ifndef IAPROF_PLUGINS_IVPU_EXPORTED_FUNCTIONS_H
#define IAPROF_PLUGINS_IVPU_EXPORTED_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ze-usdt/elf_bytes.h"

/*
 * Gives the offset in the file of each of count functions, 0 of those that it does not export. False when this is no
 * such file, a damaged one, or too large a one.
 */
bool exported_functions_find(const struct elf_bytes *bytes, const char *const *names, size_t count, uint64_t *offsets);

/* The offset of one function; 0: it is not exported, or this is no such file. */
uint64_t exported_function_find(const struct elf_bytes *bytes, const char *name);

#endif
