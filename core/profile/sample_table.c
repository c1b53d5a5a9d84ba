/* SPDX-License-Identifier: Apache-2.0 */
/* Samples by program image and raw stack: see sample_table.h. */
#include "profile/sample_table.h"

#include <assert.h>
#include <string.h>

#include "profile/value_table.h"

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
	uint64_t words[HASH_WORDS_MAX];
	static_assert(sizeof words == sizeof *key, "as many words as a key has");
	memcpy(words, key, sizeof words);
	return hash_words(&table->hash_key, words);
}

static uint64_t rehash(const void *context, uint32_t position)
{
	const struct sample_table *table = context;
	return key_hash(table, &table->entries.items[position].key);
}

static uint64_t process_rehash(const void *context, uint32_t position)
{
	return hash_u64(((const struct sample_table *)context)->processes.items[position].process);
}

static struct sample_process *find_process(struct sample_table *table, uint32_t process)
{
	for (struct hash_probe probe = hash_index_probe(&table->process_index, hash_u64(process));
	     hash_index_next(&table->process_index, &probe);)
		if (table->processes.items[probe.position].process == process)
			return &table->processes.items[probe.position];
	return NULL;
}

static struct sample_process *process_for(struct sample_table *table, uint32_t process)
{
	struct sample_process *found = find_process(table, process);
	if (found)
		return found;
	uint32_t position = (uint32_t)table->processes.count;
	if (!array_push(&table->processes, ((struct sample_process){ .process = process, .first = SAMPLE_NONE })))
		return NULL;
	if (!hash_index_add(&table->process_index, hash_u64(process), position, process_rehash, table)) {
		table->processes.count--;
		return NULL;
	}
	return &table->processes.items[position];
}

static struct sample_entry *entry_for(struct sample_table *table, const struct sample_key *key)
{
	uint64_t hash = key_hash(table, key);
	for (struct hash_probe probe = hash_index_probe(&table->index, hash); hash_index_next(&table->index, &probe);) {
		struct sample_entry *entry = &table->entries.items[probe.position];
		if (!memcmp(&entry->key, key, sizeof *key))
			return entry;
	}
	struct sample_process *process = process_for(table, key->process);
	uint32_t position = (uint32_t)table->entries.count;
	struct sample_entry entry = { .key = *key, .next = process ? process->first : 0, .times = TIME_VALUE_NONE };
	if (!process || !array_push(&table->entries, entry))
		return NULL;
	if (!hash_index_add(&table->index, hash, position, rehash, table)) {
		table->entries.count--;
		return NULL;
	}
	process->first = position;
	return &table->entries.items[position];
}

static void add_values(struct sample_entry *entry, uint64_t time, uint64_t value, uint64_t count)
{
	entry->value = saturating_add(entry->value, value);
	entry->count = saturating_add(entry->count, count);
	if (time > entry->last_time)
		entry->last_time = time;
}

bool sample_table_add(struct sample_table *table, const struct sample_key *key, uint64_t first_time, uint64_t time,
		      uint64_t value, uint64_t count)
{
	struct sample_entry *entry = entry_for(table, key);
	if (!entry ||
	    !time_values_add(&table->times, &entry->times, first_time < time ? first_time : time, time, value, count))
		return false;
	add_values(entry, time, value, count);
	return true;
}

bool sample_table_put_back(struct sample_table *table, const struct sample_key *key, const struct sample_entry *put)
{
	struct sample_entry *entry = entry_for(table, key);
	if (!entry)
		return false;
	add_values(entry, put->last_time, put->value, put->count);
	/* The list that was there goes behind the last of the other one. */
	uint32_t *end = &entry->times, list = entry->times;
	*end = put->times;
	while (*end != TIME_VALUE_NONE)
		end = &table->times.items.items[*end].next;
	*end = list;
	return true;
}

/* take() gets a copy, for what it adds can move the table. */
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
