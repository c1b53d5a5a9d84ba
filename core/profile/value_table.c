/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by stack and value type: see value_table.h. */
#include "profile/value_table.h"

void value_table_free(struct value_table *table)
{
	array_free(&table->entries);
	hash_index_free(&table->index);
}

static uint64_t pair_hash(uint32_t stack, uint32_t value_type)
{
	return hash_u64((uint64_t)stack << 32 | value_type);
}

static uint64_t rehash(const void *context, uint32_t position)
{
	const struct value_entry *entry = &((const struct value_table *)context)->entries.items[position];
	return pair_hash(entry->stack, entry->value_type);
}

static struct value_entry *entry_for(struct value_table *table, uint32_t stack, uint32_t value_type)
{
	uint64_t hash = pair_hash(stack, value_type);
	for (struct hash_probe probe = hash_index_probe(&table->index, hash); hash_index_next(&table->index, &probe);) {
		struct value_entry *entry = &table->entries.items[probe.position];
		if (entry->stack == stack && entry->value_type == value_type)
			return entry;
	}
	uint32_t position = (uint32_t)table->entries.count;
	if (!array_push(&table->entries, ((struct value_entry){ .stack = stack, .value_type = value_type })))
		return NULL;
	if (!hash_index_add(&table->index, hash, position, rehash, table)) {
		table->entries.count--;
		return NULL;
	}
	return &table->entries.items[position];
}

static void sum_add(struct value_sum *sum, uint64_t value, uint64_t count)
{
	sum->value = saturating_add(sum->value, value);
	sum->count = saturating_add(sum->count, count);
}

bool value_table_add(struct value_table *table, uint32_t stack, uint32_t value_type, uint64_t value, uint64_t count)
{
	struct value_entry *entry = entry_for(table, stack, value_type);
	if (!entry)
		return false;
	sum_add(&entry->total, value, count);
	sum_add(&entry->interval, value, count);
	return true;
}

void value_table_begin_interval(struct value_table *table)
{
	for (size_t i = 0; i < table->entries.count; i++)
		table->entries.items[i].interval = (struct value_sum){ 0 };
}
