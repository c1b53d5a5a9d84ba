/* SPDX-License-Identifier: Apache-2.0 */
/* See range_frames.h. */
#define _GNU_SOURCE
#include "range_frames.h"

#include <string.h>

/* Programs may number their steps: each name is a column of its own in a flame graph. */
#define NAMES_MAX 1024u

void range_frames_free(struct range_frames *frames)
{
	keyed_array_free(&frames->items);
}

uint64_t call_frame(const struct iaprof_host *host, const char *name)
{
	const struct iaprof_named_frame frame = { .size = sizeof frame,
						  .name = host->intern_string(host, name, strlen(name)),
						  .kind = IAPROF_FRAME_CALL };
	uint32_t id = host->intern_frame(host, &frame);
	return id ? IAPROF_STACK_NAMED_FRAME | id : 0;
}

/* PyTorch numbers its operators: "aten::linear, seq = 5, op_id = 59530". Returns the length without that. */
static size_t length_of(const char *name, size_t size)
{
	static const char *const numbers[] = { ", seq = ", ", op_id = " };
	size_t length = strnlen(name, size - 1);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		const char *found = memmem(name, length, numbers[i], strlen(numbers[i]));
		length = found && found > name ? (size_t)(found - name) : length;
	}
	return length;
}

static uint64_t element_of(struct range_frames *frames, const struct iaprof_host *host, const char *name)
{
	struct range_frame wanted = { 0 };
	memcpy(wanted.key.name, name, length_of(name, sizeof wanted.key.name));
	const struct range_frame *known = keyed_array_get(&frames->items, &wanted.key);
	if (known)
		return known->element;
	if (frames->items.count < NAMES_MAX) {
		wanted.element = call_frame(host, wanted.key.name);
		(void)keyed_array_add(&frames->items, &wanted);
		return wanted.element;
	}
	if (!frames->others)
		frames->others = call_frame(host, "[other ranges]");
	return frames->others;
}

size_t range_frames_get(struct range_frames *frames, const struct iaprof_host *host, const struct thread_ranges *ranges,
			uint64_t *elements)
{
	size_t count = 0;
	for (size_t i = ranges->depth < THREAD_RANGES_MAX ? ranges->depth : THREAD_RANGES_MAX; i-- > 0;) {
		uint64_t element = ranges->names[i][0] ? element_of(frames, host, ranges->names[i]) : 0;
		if (element)
			elements[count++] = element;
	}
	return count;
}
