/* SPDX-License-Identifier: Apache-2.0 */
/* See different_frames.h. */
#include "stacks/different_frames.h"

#include <stdlib.h>
#include <string.h>

#include "base/item_index.h"

uint32_t different_frames_line(const struct different_frames *frames, const struct iaprof_frame *frame)
{
	return frame->kind == IAPROF_FRAME_DEVICE_FUNCTION && !frames->lines ? 0 : frame->line;
}

const char *different_frames_class(const struct different_frames *frames, const struct iaprof_frame *frame)
{
	return frame->kind == IAPROF_FRAME_DEVICE_FUNCTION ? different_frames_code_class(frames, frame) : NULL;
}

const char *different_frames_code_class(const struct different_frames *frames, const struct iaprof_frame *frame)
{
	return frames->has_classes ? frame->kernel_class : NULL;
}

static uint64_t hash_of_frame(const struct different_frames *frames, const struct iaprof_frame *frame)
{
	const uint64_t parts[] = { (uint64_t)frame->kind << 32 | frame->pid,
				   (uint64_t)frame->flags << 32 | different_frames_line(frames, frame),
				   hash_text(frame->name), hash_text(frame->module), hash_text(frame->file) };
	return hash_bytes(parts, sizeof parts);
}

static bool texts_are_equal(const char *left, const char *right)
{
	return left == right || (left && right && strcmp(left, right) == 0);
}

static bool frame_is_equal(const void *context, uint32_t position, const void *wanted)
{
	const struct different_frames *frames = context;
	const struct iaprof_frame *left = frames->items[position], *right = wanted;
	return left->kind == right->kind && left->flags == right->flags &&
	       different_frames_line(frames, left) == different_frames_line(frames, right) && left->pid == right->pid &&
	       texts_are_equal(left->name, right->name) && texts_are_equal(left->module, right->module) &&
	       texts_are_equal(left->file, right->file);
}

bool different_frames_make(struct different_frames *frames, const struct iaprof_profile *profile,
			   const struct stack_text_options *options)
{
	const struct item_owner owner = { .is_equal = frame_is_equal, .context = frames };
	struct item_index index = { 0 };
	*frames = (struct different_frames){ .items = calloc(profile->frame_count + 1, sizeof *frames->items),
					     .numbers = calloc(profile->frame_count + 1, sizeof *frames->numbers),
					     .lines = options->lines,
					     .has_classes = profile->frame_count &&
							    IAPROF_HAS_MEMBER(iaprof_profile_frame(profile, 0),
									      profile->frame_size, kernel_class) };
	bool good = frames->items && frames->numbers;
	for (uint32_t id = 0; good && id < profile->frame_count; id++) {
		const struct iaprof_frame *frame = iaprof_profile_frame(profile, id);
		frames->numbers[id] = FRAME_IS_HIDDEN;
		if (stack_text_frame_is_hidden(frame, options))
			continue;
		uint32_t *slot = item_index_find(&index, &owner, hash_of_frame(frames, frame), frame);
		good = slot != NULL;
		if (slot && !*slot) {
			frames->items[frames->count] = frame;
			*slot = (uint32_t)++frames->count;
			index.used++;
		}
		if (slot)
			frames->numbers[id] = *slot - 1;
	}
	free(index.slots);
	return good;
}

void different_frames_free(struct different_frames *frames)
{
	free(frames->items);
	free(frames->numbers);
	*frames = (struct different_frames){ 0 };
}
