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
bool exported_functions_find(const struct elf_bytes *bytes, const char *(*name_of)(size_t number), size_t count,
			     uint64_t *offsets);

#endif
