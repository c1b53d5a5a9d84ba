/* SPDX-License-Identifier: Apache-2.0 */
/* Names cut to the columns of a terminal. */
#ifndef IAPROF_PLUGINS_TOP_COLUMNS_H
#define IAPROF_PLUGINS_TOP_COLUMNS_H

#include <locale.h>
#include <stdbool.h>

#include "common/text.h"

/* What the user's terminal shows, by the environment. */
struct charset {
	bool utf8;       /* else only ASCII */
	locale_t locale; /* that knows how wide characters are; (locale_t)0 none */
};

struct charset charset_of_user(void);
void charset_free(struct charset *charset);

/*
 * Appends a name that anybody may have chosen, made safe, at most so many columns wide. What the terminal cannot show
 * is '?'. Returns how many columns it takes.
 */
unsigned columns_append(struct text *text, const struct charset *charset, const char *name, unsigned columns);

#endif
