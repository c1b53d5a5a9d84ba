/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing of user input: durations, sizes, numbers, booleans, lists; and suggestions for misspelt names. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each returns 0, -EINVAL (bad syntax) or -ERANGE (does not fit). The value must span the whole text. */
int value_parse_bool(const char *text, bool *value);
int value_parse_uint(const char *text, uint64_t *value);     /* decimal or 0x hexadecimal */
int value_parse_double(const char *text, double *value);     /* finite; independent of the locale */
int value_parse_duration(const char *text, uint64_t *value); /* ns us ms s m h, "1.5s", no unit: seconds; in ns */
/*
 * The same, but plain_unit, one of those units, applies to a number without unit; seconds if plain_unit is NULL or
 * unknown.
 */
int value_parse_duration_in(const char *text, const char *plain_unit, uint64_t *value);
int value_parse_size(const char *text, uint64_t *value); /* B KiB MiB GiB kB MB GB, no unit: bytes */

/* Format values for messages and help: "10ms", "30s", "64MiB"; the shortest exact form. */
void value_format_duration(uint64_t value, char *text, size_t size);
void value_format_size(uint64_t value, char *text, size_t size);

/* Excerpt of user text for a message, truncated so that the message itself is not. */
struct value_excerpt {
	char text[68];
};
struct value_excerpt value_excerpt(const char *text);

/* Returns the entry of names (NULL-terminated) nearest to text by edit distance, or NULL if none is near. */
const char *value_nearest_name(const char *text, const char *const *names);
