/* SPDX-License-Identifier: Apache-2.0 */
/* Text of other users' programs, made safe for a terminal. */
#ifndef IAPROF_CORE_BASE_PRINTABLE_H
#define IAPROF_CORE_BASE_PRINTABLE_H

#include <stdio.h>

/*
 * Makes every byte '?' that belongs to a control character or to nothing in UTF-8. Control characters are those below
 * U+0020, and U+007F to U+009F: a terminal takes U+009B, and some the byte 0x9b, for the start of a command (ECMA-48).
 */
void text_make_printable(char *text);

/* Writes text, made printable, and at most so many columns of it; each character counts as one. */
void text_print_printable(const char *text, int columns, FILE *file);

#endif
