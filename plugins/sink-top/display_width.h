/* SPDX-License-Identifier: Apache-2.0 */
/* Truncates names to columns of a terminal. */
#pragma once

#include <locale.h>
#include <stdbool.h>

#include "text/text.h"

/* Character set of the user's terminal, from the environment. */
struct charset {
	bool utf8;       /* otherwise ASCII only */
	locale_t locale; /* locale that defines the width of characters; (locale_t)0 if none */
};

struct charset charset_of_user(void);
void charset_free(struct charset *charset);

/*
 * Appends an untrusted name, sanitized and truncated to columns. Characters that the terminal cannot show become '?'.
 * Returns the number of columns used.
 */
unsigned columns_append(struct text *text, const struct charset *charset, const char *name, unsigned columns);
