/* SPDX-License-Identifier: Apache-2.0 */
/* Different names by number: what a page has once and refers to by its position. */
#ifndef IAPROF_PLUGINS_FLAMEGRAPH_NAME_TABLE_H
#define IAPROF_PLUGINS_FLAMEGRAPH_NAME_TABLE_H

#include "common/item_index.h"
#include "common/text.h"

#define NAME_NONE UINT32_MAX

struct named {
	const char *name;
	uint64_t weight;
};

/* Initialise with {0}. Names are borrowed. */
struct name_table {
	struct named *items;
	size_t count, capacity;
	struct item_index index;
};

/* The position of a name; NAME_NONE: out of memory. */
uint32_t name_table_add(struct name_table *table, const char *name);
/* Adds to the weight of a name that is in the table; others and NULL have none. */
void name_table_weigh(struct name_table *table, const char *name, uint64_t weight);
/* As an array of JSON. */
void name_table_append(const struct name_table *table, struct text *text);
void name_table_free(struct name_table *table);

#endif
