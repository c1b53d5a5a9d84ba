/* SPDX-License-Identifier: Apache-2.0 */
/* The code objects that are loaded: see loaded_code.h. */
#include "profile/loaded_code.h"

#include <stdlib.h>

#define NONE LOADED_CODE_NONE

static void release(struct loaded_code *loaded)
{
	array_free(&loaded->starts);
	free(loaded->is_placed);
	device_image_release(loaded->image);
}

void loaded_code_table_free(struct loaded_code_table *table)
{
	for (size_t i = 0; i < table->items.count; i++)
		if (table->items.items[i].id)
			release(&table->items.items[i]);
	array_free(&table->items);
	array_free(&table->owners);
	hash_index_free(&table->by_id);
	hash_index_free(&table->by_pid);
}

static uint64_t id_hash(uint16_t source, uint32_t id)
{
	return hash_u64((uint64_t)source << 32 | id);
}

static uint64_t id_rehash(const void *context, uint32_t position)
{
	const struct loaded_code *loaded = &((const struct loaded_code_table *)context)->items.items[position];
	return id_hash(loaded->source, loaded->id);
}

static uint64_t pid_rehash(const void *context, uint32_t position)
{
	return hash_u64(((const struct loaded_code_table *)context)->owners.items[position].pid);
}

uint32_t loaded_code_find(const struct loaded_code_table *table, uint16_t source, uint32_t id)
{
	for (struct hash_probe probe = hash_index_probe(&table->by_id, id_hash(source, id));
	     hash_index_next(&table->by_id, &probe);) {
		const struct loaded_code *loaded = &table->items.items[probe.position];
		if (loaded->source == source && loaded->id == id)
			return probe.position;
	}
	return NONE;
}

static uint32_t find_owner(const struct loaded_code_table *table, uint32_t pid)
{
	for (struct hash_probe probe = hash_index_probe(&table->by_pid, hash_u64(pid));
	     hash_index_next(&table->by_pid, &probe);)
		if (table->owners.items[probe.position].pid == pid)
			return probe.position;
	return NONE;
}

bool loaded_code_has_owner(const struct loaded_code_table *table, uint32_t pid)
{
	return find_owner(table, pid) != NONE;
}

bool loaded_code_add_owner(struct loaded_code_table *table, uint32_t pid)
{
	struct loaded_code_owner owner = { .pid = pid, .first = NONE };
	uint32_t position = (uint32_t)table->owners.count;
	if (find_owner(table, pid) != NONE)
		return true;
	if (!array_push(&table->owners, owner))
		return false;
	if (hash_index_add(&table->by_pid, hash_u64(pid), position, pid_rehash, table))
		return true;
	table->owners.count--;
	return false;
}

/* The last owner takes the place of one that goes. */
static void remove_owner(struct loaded_code_table *table, uint32_t position)
{
	uint32_t last = (uint32_t)table->owners.count - 1;
	hash_index_remove(&table->by_pid, hash_u64(table->owners.items[position].pid), position);
	if (position != last) {
		hash_index_remove(&table->by_pid, hash_u64(table->owners.items[last].pid), last);
		table->owners.items[position] = table->owners.items[last];
	}
	table->owners.count--;
	/* Without memory for a larger table the owner is forgotten, and its end will not be noticed. */
	if (position != last)
		hash_index_add(&table->by_pid, hash_u64(table->owners.items[position].pid), position, pid_rehash,
			       table);
}

uint32_t loaded_code_add(struct loaded_code_table *table, uint16_t source, uint32_t id, uint32_t pid)
{
	if (table->count >= LOADED_CODE_COUNT_MAX || !loaded_code_add_owner(table, pid))
		return NONE;
	if (table->free == NONE) {
		if (!array_push(&table->items, ((struct loaded_code){ .next = NONE })))
			return NONE;
		table->free = (uint32_t)table->items.count - 1;
	}
	uint32_t position = table->free;
	struct loaded_code *loaded = &table->items.items[position];
	struct loaded_code_owner *owner = &table->owners.items[find_owner(table, pid)];
	uint32_t next_free = loaded->next;
	*loaded =
		(struct loaded_code){ .source = source, .id = id, .pid = pid, .previous = NONE, .next = owner->first };
	if (!hash_index_add(&table->by_id, id_hash(source, id), position, id_rehash, table)) {
		*loaded = (struct loaded_code){ .next = next_free };
		return NONE;
	}
	if (owner->first != NONE)
		table->items.items[owner->first].previous = position;
	owner->first = position;
	table->free = next_free;
	table->count++;
	return position;
}

void loaded_code_remove(struct loaded_code_table *table, uint32_t position)
{
	struct loaded_code *loaded = &table->items.items[position];
	uint32_t owner = loaded->previous == NONE ? find_owner(table, loaded->pid) : NONE;
	hash_index_remove(&table->by_id, id_hash(loaded->source, loaded->id), position);
	if (loaded->previous != NONE)
		table->items.items[loaded->previous].next = loaded->next;
	else if (owner != NONE)
		table->owners.items[owner].first = loaded->next;
	if (loaded->next != NONE)
		table->items.items[loaded->next].previous = loaded->previous;
	release(loaded);
	*loaded = (struct loaded_code){ .next = table->free };
	table->free = position;
	table->count--;
}

void loaded_code_end_process(struct loaded_code_table *table, uint32_t pid, uint64_t time)
{
	uint32_t owner = find_owner(table, pid);
	if (owner == NONE)
		return;
	for (uint32_t position = table->owners.items[owner].first, next; position != NONE; position = next) {
		next = table->items.items[position].next;
		if (table->items.items[position].time <= time)
			loaded_code_remove(table, position);
	}
	if (table->owners.items[owner].first == NONE)
		remove_owner(table, owner);
}
