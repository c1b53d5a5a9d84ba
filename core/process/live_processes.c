/* SPDX-License-Identifier: Apache-2.0 */
/* Which processes run now: see live_processes.h. */
#include "process/live_processes.h"

static uint64_t rehash(const void *context, uint32_t position)
{
	return hash_u64(((const struct live_processes *)context)->items.items[position].pid);
}

void live_processes_free(struct live_processes *processes)
{
	array_free(&processes->items);
	array_free(&processes->free_items);
	hash_index_free(&processes->index);
}

struct live_process *live_process_find(const struct live_processes *processes, uint32_t pid)
{
	for (struct hash_probe probe = hash_index_probe(&processes->index, hash_u64(pid));
	     hash_index_next(&processes->index, &probe);)
		if (processes->items.items[probe.position].pid == pid)
			return &processes->items.items[probe.position];
	return NULL;
}

struct live_process *live_process_add(struct live_processes *processes, uint32_t pid)
{
	struct live_process *process = live_process_find(processes, pid);
	if (process)
		return process;
	if (!processes->free_items.count) {
		/* Room to free it again is made now, so that removing cannot fail. */
		if (!array_reserve(&processes->free_items, processes->items.count + 1) ||
		    !array_push(&processes->items, (struct live_process){ 0 }))
			return NULL;
		processes->free_items.items[processes->free_items.count++] = (uint32_t)processes->items.count - 1;
	}
	uint32_t position = processes->free_items.items[processes->free_items.count - 1];
	processes->items.items[position] = (struct live_process){ .pid = pid };
	if (!hash_index_add(&processes->index, hash_u64(pid), position, rehash, processes)) {
		processes->items.items[position].pid = 0;
		return NULL;
	}
	processes->free_items.count--;
	return &processes->items.items[position];
}

void live_process_remove(struct live_processes *processes, struct live_process *process)
{
	uint32_t position = (uint32_t)(process - processes->items.items);
	hash_index_remove(&processes->index, hash_u64(process->pid), position);
	processes->leaders_ended -= process->leader_ended;
	*process = (struct live_process){ 0 };
	processes->free_items.items[processes->free_items.count++] = position;
}
