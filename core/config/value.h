/* SPDX-License-Identifier: Apache-2.0 */
/* Values as users write them: durations, sizes, numbers, yes and no, lists; and the nearest name to a misspelt one. */
#ifndef IAPROF_CORE_CONFIG_VALUE_H
#define IAPROF_CORE_CONFIG_VALUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each returns 0, -EINVAL (not of that form) or -ERANGE (does not fit). The whole text must be the value. */
int value_parse_bool(const char *text, bool *value);
int value_parse_uint(const char *text, uint64_t *value);     /* decimal or 0x hexadecimal */
int value_parse_double(const char *text, double *value);     /* finite; independent of the locale */
int value_parse_duration(const char *text, uint64_t *value); /* ns us ms s m h, "1.5s", no unit: seconds; in ns */
/* The same, but without a unit it is in plain_unit, one of those; seconds when that is NULL or none of them. */
int value_parse_duration_in(const char *text, const char *plain_unit, uint64_t *value);
int value_parse_size(const char *text, uint64_t *value); /* B KiB MiB GiB kB MB GB, no unit: bytes */

/* For messages and help: "10ms", "30s", "64MiB"; the shortest exact form. */
void value_format_duration(uint64_t value, char *text, size_t size);
void value_format_size(uint64_t value, char *text, size_t size);

/* Text for a message, cut when it is long, so that it does not push the message's own words out. */
struct value_excerpt {
	char text[68];
};
struct value_excerpt value_excerpt(const char *text);

/* The name of names (NULL-terminated) that is nearest to text by edit distance, or NULL when none is near. */
const char *value_nearest_name(const char *text, const char *const *names);

#endif
