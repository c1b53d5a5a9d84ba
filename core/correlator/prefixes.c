/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU's part of device stacks: see prefixes.h. */
#include "correlator/prefixes.h"

#include <string.h>

/* Beyond this many all are forgotten, and asked for again: stacks get new ids when they come back after a while. */
#define ITEMS_MAX 65536

void prefixes_free(struct prefixes *prefixes)
{
	array_free(&prefixes->items);
	hash_index_free(&prefixes->index);
}

static uint64_t rehash(const void *context, uint32_t position)
{
	const struct prefix_key *key = &((const struct prefixes *)context)->items.items[position].key;
	return hash_bytes(key, sizeof *key);
}

/* The program, and a note in place of the frames of which nothing is known. */
static uint32_t make_not_launched(struct prefixes *prefixes, uint32_t program)
{
	struct frame_table *frames = prefixes->context.frames;
	const struct iaprof_frame note = { .name = "[launch not seen]",
					   .kind = IAPROF_FRAME_USER,
					   .flags = IAPROF_FRAME_UNKNOWN };
	uint32_t both[2] = { frames->stack_frames.items[frames->stacks.items[program].first],
			     frame_table_add(frames, &note) };
	return both[1] == FRAME_NONE ? FRAME_NONE : frame_table_add_stack(frames, both, 2);
}

static uint32_t make(struct prefixes *prefixes, const struct prefix_key *key, uint64_t time)
{
	const struct sample_entry entry = { .key = { .process = key->process,
						     .pid = key->pid,
						     .user_stack = key->user_stack,
						     .kernel_stack = key->kernel_stack },
					    .last_time = time };
	if (key->kind == PREFIX_LAUNCHED)
		return sample_stack_resolve(&prefixes->context, &entry);
	uint32_t program = sample_stack_resolve_user(&prefixes->context, &entry);
	return program == FRAME_NONE || key->kind == PREFIX_OF_UNKNOWN_CODE ? program
									    : make_not_launched(prefixes, program);
}

static uint32_t find_or_make(struct prefixes *prefixes, const struct prefix_key *key, uint64_t time)
{
	uint64_t hash = hash_bytes(key, sizeof *key);
	for (struct hash_probe probe = hash_index_probe(&prefixes->index, hash);
	     hash_index_next(&prefixes->index, &probe);)
		if (!memcmp(&prefixes->items.items[probe.position].key, key, sizeof *key))
			return prefixes->items.items[probe.position].stack;
	struct prefix prefix = { .key = *key, .stack = make(prefixes, key, time) };
	if (prefix.stack == FRAME_NONE)
		return FRAME_NONE;
	if (prefixes->items.count >= ITEMS_MAX)
		prefixes_free(prefixes);
	if (array_push(&prefixes->items, prefix) &&
	    !hash_index_add(&prefixes->index, hash, (uint32_t)prefixes->items.count - 1, rehash, prefixes))
		prefixes->items.count--;
	return prefix.stack;
}

static uint32_t serial_at(const struct prefixes *prefixes, uint32_t pid, uint64_t time)
{
	const struct process *process = pid ? process_table_find(prefixes->context.processes, pid, time) : NULL;
	return process ? process->serial : 0;
}

uint32_t prefixes_of_launch(struct prefixes *prefixes, uint32_t pid, uint64_t time, uint32_t user_stack,
			    uint32_t kernel_stack)
{
	struct prefix_key key = { .process = serial_at(prefixes, pid, time),
				  .pid = pid,
				  .user_stack = user_stack,
				  .kernel_stack = kernel_stack,
				  .kind = PREFIX_LAUNCHED };
	return find_or_make(prefixes, &key, time);
}

uint32_t prefixes_of_process(struct prefixes *prefixes, uint32_t pid, uint64_t time, enum prefix_kind kind)
{
	struct prefix_key key = { .process = serial_at(prefixes, pid, time), .pid = pid, .kind = kind };
	return find_or_make(prefixes, &key, time);
}
