/* SPDX-License-Identifier: Apache-2.0 */
/* See live_processes.h. */
#include "process/live_processes.h"

void live_processes_free(struct live_processes *processes)
{
	array_free(&processes->items);
	array_free(&processes->free_items);
	hash_index_free(&processes->index);
}

struct live_process *live_process_find(const struct live_processes *processes, uint32_t pid)
{
	hash_index_each (probe, &processes->index, hash_u64(pid))
		if (processes->items.items[probe.position].pid == pid)
			return &processes->items.items[probe.position];
	return NULL;
}

struct live_process *live_process_add(struct live_processes *processes, uint32_t pid)
{
	struct live_process *process = live_process_find(processes, pid);
	if (process)
		return process;
	uint32_t position = array_take(&processes->items, &processes->free_items);
	if (position == POSITION_NONE)
		return NULL;
	processes->items.items[position] = (struct live_process){ .pid = pid };
	if (!hash_index_add(&processes->index, hash_u64(pid), position)) {
		processes->items.items[position].pid = 0;
		array_give_back(&processes->free_items, position);
		return NULL;
	}
	return &processes->items.items[position];
}

void live_process_remove(struct live_processes *processes, struct live_process *process)
{
	uint32_t position = (uint32_t)(process - processes->items.items);
	hash_index_remove(&processes->index, hash_u64(process->pid), position);
	processes->leaders_ended -= process->leader_ended;
	processes->names_waiting -= process->renames.waits;
	*process = (struct live_process){ 0 };
	array_give_back(&processes->free_items, position);
}
