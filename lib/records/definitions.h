/* SPDX-License-Identifier: Apache-2.0 */
/* Records that later records refer to by id, for sinks: strings, stacks, value types, ... */
#pragma once

#include <iaprof/record.h>

#include "base/array.h"

#define DEFINITIONS_STRINGS_MAX (1u << 24)

/* Initialise with {0}. */
struct definitions {
	void *root;                            /* search tree (search.h) */
	ARRAY(struct iaprof_record *) strings; /* by id, NULL if undefined; ids above the limit are in the tree */
};

/* Stores a copy of the record if it is a definition; replaces an older one of the same id. Returns 0 or -ENOMEM. */
int definitions_take(struct definitions *definitions, const struct iaprof_record *record);

/* Returns the record of this type that defined id, for records of source (if ids are per source), or NULL. */
const void *definitions_find(const struct definitions *definitions, uint16_t type, uint16_t source, uint32_t id);

/* Returns the CODE_FUNCTION record of a function, by the string id of its name in the symbol table, or NULL. */
const struct iaprof_record_code_function *
definitions_find_function(const struct definitions *definitions, uint16_t source, uint32_t code_object, uint32_t name);

/* Returns the text of a string id: "" for 0, "[unknown]" if it was never defined. */
const char *definitions_text(const struct definitions *definitions, uint32_t id);

void definitions_free(struct definitions *definitions);
