/* SPDX-License-Identifier: Apache-2.0 */
/* A set of texts, each stored once under a number: 1, 2, 3, ... in order of arrival. Not locked. */
#ifndef IAPROF_CORE_BASE_STRING_TABLE_H
#define IAPROF_CORE_BASE_STRING_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/hash.h"

struct string_entry {
	const char *text; /* NUL-terminated, lives as long as the table; NULL: no such id */
	uint64_t hash;
	uint32_t length;
};

/* Initialise with {0}. */
struct string_table {
	struct arena memory;
	ARRAY(struct string_entry) entries; /* by id - 1 */
	struct hash_index index;
};

void string_table_free(struct string_table *table);

/* The id of a text of length bytes without NUL; *is_new says whether it was added now (may be NULL). 0: out of memory.
 */
uint32_t string_table_add(struct string_table *table, const char *text, size_t length, bool *is_new);

/* The table's own copy of such a text, the same pointer each time. NULL: out of memory. */
const char *string_table_intern(struct string_table *table, const char *text, size_t length);

/*
 * Gives a text an id chosen by somebody else, at most 65,536 beyond twice the number of texts. 0; -EINVAL when the id
 * has another text or is too large; -ENOMEM.
 */
int string_table_define(struct string_table *table, uint32_t id, const char *text, size_t length);

/* The text of an id; "" for 0 and unknown ids. */
static inline const char *string_table_text(const struct string_table *table, uint32_t id)
{
	const char *text = id && id <= table->entries.count ? table->entries.items[id - 1].text : NULL;
	return text ? text : "";
}

#endif
