/* SPDX-License-Identifier: Apache-2.0 */
/* Records that later records refer to by id, for sinks, which need names for them: strings, stacks, value types, ... */
#ifndef IAPROF_PLUGINS_COMMON_DEFINITIONS_H
#define IAPROF_PLUGINS_COMMON_DEFINITIONS_H

#include <iaprof/record.h>

#define DEFINITIONS_STRINGS_MAX (1u << 24)

/* Initialise with {0}. */
struct definitions {
	void *root;                     /* of a search tree (search.h) */
	struct iaprof_record **strings; /* by id, NULL where there is none; those above the limit are in the tree */
	uint32_t string_count;
};

/* Keeps a copy of the record if it is a definition, in place of an older one of the same id. 0 or -ENOMEM. */
int definitions_take(struct definitions *definitions, const struct iaprof_record *record);

/* The record of this type that defined id, for records of source (where ids are a source's own); NULL none. */
const void *definitions_find(const struct definitions *definitions, uint16_t type, uint16_t source, uint32_t id);

/* The CODE_FUNCTION record of a function, by the string id of its name in the symbol table; NULL none. */
const struct iaprof_record_code_function *
definitions_find_function(const struct definitions *definitions, uint16_t source, uint32_t code_object, uint32_t name);

/* The text of a string id: "" for 0, "[unknown]" when it was never defined. */
const char *definitions_text(const struct definitions *definitions, uint32_t id);

void definitions_free(struct definitions *definitions);

#endif
