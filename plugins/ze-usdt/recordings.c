/* SPDX-License-Identifier: Apache-2.0 */
/* See recordings.h. */
#include <stdlib.h>
#include <string.h>
#include "base/keyed_hash.h"
#include "recordings.h"

/* Above these limits, the least recently used recordings lose their launches, and then their count. */
#define LAUNCHES_MAX 262144u
#define STACKS_MAX 16384u
#define RECORDINGS_MAX 131072u

/* A long recording arrives in parts: this many of its last launches are searched for an identical one. */
#define SAME_LAUNCH_SEARCH 64u

uint64_t pointer_map_hash(uint64_t key)
{
	return hash_u64(key);
}

static uint64_t recording_key(const struct ze_process *process, uint64_t list)
{
	const uint64_t parts[] = { process->program, process->id, list };
	return hash_bytes(parts, sizeof parts);
}

static void list_remove(struct recordings *recordings, struct recording *recording)
{
	*(recording->older ? &recording->older->newer : &recordings->oldest) = recording->newer;
	*(recording->newer ? &recording->newer->older : &recordings->newest) = recording->older;
}

static void list_append(struct recordings *recordings, struct recording *recording)
{
	recording->older = recordings->newest;
	recording->newer = NULL;
	*(recordings->newest ? &recordings->newest->newer : &recordings->oldest) = recording;
	recordings->newest = recording;
}

static void stack_release(struct recordings *recordings, struct recorded_stack *stack)
{
	if (stack && --stack->users == 0)
		free(pointer_map_remove(&recordings->stacks, stack->hash));
}

static struct recorded_stack *stack_use(struct recordings *recordings, uint64_t hash,
					const struct stack_addresses *addresses)
{
	struct recorded_stack *stack = pointer_map_find(&recordings->stacks, hash);

	if (stack) {
		stack->users++;
		return stack;
	}
	size_t size = addresses->depth * sizeof stack->addresses[0];
	stack = malloc(sizeof *stack + size);
	if (!stack)
		return NULL;
	*stack = (struct recorded_stack){ .hash = hash, .users = 1, .depth = (uint32_t)addresses->depth };
	memcpy(stack->addresses, addresses->addresses, size);
	if (!pointer_map_add(&recordings->stacks, hash, stack)) {
		free(stack);
		return NULL;
	}
	return stack;
}

static void launches_drop(struct recordings *recordings, struct recording *recording)
{
	for (uint32_t i = 0; i < recording->launches.count; i++)
		stack_release(recordings, recording->launches.items[i].stack);
	recordings->held -= recording->launches.count;
	array_free(&recording->launches);
}

static void recording_free(struct recordings *recordings, struct recording *recording)
{
	launches_drop(recordings, recording);
	list_remove(recordings, recording);
	pointer_map_remove(&recordings->table, recording->key);
	free(recording);
}

static void room_make(struct recordings *recordings, const struct recording *keep)
{
	struct recording *recording = recordings->oldest;
	bool full = recordings->held >= LAUNCHES_MAX || recordings->stacks.count >= STACKS_MAX;

	/* An eighth at a time, to amortise the scan past recordings that have already lost their launches. */
	while (full && recording &&
	       (recordings->held > LAUNCHES_MAX / 8 * 7 || recordings->stacks.count > STACKS_MAX / 8 * 7)) {
		if (recording != keep && recording->launches.count) {
			launches_drop(recordings, recording);
			recording->dropped = true;
		}
		recording = recording->newer;
	}
	while (recordings->table.count >= RECORDINGS_MAX && recordings->oldest != keep) {
		recording_free(recordings, recordings->oldest);
		recordings->forgotten++;
	}
}

static struct recording *recording_make(struct recordings *recordings, const struct ze_process *process, uint64_t list)
{
	room_make(recordings, NULL);
	struct recording *recording = calloc(1, sizeof *recording);
	if (!recording)
		return NULL;
	recording->process = *process;
	recording->list = list;
	recording->key = recording_key(process, list);
	if (!pointer_map_add(&recordings->table, recording->key, recording)) {
		free(recording);
		return NULL;
	}
	list_append(recordings, recording);
	return recording;
}

static struct recording *recording_find(struct recordings *recordings, const struct ze_process *process, uint64_t list)
{
	struct recording *recording = pointer_map_find(&recordings->table, recording_key(process, list));

	if (recording) {
		list_remove(recordings, recording);
		list_append(recordings, recording);
	}
	return recording;
}

static struct recorded_launch *launch_append(struct recordings *recordings, struct recording *recording)
{
	room_make(recordings, recording);
	if (!array_reserve(&recording->launches, recording->launches.count + 1))
		return NULL;
	recordings->held++;
	return &recording->launches.items[recording->launches.count++];
}

static struct recording *recording_get(struct recordings *recordings, const struct ze_process *process, uint64_t list)
{
	struct recording *recording = recording_find(recordings, process, list);

	return recording ? recording : recording_make(recordings, process, list);
}

/* Returns false if the recording is only counted from now on. */
static bool has_room(struct recordings *recordings, struct recording *recording)
{
	/* A single recording must not use all the room either. */
	if (!recording->dropped && recording->launches.count < LAUNCHES_MAX / 2)
		return true;
	launches_drop(recordings, recording);
	recording->dropped = true;
	return false;
}

/* Searches the last launches. */
static struct recorded_launch *launch_find(const struct recording *recording, uint32_t search, uint64_t kernel_hash,
					   uint64_t stack_hash)
{
	uint32_t first = recording->launches.count > search ? recording->launches.count - search : 0;

	for (uint32_t i = first; i < recording->launches.count; i++) {
		struct recorded_launch *launch = &recording->launches.items[i];
		if (launch->kernel_hash == kernel_hash && (launch->stack ? launch->stack->hash : 0) == stack_hash)
			return launch;
	}
	return NULL;
}

bool recordings_add(struct recordings *recordings, const struct ze_launch_key *key, uint64_t count, uint32_t kernel,
		    uint64_t module, const struct stack_addresses *stack)
{
	struct recording *recording = recording_get(recordings, &key->process, key->list);
	if (!recording)
		return false;
	recording->launch_count += count;
	if (!has_room(recordings, recording))
		return true;
	struct recorded_launch *launch =
		launch_find(recording, SAME_LAUNCH_SEARCH, key->kernel, stack ? key->user_stack : 0);
	if (launch) {
		launch->count += count;
		return true;
	}
	launch = launch_append(recordings, recording);
	if (!launch)
		return false;
	*launch = (struct recorded_launch){
		.kernel_hash = key->kernel,
		.module = module,
		.kernel = kernel,
		.count = count,
		.stack = stack ? stack_use(recordings, key->user_stack, stack) : NULL,
	};
	return true;
}

bool recordings_add_more(struct recordings *recordings, const struct ze_launch_key *key, uint64_t count)
{
	struct recording *recording = recording_find(recordings, &key->process, key->list);
	if (!recording)
		return false;
	struct recorded_launch *launch = launch_find(recording, UINT32_MAX, key->kernel, key->user_stack);
	/* It may have been stored without its stack. */
	if (!launch)
		launch = launch_find(recording, UINT32_MAX, key->kernel, 0);
	if (!launch && !recording->dropped)
		return false;
	recording->launch_count += count;
	if (launch)
		launch->count += count;
	return true;
}

/* Of a recording to another one, which is not dropped. */
static bool launch_copy(struct recordings *recordings, struct recording *parent, const struct recorded_launch *launch,
			uint64_t times)
{
	struct recorded_launch *same =
		launch_find(parent, SAME_LAUNCH_SEARCH, launch->kernel_hash, launch->stack ? launch->stack->hash : 0);

	if (same) {
		same->count += launch->count * times;
		return true;
	}
	if (!array_reserve(&parent->launches, parent->launches.count + 1))
		return false;
	recordings->held++;
	struct recorded_launch *copy = &parent->launches.items[parent->launches.count++];
	*copy = *launch;
	copy->count *= times;
	if (copy->stack)
		copy->stack->users++;
	return true;
}

bool recordings_nest(struct recordings *recordings, const struct ze_process *process, uint64_t parent_list,
		     uint64_t child_list, uint64_t times)
{
	const struct recording *child = recording_find(recordings, process, child_list);

	/* Without launches, or not known: then the parent's executions have more launches than it has. */
	if (!child || parent_list == child_list)
		return true;
	struct recording *parent = recording_get(recordings, process, parent_list);
	if (!parent)
		return false;
	room_make(recordings, parent);
	/* Which may have dropped the child's launches, or the child. */
	child = recording_find(recordings, process, child_list);
	if (!child)
		return true;
	parent->launch_count += child->launch_count * times;
	parent->dropped |= child->dropped || child->launches.count > recordings->copies_left;
	if (!parent->dropped)
		recordings->copies_left -= child->launches.count;
	for (uint32_t i = 0; i < child->launches.count && has_room(recordings, parent); i++)
		if (!launch_copy(recordings, parent, &child->launches.items[i], times))
			return false;
	if (parent->dropped)
		launches_drop(recordings, parent);
	return true;
}

const struct recording *recordings_find(struct recordings *recordings, const struct ze_process *process, uint64_t list)
{
	return recording_find(recordings, process, list);
}

void recordings_forget_process(struct recordings *recordings, const struct ze_process *ended)
{
	for (struct recording *next, *recording = recordings->oldest; recording; recording = next) {
		next = recording->newer;
		if (ze_process_is_over(&recording->process, ended))
			recording_free(recordings, recording);
	}
}

void recordings_forget_module(struct recordings *recordings, const struct ze_process *process, uint64_t module)
{
	for (struct recording *recording = recordings->oldest; recording; recording = recording->newer) {
		if (recording->process.id != process->id || recording->process.program != process->program)
			continue;
		for (uint32_t i = recording->launches.count; i-- > 0;) {
			struct recorded_launch *launch = &recording->launches.items[i];
			if (launch->module != module)
				continue;
			recording->launch_count -= launch->count;
			stack_release(recordings, launch->stack);
			*launch = recording->launches.items[--recording->launches.count];
			recordings->held--;
		}
	}
}

void recordings_free(struct recordings *recordings)
{
	while (recordings->oldest)
		recording_free(recordings, recordings->oldest);
	pointer_map_free(&recordings->table);
	pointer_map_free(&recordings->stacks);
}
