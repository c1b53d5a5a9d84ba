/* SPDX-License-Identifier: Apache-2.0 */
/* String table of the stream. IDs are valid for the whole run. */
#pragma once

#include "base/string_table.h"
#include "text/text.h"

#define STREAM_UNKNOWN 0u      /* id of unknown texts, which no line defines */
#define STREAM_UNKNOWN_FILE 1u /* id of an unknown source file, defined by the first line of the stream */
#define STREAM_UNKNOWN_FILE_TEXT "[unknown file]"

/* Initialise with {0}. */
struct stream_strings {
	struct string_table texts;
	struct text new_lines; /* "string" lines to be written before other lines use their ids */
	bool failed;           /* out of memory: check once, at the end */
};

/* Returns the ID of a text without tabs and newlines, starting at 1; STREAM_UNKNOWN for an empty text. */
uint32_t stream_strings_id(struct stream_strings *strings, const struct text *text);
void stream_strings_free(struct stream_strings *strings);
