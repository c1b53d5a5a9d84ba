/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of the stream, each with an id that it keeps for the whole run. Grows with how many distinct ones there are. */
#ifndef IAPROF_PLUGINS_IAPROF_STREAM_STRINGS_H
#define IAPROF_PLUGINS_IAPROF_STREAM_STRINGS_H

#include "common/item_index.h"
#include "common/text.h"

#define STREAM_UNKNOWN 0u      /* the id of what is not known; no line says so */
#define STREAM_UNKNOWN_FILE 1u /* that of a source file; the first line of the stream */
#define STREAM_UNKNOWN_FILE_TEXT "[unknown file]"

/* Initialise with {0}. */
struct stream_strings {
	struct text texts;     /* one after the other, each with a NUL */
	struct text new_lines; /* "string" lines that are to be written before what has their ids */
	size_t *offsets;       /* by id - 1 */
	size_t count, capacity;
	struct item_index index;
	bool failed; /* out of memory: look once, at the end */
};

/* The id of a text, which has no tab and no line's end. The first one gets 1. STREAM_UNKNOWN for an empty text. */
uint32_t stream_strings_id(struct stream_strings *strings, const struct text *text);
void stream_strings_free(struct stream_strings *strings);

#endif
