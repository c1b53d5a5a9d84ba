/* SPDX-License-Identifier: Apache-2.0 */
/* Text that sinks write: a buffer that grows, and names made safe for a line of text. */
#ifndef IAPROF_PLUGINS_COMMON_TEXT_H
#define IAPROF_PLUGINS_COMMON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/host.h>

/* Initialise with {0}. When memory runs out failed is set and later appends do nothing: look once, at the end. */
struct text {
	char *data;
	size_t size;
	size_t capacity;
	bool failed;
};

/* Makes room for so many bytes more behind data + size. False when there is none. */
bool text_reserve(struct text *text, size_t more);
void text_append(struct text *text, const char *bytes, size_t size);
void text_append_string(struct text *text, const char *string);
void text_append_unsigned(struct text *text, uint64_t value); /* in decimal */
void text_append_format(struct text *text, const char *format, ...) IAPROF_PRINTF(2, 3);

/*
 * Appends a name that anybody may have chosen, as valid UTF-8 on one line: control characters, line and paragraph
 * separators, marks that reverse the direction of text, and bytes that are not UTF-8 become '?'; every kind of space
 * becomes a plain one, and none is left at either end.
 */
void text_append_name(struct text *text, const char *name);

/* The same as a string of JSON (RFC 8259), with its quotes; NULL is an empty one. */
void text_append_json(struct text *text, const char *name);

/* Hands the text to an output and empties it. 0, or a negative errno after host->fail(). */
int text_write(struct text *text, const struct iaprof_host *host, struct iaprof_output *output);

/* The same with a whole output, which is complete or not there afterwards. variant: as of host->output_open(). */
int text_write_whole(struct text *text, const struct iaprof_host *host, const char *variant);

void text_free(struct text *text);

#endif
