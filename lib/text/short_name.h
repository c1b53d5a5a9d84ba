/* SPDX-License-Identifier: Apache-2.0 */
/* Names of functions, shortened for a line of text. Names of C++ templates have hundreds of characters. */
#pragma once

#include <stddef.h>

#include "text/text.h"

/*
 * Appends a name, escaped as by text_append_name(). One that is longer than limit (at least 16) bytes loses what its
 * innermost brackets contain, "sort<pair<...>>" and then "sort<...>", until it fits, and then its middle:
 * "begin...end". Bytes outside of ASCII are whole characters of valid UTF-8, or replaced. Any thread.
 */
void text_append_short_name(struct text *text, const char *name, size_t limit);
