/* SPDX-License-Identifier: Apache-2.0 */
/* Text wrapped at words, for --help, --list and --check. */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* Width of --help and --list, and of terminals whose width is not known. */
#define WRAPPED_TEXT_WIDTH 80

/*
 * Writes text and a newline. Each line begins in first_column; column: the current one; width: that of lines, in
 * bytes, 0: text is one line, with its blanks. A word that is longer than a line is not divided.
 */
void wrapped_text_write(const char *text, size_t first_column, size_t column, size_t width, FILE *file);
