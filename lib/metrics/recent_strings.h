/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The latest strings of the records. A sink that keeps all of them grows with the run; one that looks up a name in the
 * record that declares it needs only those that were defined shortly before.
 */
#pragma once

#include <stdint.h>
#include <iaprof/record.h>

#define RECENT_STRINGS 8192u
/* Longer ones are cut off. */
#define RECENT_STRING_SIZE 128u

struct recent_string {
	uint32_t id;
	char text[RECENT_STRING_SIZE];
};

/* Initialise with {0}: without memory, all names are unknown. */
struct recent_strings {
	struct recent_string *items; /* by id modulo RECENT_STRINGS */
};

void recent_strings_take(struct recent_strings *strings, const struct iaprof_record_string *record);
/* Returns "" for 0, and "[unknown]" for a string that is not there. Valid until the next string. */
const char *recent_strings_text(const struct recent_strings *strings, uint32_t id);
void recent_strings_free(struct recent_strings *strings);
