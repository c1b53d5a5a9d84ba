/* SPDX-License-Identifier: Apache-2.0 */
/* See name_table.h. */
#include "name_table.h"

#include <string.h>

#include "base/saturating.h"

uint32_t name_table_add(struct name_table *table, const char *name)
{
	bool is_new = false;
	if (!array_reserve(&table->weights, table->weights.count + 1))
		return NAME_NONE;
	uint32_t id = string_table_add(&table->names, name, strlen(name), &is_new);
	if (is_new)
		table->weights.items[table->weights.count++] = 0;
	return id - 1; /* NAME_NONE for 0 */
}

void name_table_weigh(struct name_table *table, const char *name, uint64_t weight)
{
	uint32_t id = name ? string_table_find(&table->names, name, strlen(name)) : 0;
	if (id)
		saturating_increase(&table->weights.items[id - 1], weight);
}

void name_table_append(const struct name_table *table, struct text *text)
{
	text_append_string(text, "[");
	for (size_t i = 0; i < table->weights.count; i++) {
		text_append_string(text, i ? "," : "");
		text_append_json(text, name_table_name(table, i));
	}
	text_append_string(text, "]");
}

void name_table_free(struct name_table *table)
{
	string_table_free(&table->names);
	array_free(&table->weights);
}
