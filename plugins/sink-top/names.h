/* SPDX-License-Identifier: Apache-2.0 */
/* Interns frame names. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <iaprof/profile.h>

#include "base/string_table.h"
#include "text/text.h"

/* Replaces names beyond the limit. */
#define NAME_OTHER 0u
#define NAMES_MAX (1u << 20)

/* Cached name of a frame. */
struct known_frame {
	const char *name, *module;
	uint32_t kind, flags;
	uint32_t id, module_id;
};

/* Initialise with {0}. */
struct names {
	struct string_table texts;        /* by ID + 1: the text, a NUL and the suffix */
	struct text text;                 /* the one that is looked up */
	ARRAY(struct known_frame) frames; /* by id of a frame */
};

/* Returns the ID of a name with a suffix, such as " [k]"; NAME_OTHER beyond the limit. */
uint32_t names_find(struct names *names, const char *text, const char *suffix);
static inline const char *names_text(const struct names *names, uint32_t id)
{
	return names->texts.entries.items[id].text;
}
static inline const char *names_suffix(const struct names *names, uint32_t id)
{
	const char *text = names_text(names, id);
	return text + strlen(text) + 1;
}
/* Must be called before names_of_frame() for a new profile. Returns false when out of memory. */
bool names_begin(struct names *names, const struct iaprof_profile *profile);
/* Returns the ID of the shown name of a frame. */
uint32_t names_of_frame(struct names *names, const struct iaprof_profile *profile, uint32_t frame);
/* Returns the ID of the shown name of a frame's module: a file name without folder, "[kernel]" or "". */
uint32_t names_of_module(struct names *names, const struct iaprof_profile *profile, uint32_t frame);
void names_free(struct names *names);
