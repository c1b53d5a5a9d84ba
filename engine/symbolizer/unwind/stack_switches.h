/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of Go's runtime that run others on another stack (runtime/asm_amd64.s). They have no rules in .eh_frame.
 * Parses hostile data, as unwind_table.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "symbolizer/elf_file.h"

/*
 * Calls use for each of them, until it returns false. cfa: IAPROF_UNWIND_CFA_SWITCHED, or IAPROF_UNWIND_CFA_END for
 * those that leave the stack below for good.
 */
void stack_switches_each(const struct elf_file *elf,
			 bool (*use)(void *context, uint64_t start, uint64_t end, uint8_t cfa), void *context);
