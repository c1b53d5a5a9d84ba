/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of samples and launches: see thread_table.h. */
#include "process/thread_table.h"

#include "base/saturating.h"

void thread_table_free(struct thread_table *table)
{
	keyed_array_free(&table->threads);
	keyed_array_free(&table->names);
	keyed_array_free(&table->processes);
}

/* Returns the newest name of a thread, after replacing it by name unless that is 0. */
static uint32_t newest_name(struct thread_table *table, uint32_t process, uint32_t tid, uint32_t name)
{
	struct known_thread_name wanted = { .key = { process, tid }, .name = name };
	struct known_thread_name *known = keyed_array_get(&table->names, &wanted.key);
	if (!known) {
		if (name && table->names.count < THREAD_TABLE_COUNT_MAX) {
			(void)keyed_array_add(&table->names, &wanted);
			table->changes++;
		}
		return name;
	}
	if (name && name != known->name) {
		known->name = name;
		table->changes++;
	}
	return known->name;
}

/* Returns whether an identity is known, after adding it unless its process or the table has too many. */
static bool find_or_add(struct thread_table *table, uint32_t process, struct thread_identity identity)
{
	const struct known_thread wanted = { .key = { process, identity } };
	if (keyed_array_find(&table->threads, &wanted.key) != POSITION_NONE)
		return true;
	if (table->threads.count >= THREAD_TABLE_COUNT_MAX)
		return false;
	uint32_t position = keyed_array_add(&table->processes, &(struct threads_of_process){ .key = process });
	if (position == POSITION_NONE)
		return false;
	struct threads_of_process *counts = &table->processes.items[position];
	uint32_t *count = identity.tid ? &counts->threads : &counts->names;
	if (*count >= (identity.tid ? THREAD_TABLE_THREADS_MAX : THREAD_TABLE_NAMES_MAX) ||
	    keyed_array_add(&table->threads, &wanted) == POSITION_NONE)
		return false;
	++*count;
	return true;
}

struct thread_identity thread_table_place(struct thread_table *table, uint32_t process, uint32_t tid, uint32_t name,
					  uint64_t count)
{
	struct thread_identity identity = { .tid = tid };
	if (!tid)
		return identity;
	identity.name = newest_name(table, process, tid, name);
	if (find_or_add(table, process, identity))
		return identity;
	table->merged = saturating_add(table->merged, count);
	identity.tid = 0;
	if (!identity.name || find_or_add(table, process, identity))
		return identity;
	return (struct thread_identity){ 0 };
}
