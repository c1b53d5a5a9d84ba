/* SPDX-License-Identifier: Apache-2.0 */
/* Decompresses debug sections that are compressed with Zstandard, which libelf before 0.189 cannot read. */
#pragma once

#include "symbolizer/elf_file.h"

/*
 * Replaces a file that has such sections by one in memory, with its debug sections only. size_max: bytes of that.
 * Returns 0, also if there are none, or a negative errno: the file is then unchanged.
 */
int debug_unpack(struct elf_file *file, uint64_t size_max);
