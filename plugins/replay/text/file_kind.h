/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises files that are no profile, or a profile that another program must convert, to name them in a message. */
#pragma once

#include <stdbool.h>

#include "text/text_span.h"

enum file_kind_flag {
	FILE_KIND_CERTAIN = 1u << 0, /* no profile that can be replayed begins like this */
	FILE_KIND_TEXT = 1u << 1,    /* its lines can be shown */
	FILE_KIND_GZIP = 1u << 2     /* compressed: decompressed, it may be a profile */
};

struct file_kind {
	const char *name;    /* with an article, "an HTML page"; NULL: unknown */
	const char *inside;  /* likewise, the contents of a compressed file; NULL: unknown, or not compressed */
	const char *command; /* what converts it to a text that can be replayed, up to the file name; NULL: none */
	unsigned flags;      /* enum file_kind_flag */
};

/* Looks at the first bytes of a file; path: its name, which identifies some formats. */
struct file_kind file_kind_of(struct text_span begin, const char *path);
