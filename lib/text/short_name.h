/* SPDX-License-Identifier: Apache-2.0 */
/* Names of functions, shortened for a line of text. Names of C++ templates have hundreds of characters. */
#pragma once

#include <stddef.h>

#include "text/text.h"

/* The least limit. */
#define SHORT_NAME_LEAST 16u

/*
 * Appends a name, escaped as by text_append_name(). One that is longer than limit bytes loses, until it
 * fits: its result type and the types of its parameters, "sort<pair<int> >(...)"; namespaces; what its innermost
 * brackets contain, "sort<pair<...> >" and then "sort<pai..."; and its middle, "begin...end". Bytes outside of ASCII
 * are whole characters of valid UTF-8, or replaced. Any thread.
 */
void text_append_short_name(struct text *text, const char *name, size_t limit);
