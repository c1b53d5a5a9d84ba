/* SPDX-License-Identifier: Apache-2.0 */
/* See process_names.h. */
#include "process_names.h"

#include <stdlib.h>

static uint64_t hash_of_pid(uint32_t pid)
{
	return hash_bytes(&pid, sizeof pid);
}

static bool known_is(const void *context, uint32_t position, const void *wanted)
{
	return ((const struct process_names *)context)->known[position].pid == *(const uint32_t *)wanted;
}

static uint32_t *place_find(struct process_names *names, uint32_t pid)
{
	const struct item_owner owner = { .is_equal = known_is, .context = names };
	return item_index_find(&names->index, &owner, hash_of_pid(pid), &pid);
}

/* Forgets those that are over. */
static bool sweep(struct process_names *names)
{
	uint32_t count = 0;
	free(names->index.slots);
	names->index = (struct item_index){ 0 };
	for (uint32_t i = 0; i < names->known_count; i++) {
		if (names->known[i].is_over)
			continue;
		names->known[count] = names->known[i];
		uint32_t *place = place_find(names, names->known[count].pid);
		if (!place)
			return false;
		*place = ++count;
		names->index.used++;
	}
	names->known_count = count;
	names->over_count = 0;
	return true;
}

/* *known: the process of an id, a new one when there is none; NULL when there are too many. */
static bool find_or_add(struct process_names *names, uint32_t pid, struct known_process **known)
{
	uint32_t *place = place_find(names, pid);
	*known = NULL;
	if (place && !*place && names->known_count == PROCESSES_KNOWN_MAX && names->over_count >= PROCESSES_OVER_MIN)
		place = sweep(names) ? place_find(names, pid) : NULL;
	if (!place)
		return false;
	if (*place) {
		*known = &names->known[*place - 1];
		return true;
	}
	if (names->known_count == PROCESSES_KNOWN_MAX)
		return true;
	if (names->known_count == names->known_capacity) {
		uint32_t capacity = names->known_capacity ? 2 * names->known_capacity : 256;
		struct known_process *moved = realloc(names->known, capacity * sizeof *moved);
		if (!moved)
			return false;
		names->known = moved;
		names->known_capacity = capacity;
	}
	*known = &names->known[names->known_count];
	**known = (struct known_process){ .pid = pid, .used = PROCESS_NONE };
	*place = ++names->known_count;
	names->index.used++;
	return true;
}

/* A process that is forked has its parent's name until it has another one. */
static uint32_t first_name(struct process_names *names, const struct iaprof_record_process *record)
{
	const uint32_t *place = record->name || !record->parent_pid ? NULL : place_find(names, record->parent_pid);
	return place && *place ? names->known[*place - 1].name : record->name;
}

bool process_names_take(struct process_names *names, const struct iaprof_record_process *record)
{
	struct known_process *known;
	uint32_t name = record->event == IAPROF_PROCESS_FORK ? first_name(names, record) : record->name;
	if (!find_or_add(names, record->pid, &known))
		return false;
	if (!known)
		return true;
	if (record->event == IAPROF_PROCESS_EXIT) {
		names->over_count += !known->is_over;
		known->is_over = true;
		return true;
	}
	if (record->event == IAPROF_PROCESS_FORK || known->is_over) {
		names->over_count -= known->is_over;
		*known = (struct known_process){ .pid = record->pid, .used = PROCESS_NONE };
	}
	if (name)
		known->name = name;
	if (name && known->used != PROCESS_NONE)
		names->used[known->used].name = name;
	return true;
}

bool process_names_use(struct process_names *names, uint32_t pid, uint32_t *position)
{
	struct known_process *known;
	*position = PROCESS_NONE;
	if (!find_or_add(names, pid, &known))
		return false;
	if (!known || known->used != PROCESS_NONE || names->used_count == PROCESSES_USED_MAX) {
		*position = known ? known->used : PROCESS_NONE;
		return true;
	}
	if (names->used_count == names->used_capacity) {
		uint32_t capacity = names->used_capacity ? 2 * names->used_capacity : 16;
		struct used_process *moved = realloc(names->used, capacity * sizeof *moved);
		if (!moved)
			return false;
		names->used = moved;
		names->used_capacity = capacity;
	}
	names->used[names->used_count] = (struct used_process){ .pid = pid, .name = known->name };
	*position = known->used = names->used_count++;
	return true;
}

void process_names_free(struct process_names *names)
{
	free(names->known);
	free(names->index.slots);
	free(names->used);
	*names = (struct process_names){ 0 };
}
