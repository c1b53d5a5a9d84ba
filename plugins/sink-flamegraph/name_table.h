/* SPDX-License-Identifier: Apache-2.0 */
/* Table of distinct names, which a page contains once and refers to by position. */
#pragma once

#include "base/string_table.h"
#include "text/text.h"

#define NAME_NONE UINT32_MAX

/* Initialise with {0}. */
struct name_table {
	struct string_table names;
	ARRAY(uint64_t) weights; /* by position */
};

/* Returns the position of a name, added if it is new; NAME_NONE: out of memory. */
uint32_t name_table_add(struct name_table *table, const char *name);
static inline const char *name_table_name(const struct name_table *table, size_t position)
{
	return string_table_text(&table->names, (uint32_t)position + 1);
}
/* Adds to the weight of a name in the table; ignores other names and NULL. */
void name_table_weigh(struct name_table *table, const char *name, uint64_t weight);
/* Appends the names as a JSON array. */
void name_table_append(const struct name_table *table, struct text *text);
void name_table_free(struct name_table *table);
