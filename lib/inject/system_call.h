/* SPDX-License-Identifier: Apache-2.0 */
/* Finds a system call instruction in the code of a library, which may be any file. Pure; any thread. */
#pragma once

#include "elf/elf_reader.h"

/*
 * Returns the file offset of a system call instruction in an executable segment of a file in memory, or 0. It may be
 * part of a longer instruction: jumping to it executes a system call anyway.
 */
uint64_t system_call_find(const struct elf_reader *library);
