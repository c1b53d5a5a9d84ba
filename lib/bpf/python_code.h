/* SPDX-License-Identifier: Apache-2.0 */
/* Reads copies of CPython's code objects (python.h). They are untrusted: any bytes may be in them. Pure functions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "text/text.h"
#include "bpf/python.h"

/* Returns whether a message of this size contains all that its members state. */
bool python_code_is_valid(const struct python_code *code, size_t size);

/* Appends a string as UTF-8; "..." marks one that was cut. */
void python_text_append(struct text *to, const struct python_text *text, const uint8_t *bytes);

/*
 * Returns the line of the instruction at a position in the bytecode, in bytes, by a line table of this format (enum
 * iaprof_python_lines); 0 if it has none.
 */
uint32_t python_line_find(uint32_t format, const uint8_t *table, size_t size, int32_t first_line, int32_t position);
