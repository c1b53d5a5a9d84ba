/* SPDX-License-Identifier: Apache-2.0 */
/* Makes text of other users' programs safe for a terminal. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * Replaces every byte of a control character, line separator, bidirectional mark or invalid UTF-8 by '?'. Control
 * characters are those below U+0020, and U+007F to U+009F: terminals interpret U+009B, and some the byte 0x9b, as the
 * start of a command (ECMA-48).
 */
void text_make_printable(char *text);

/* Writes text, made printable, truncated to a number of columns; each character counts as one. */
void text_print_printable(const char *text, int columns, FILE *file);

/* Returns the last component of a path, or the path if that is empty; NULL for NULL. */
const char *path_name(const char *path);

/* The end of a path for a message, where the name of the file is: "..." replaces what is too long. */
struct path_end {
	char text[128];
};
struct path_end path_end(const char *path);
