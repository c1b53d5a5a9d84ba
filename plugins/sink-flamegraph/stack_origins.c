/* SPDX-License-Identifier: Apache-2.0 */
/* See stack_origins.h. */
#include "stack_origins.h"

#include <stdlib.h>

#include "base/string_table.h"

/* Identifies a frame, without padding. Names of one profile are the same when their addresses are. */
struct origin_key {
	const char *name;
	uint32_t kind, tid;
};

/* Returns the position of a frame in origins->frames, adding it if it is new; STACK_ORIGIN_NONE: out of memory. */
static uint32_t frame_find(struct stack_origins *origins, struct string_table *keys, const struct origin_key *key)
{
	bool is_new = false;
	uint32_t id = string_table_add(keys, (const char *)key, sizeof *key, &is_new);
	const struct iaprof_frame frame = { .name = key->name ? key->name : "[thread]",
					    .kind = key->kind,
					    .pid = key->tid };
	return id && (!is_new || array_push(&origins->frames, frame)) ? id - 1 : STACK_ORIGIN_NONE;
}

/* Removes the threads of processes that have only one. */
static bool keep_several(struct stack_origins *origins, const struct different_frames *frames,
			 const struct iaprof_profile *profile)
{
	/* By frame of a process: 1 + its first thread; UINT32_MAX: several. */
	uint32_t *first = calloc(frames->count + 1, sizeof *first);
	if (!first)
		return false;
	for (int pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < profile->stack_count; i++) {
			uint32_t thread = origins->threads[i];
			uint32_t root = frames->numbers[iaprof_profile_stack(profile, i)->frames[0]];
			if (thread == STACK_ORIGIN_NONE || root == FRAME_IS_HIDDEN)
				continue;
			if (pass)
				origins->threads[i] = first[root] == UINT32_MAX ? thread : STACK_ORIGIN_NONE;
			else if (first[root] != thread + 1)
				first[root] = first[root] ? UINT32_MAX : thread + 1;
		}
	free(first);
	return true;
}

static bool find_all(struct stack_origins *origins, const struct different_frames *frames,
		     const struct iaprof_profile *profile, uint64_t threads, bool has_devices)
{
	struct string_table keys = { 0 };
	uint32_t only_device = STACK_ORIGIN_NONE;
	bool good = true, has_several = false;
	for (uint32_t i = 0; good && i < profile->stack_count; i++) {
		struct iaprof_stack_origin origin = thread_of_stack(profile, i, threads);
		const char *device = has_devices ? iaprof_profile_stack(profile, i)->origin.device : NULL;
		origins->threads[i] = origins->devices[i] = origins->spans[i] = STACK_ORIGIN_NONE;
		if (origin.thread || origin.tid) {
			const struct origin_key key = { origin.thread, STACK_ORIGIN_THREAD, origin.tid };
			origins->threads[i] = frame_find(origins, &keys, &key);
			good = origins->threads[i] != STACK_ORIGIN_NONE;
		}
		if (device) {
			const struct origin_key key = { device, STACK_ORIGIN_DEVICE, 0 };
			origins->devices[i] = frame_find(origins, &keys, &key);
			good &= origins->devices[i] != STACK_ORIGIN_NONE;
			has_several |= only_device != STACK_ORIGIN_NONE && only_device != origins->devices[i];
			only_device = origins->devices[i];
		}
	}
	string_table_free(&keys);
	for (uint32_t i = 0; good && !has_several && i < profile->stack_count; i++)
		origins->devices[i] = STACK_ORIGIN_NONE;
	return good && (!has_devices || keep_several(origins, frames, profile));
}

/* Appends a frame for each name of a span. */
static bool add_spans(struct stack_origins *origins, const struct iaprof_profile *profile)
{
	const uint32_t first = (uint32_t)origins->frames.count;
	if (!stack_spans_make(&origins->span_names, profile))
		return false;
	const struct string_table *names = &origins->span_names.names;
	for (uint32_t id = 1; id <= names->entries.count; id++) {
		const struct iaprof_frame frame = { .name = string_table_text(names, id), .kind = STACK_ORIGIN_SPAN };
		if (!array_push(&origins->frames, frame))
			return false;
	}
	for (uint32_t i = 0; i < profile->stack_count; i++)
		if (origins->span_names.ids[i])
			origins->spans[i] = first + origins->span_names.ids[i] - 1;
	return true;
}

/* Converts a position in origins->frames to a frame number. numbers: by position, 0: not appended yet. */
static void append_used(struct stack_origins *origins, struct different_frames *frames, uint32_t *numbers,
			uint32_t *position)
{
	if (*position == STACK_ORIGIN_NONE)
		return;
	if (!numbers[*position]) {
		numbers[*position] = (uint32_t)frames->count;
		frames->items[frames->count++] = &origins->frames.items[*position];
	}
	*position = numbers[*position];
}

bool stack_origins_make(struct stack_origins *origins, struct different_frames *frames,
			const struct iaprof_profile *profile, uint64_t threads, bool has_devices, bool has_spans)
{
	*origins = (struct stack_origins){ .threads = calloc(profile->stack_count + 1, sizeof *origins->threads),
					   .devices = calloc(profile->stack_count + 1, sizeof *origins->devices),
					   .spans = calloc(profile->stack_count + 1, sizeof *origins->spans) };
	if (!origins->threads || !origins->devices || !origins->spans ||
	    !find_all(origins, frames, profile, threads, has_devices))
		return false;
	if (has_spans && !(profile->flags & IAPROF_PROFILE_DIFFERENCE) && !add_spans(origins, profile))
		return false;
	const struct iaprof_frame **items =
		reallocarray(frames->items, frames->count + origins->frames.count + 1, sizeof *items);
	uint32_t *numbers = calloc(origins->frames.count + 1, sizeof *numbers);
	if (items)
		frames->items = items;
	if (items && numbers)
		for (uint32_t i = 0; i < profile->stack_count; i++) {
			append_used(origins, frames, numbers, &origins->threads[i]);
			append_used(origins, frames, numbers, &origins->devices[i]);
			append_used(origins, frames, numbers, &origins->spans[i]);
		}
	free(numbers);
	return items && numbers;
}

void stack_origins_free(struct stack_origins *origins)
{
	array_free(&origins->frames);
	free(origins->threads);
	free(origins->devices);
	free(origins->spans);
	stack_spans_free(&origins->span_names);
	*origins = (struct stack_origins){ 0 };
}
