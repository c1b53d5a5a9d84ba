/* SPDX-License-Identifier: Apache-2.0 */
/* Output text of sinks: a growing buffer, and sanitized names. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <iaprof/host.h>

/* Initialise with {0}. When out of memory, failed is set and later appends do nothing: check it once, at the end. */
struct text {
	char *data;
	size_t size;
	size_t capacity;
	bool failed;
};

/* Reserves more bytes after data + size. Returns false if out of memory. */
bool text_reserve(struct text *text, size_t more);
/* Releases the memory after data + size. */
void text_shrink(struct text *text);
void text_append(struct text *text, const char *bytes, size_t size);
void text_append_string(struct text *text, const char *string);
void text_append_unsigned(struct text *text, uint64_t value);                       /* in decimal */
void text_append_hexadecimal(struct text *text, const uint8_t *bytes, size_t size); /* two lower-case digits a byte */
void text_append_format(struct text *text, const char *format, ...) IAPROF_PRINTF(2, 3);

/* Returns the text with a NUL, which is not part of its size; "" when out of memory. Valid until it changes. */
const char *text_string(struct text *text);

/* Decodes the character at text, which ends in NUL, and its length; UINT32_MAX and 1 for invalid UTF-8 (RFC 3629). */
uint32_t utf8_decode(const char *text, size_t *length);
/* Returns whether a character is invalid, or does more than show itself: control, line separator, bidirectional mark.
 */
bool utf8_is_unsafe(uint32_t character);

/*
 * Appends an untrusted name as valid UTF-8 on one line: control characters, line and paragraph separators,
 * bidirectional marks and invalid UTF-8 become '?'; whitespace becomes a plain space, and is trimmed at both ends.
 */
void text_append_name(struct text *text, const char *name);

/* Appends the same as a JSON string (RFC 8259), with quotes; NULL is an empty string. */
void text_append_json(struct text *text, const char *name);

/* Writes the text to an output and empties it. Returns 0, or a negative errno after host->fail(). */
int text_write(struct text *text, const struct iaprof_host *host, struct iaprof_output *output);

/* Writes the text as a whole output, which is either complete or not created. variant: as in host->output_open(). */
int text_write_whole(struct text *text, const struct iaprof_host *host, const char *variant);

/* Implements finish() for sinks whose outputs are complete when profile() returns. */
int output_is_finished(const struct iaprof_host *host, void *instance);

void text_free(struct text *text);
