/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded code objects: see loaded_code.h. */
#include "correlator/loaded_code.h"

#include <stdlib.h>
#include <string.h>

#define NONE LOADED_CODE_NONE

static void release(struct loaded_code *loaded)
{
	array_free(&loaded->starts);
	free(loaded->is_placed);
	device_image_release(loaded->image);
}

static void give_back(struct loaded_code_table *table, uint32_t position)
{
	release(&table->items.items[position]);
	keyed_array_give_back(&table->items, &table->free, position);
}

void loaded_code_table_free(struct loaded_code_table *table)
{
	for (size_t i = 0; i < table->items.count; i++)
		if (table->items.items[i].key.id)
			release(&table->items.items[i]);
	keyed_array_free(&table->items);
	keyed_array_free(&table->owners);
	array_free(&table->free);
	array_free(&table->ended);
}

uint32_t loaded_code_find(const struct loaded_code_table *table, uint16_t source, uint32_t id)
{
	return keyed_array_find(&table->items, &((struct source_id){ source, id }));
}

bool loaded_code_has_owner(const struct loaded_code_table *table, uint32_t pid)
{
	return keyed_array_find(&table->owners, &pid) != NONE;
}

bool loaded_code_add_owner(struct loaded_code_table *table, uint32_t pid)
{
	struct loaded_code_owner owner = { .key = pid, .first = NONE };
	return keyed_array_add(&table->owners, &owner) != NONE;
}

/* Removes the code of an ended process that has a key, which the source uses again. */
static void replace(struct loaded_code_table *table, uint32_t position)
{
	size_t i = table->ended_first;
	while (i < table->ended.count && table->ended.items[i] != position)
		i++;
	if (i == table->ended.count)
		return;
	table->ended.count--;
	memmove(table->ended.items + i, table->ended.items + i + 1,
		(table->ended.count - i) * sizeof *table->ended.items);
	give_back(table, position);
}

uint32_t loaded_code_add(struct loaded_code_table *table, uint16_t source, uint32_t id, uint32_t pid)
{
	uint32_t known = loaded_code_find(table, source, id);
	if (known != NONE && table->items.items[known].ended)
		replace(table, known);
	else if (known != NONE)
		return NONE;
	if (table->items.count - table->free.count >= LOADED_CODE_COUNT_MAX)
		loaded_code_forget(table, UINT64_MAX);
	if (table->items.count - table->free.count >= LOADED_CODE_COUNT_MAX || !loaded_code_add_owner(table, pid))
		return NONE;
	struct loaded_code_owner *owner = keyed_array_get(&table->owners, &pid);
	struct loaded_code loaded = { .key = { source, id }, .pid = pid, .previous = NONE, .next = owner->first };
	uint32_t position = keyed_array_take(&table->items, &table->free, &loaded);
	if (position == NONE)
		return NONE;
	if (owner->first != NONE)
		table->items.items[owner->first].previous = position;
	owner->first = position;
	return position;
}

static void unlist(struct loaded_code_table *table, uint32_t position)
{
	struct loaded_code *loaded = &table->items.items[position];
	struct loaded_code_owner *owner =
		loaded->previous == NONE ? keyed_array_get(&table->owners, &loaded->pid) : NULL;
	if (loaded->previous != NONE)
		table->items.items[loaded->previous].next = loaded->next;
	else if (owner)
		owner->first = loaded->next;
	if (loaded->next != NONE)
		table->items.items[loaded->next].previous = loaded->previous;
}

void loaded_code_remove(struct loaded_code_table *table, uint32_t position)
{
	unlist(table, position);
	give_back(table, position);
}

void loaded_code_forget(struct loaded_code_table *table, uint64_t before)
{
	while (table->ended_first < table->ended.count) {
		uint32_t position = table->ended.items[table->ended_first];
		if (table->items.items[position].ended >= before)
			break;
		give_back(table, position);
		table->ended_first++;
	}
	/* Moves the rest when half of the queue is over. */
	if (table->ended_first <= table->ended.count / 2)
		return;
	table->ended.count -= table->ended_first;
	memmove(table->ended.items, table->ended.items + table->ended_first,
		table->ended.count * sizeof *table->ended.items);
	table->ended_first = 0;
}

/* Takes it out of the list of its process. */
static void end(struct loaded_code_table *table, uint32_t position, uint64_t time)
{
	unlist(table, position);
	table->items.items[position].ended = time ? time : 1;
	if (!array_push(&table->ended, position))
		give_back(table, position);
}

void loaded_code_end_process(struct loaded_code_table *table, uint32_t pid, uint64_t time)
{
	uint32_t owner = keyed_array_find(&table->owners, &pid);
	if (owner == NONE)
		return;
	for (uint32_t position = table->owners.items[owner].first, next; position != NONE; position = next) {
		next = table->items.items[position].next;
		if (table->items.items[position].time <= time)
			end(table, position, time);
	}
	if (table->owners.items[owner].first == NONE)
		keyed_array_remove(&table->owners, owner);
}
