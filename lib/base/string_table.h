/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of texts, each stored once under an id: 1, 2, 3, ... in order of arrival. A text can be any bytes, such as a
 * struct without padding; the table's copy is aligned to 8 bytes. Not locked.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/hash.h"

struct string_entry {
	const char *text; /* NUL-terminated, lives as long as the table; NULL: unknown id */
	uint32_t length;
};

/* Initialise with {0}. */
struct string_table {
	struct arena memory;
	ARRAY(struct string_entry) entries; /* by id - 1 */
	struct hash_index index;
};

void string_table_free(struct string_table *table);

/* Returns the id of a text of length bytes without NUL, or 0 if out of memory. *is_new (may be NULL): it was added. */
uint32_t string_table_add(struct string_table *table, const char *text, size_t length, bool *is_new);

/* Returns the id of a text, or 0 if the table does not have it. */
uint32_t string_table_find(const struct string_table *table, const char *text, size_t length);

/* Returns the table's copy of a text, always the same pointer, or NULL if out of memory. */
const char *string_table_intern(struct string_table *table, const char *text, size_t length);

/*
 * Adds a text with an id chosen by the caller, at most 65,536 beyond twice the number of texts. Returns 0; -EINVAL if
 * the id has another text or is too large; -ENOMEM.
 */
int string_table_define(struct string_table *table, uint32_t id, const char *text, size_t length);

/* Returns the text of an id; "" for 0 and unknown ids. */
static inline const char *string_table_text(const struct string_table *table, uint32_t id)
{
	const char *text = id && id <= table->entries.count ? table->entries.items[id - 1].text : NULL;
	return text ? text : "";
}
