/* SPDX-License-Identifier: Apache-2.0 */
/* Samples by program image and raw stack: see sample_table.h. */
#include "profile/sample_table.h"

#include <assert.h>
#include <string.h>

static void clear(struct sample_table *table)
{
	table->entries.count = 0;
	table->processes.count = 0;
	hash_index_free(&table->index);
	hash_index_free(&table->process_index);
	time_values_clear(&table->times);
}

void sample_table_free(struct sample_table *table)
{
	clear(table);
	time_values_free(&table->times);
	array_free(&table->entries);
	array_free(&table->processes);
}

static uint64_t key_hash(const struct sample_table *table, const struct sample_key *key)
{
	/*
	 * Not memcpy(): the key has just been written in smaller parts, and a wider load would have to wait for all of
	 * them.
	 */
	const uint64_t words[] = { (uint64_t)key->process << 32 | key->pid,
				   (uint64_t)key->name << 32 | key->user_stack,
				   (uint64_t)key->kernel_stack << 32 | key->call,
				   (uint64_t)key->value_type << 32 | key->flags,
				   (uint64_t)key->thread.tid << 32 | key->thread.name,
				   (uint64_t)key->span << 32 | key->wait };
	static_assert(sizeof words == sizeof *key, "as many words as a key has");
	return hash_words(&table->hash_key, words, sizeof words / sizeof *words);
}

static struct sample_process *find_process(struct sample_table *table, uint32_t process)
{
	hash_index_each (probe, &table->process_index, hash_u64(process))
		if (table->processes.items[probe.position].process == process)
			return &table->processes.items[probe.position];
	return NULL;
}

static struct sample_process *process_for(struct sample_table *table, uint32_t process)
{
	struct sample_process *found = find_process(table, process);
	if (found)
		return found;
	struct sample_process added = { .process = process, .first = SAMPLE_NONE };
	if (!hash_index_push(&table->process_index, hash_u64(process), &table->processes, added))
		return NULL;
	return &table->processes.items[table->processes.count - 1];
}

uint32_t sample_table_entry(struct sample_table *table, const struct sample_key *key)
{
	uint64_t hash = key_hash(table, key);
	hash_index_each (probe, &table->index, hash)
		if (!memcmp(&table->entries.items[probe.position].key, key, sizeof *key))
			return probe.position;
	struct sample_process *process = process_for(table, key->process);
	uint32_t position = (uint32_t)table->entries.count;
	struct sample_entry entry = { .key = *key, .next = process ? process->first : 0, .times = TIME_VALUE_NONE };
	if (!process || !hash_index_push(&table->index, hash, &table->entries, entry))
		return SAMPLE_NONE;
	process->first = position;
	return position;
}

bool sample_table_put_back(struct sample_table *table, const struct sample_key *key, const struct sample_entry *put)
{
	uint32_t position = sample_table_entry(table, key);
	if (position == SAMPLE_NONE)
		return false;
	struct sample_entry *entry = &table->entries.items[position];
	sample_entry_add(entry, put->last_time, put->value, put->count);
	/* Appends the entry's list to the one that is put back. */
	uint32_t *end = &entry->times, list = entry->times;
	*end = put->times;
	while (*end != TIME_VALUE_NONE)
		end = &table->times.items.items[*end].next;
	*end = list;
	return true;
}

/* take() receives a copy, because it may add entries, which moves the table. */
static void take_entry(struct sample_table *table, size_t position,
		       void (*take)(void *context, const struct sample_entry *entry), void *context)
{
	struct sample_entry entry = table->entries.items[position];
	if (!entry.count)
		return;
	table->entries.items[position].value = table->entries.items[position].count = 0;
	table->entries.items[position].times = TIME_VALUE_NONE;
	take(context, &entry);
}

void sample_table_take_process(struct sample_table *table, uint32_t process,
			       void (*take)(void *context, const struct sample_entry *entry), void *context)
{
	const struct sample_process *found = find_process(table, process);
	for (uint32_t position = found ? found->first : SAMPLE_NONE; position != SAMPLE_NONE;
	     position = table->entries.items[position].next)
		take_entry(table, position, take, context);
}

void sample_table_take_all(struct sample_table *table, void (*take)(void *context, const struct sample_entry *entry),
			   void *context)
{
	for (size_t i = 0; i < table->entries.count; i++)
		take_entry(table, i, take, context);
	clear(table);
}
