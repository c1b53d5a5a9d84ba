/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Full disassembly by Intel's library libiga64, if it is installed. It is loaded at run time; without it, only the
 * disassembly is missing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "generation.h"

struct gt_disassembler;

/* Loads the library at path, or, if NULL, that of a distribution or Intel. Returns NULL if there is no usable one. */
struct gt_disassembler *gt_disassembler_open(const char *path);
void gt_disassembler_close(struct gt_disassembler *disassembler);

/*
 * Disassembles the instruction at an offset as one line with single spaces; branch targets are offsets into the code,
 * such as 0x1c0. Returns false, without text, if there is no instruction, or libiga64 does not support the generation
 * or the encoding. Only whole instructions that gt_instruction_decode() accepts are passed to the library. Any thread.
 */
bool gt_disassembler_text(struct gt_disassembler *disassembler, enum gt_generation generation, const void *code,
			  size_t code_size, size_t offset, char *text, size_t text_size);
