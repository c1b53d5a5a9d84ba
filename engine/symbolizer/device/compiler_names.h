/* SPDX-License-Identifier: Apache-2.0 */
/* Names that compilers for GPUs give functions which they leave in a kernel or add to it. */
#pragma once

#include <stddef.h>

/* Longest result, with its NUL, for a name of any length. */
#define COMPILER_NAME_SIZE 256

/*
 * Returns the name to demangle and display for a function's symbol: the symbol itself, a part of it, or text: for
 * "$kernel$function" the function, and for the compiler's arithmetic helpers what they compute, in brackets.
 */
const char *compiler_name(const char *symbol, char text[static COMPILER_NAME_SIZE]);
