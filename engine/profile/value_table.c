/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by stack and value type: see value_table.h. */
#include "profile/value_table.h"

void value_table_free(struct value_table *table)
{
	keyed_array_free(&table->entries);
}

static void sum_add(struct value_sum *sum, uint64_t value, uint64_t count)
{
	sum->value = saturating_add(sum->value, value);
	sum->count = saturating_add(sum->count, count);
}

bool value_table_add(struct value_table *table, uint32_t stack, uint32_t value_type, uint64_t value, uint64_t count)
{
	uint32_t position = keyed_array_add(&table->entries, &((struct value_entry){ .key = { stack, value_type } }));
	if (position == POSITION_NONE)
		return false;
	struct value_entry *entry = &table->entries.items[position];
	sum_add(&entry->total, value, count);
	sum_add(&entry->interval, value, count);
	return true;
}

void value_table_begin_interval(struct value_table *table)
{
	for (size_t i = 0; i < table->entries.count; i++)
		table->entries.items[i].interval = (struct value_sum){ 0 };
}
