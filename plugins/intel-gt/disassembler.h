/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The full text of instructions, from Intel's disassembler libiga64 when the machine has it. It is loaded at run time;
 * without it only the text is missing.
 */
#ifndef IAPROF_PLUGINS_INTEL_GT_DISASSEMBLER_H
#define IAPROF_PLUGINS_INTEL_GT_DISASSEMBLER_H

#include <stdbool.h>
#include <stddef.h>

#include "generation.h"

struct gt_disassembler;

/* A library by its path, or NULL: those that distributions and Intel install. NULL when there is none that will do. */
struct gt_disassembler *gt_disassembler_open(const char *path);
void gt_disassembler_close(struct gt_disassembler *disassembler);

/*
 * The text of the instruction at an offset, one line with single spaces; branch targets are offsets into the code, as
 * 0x1c0. False, and no text, when there is no instruction, or libiga64 does not know the generation or the bits. Only
 * whole instructions that gt_instruction_decode() takes go to the library. Any thread.
 */
bool gt_disassembler_text(struct gt_disassembler *disassembler, enum gt_generation generation, const void *code,
			  size_t code_size, size_t offset, char *text, size_t text_size);

#endif
