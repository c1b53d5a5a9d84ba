/* SPDX-License-Identifier: Apache-2.0 */
/* Interns names: see names.h. */
#include "names.h"

#include <stdlib.h>
#include <string.h>

#include "stacks/stack_text.h"
#include "text/printable.h"

uint32_t names_find(struct names *names, const char *text, const char *suffix)
{
	names->text.size = 0;
	text_append(&names->text, text, strlen(text) + 1);
	text_append_string(&names->text, suffix);
	if (names->text.failed)
		return NAME_OTHER;
	uint32_t id = string_table_find(&names->texts, names->text.data, names->text.size);
	if (!id && names->texts.entries.count < NAMES_MAX)
		id = string_table_add(&names->texts, names->text.data, names->text.size, NULL);
	return id ? id - 1 : NAME_OTHER;
}

bool names_begin(struct names *names, const struct iaprof_profile *profile)
{
	if (!names->texts.entries.count && (names_find(names, "[other]", ""), !names->texts.entries.count))
		return false;
	if (profile->flags & IAPROF_PROFILE_CONTINUOUS) /* frames have other numbers and texts now */
		names->frames.count = 0;
	if (!array_reserve(&names->frames, profile->frame_count))
		return false;
	while (names->frames.count < profile->frame_count)
		names->frames.items[names->frames.count++] = (struct known_frame){ 0 };
	return true;
}

static const char *suffix_of(const struct iaprof_frame *frame)
{
	switch (frame->kind) {
	case IAPROF_FRAME_LINUX_KERNEL:
		return " [k]";
	case IAPROF_FRAME_JIT:
		return " [j]";
	case IAPROF_FRAME_DEVICE_FUNCTION:
		return " [G]";
	default:
		return "";
	}
}

static uint32_t frame_find(struct names *names, const struct iaprof_frame *frame)
{
	struct text text = { 0 };
	frame_name_append(&text, frame);
	uint32_t id = text.failed ? NAME_OTHER : names_find(names, text_string(&text), suffix_of(frame));
	text_free(&text);
	return id;
}

static const char *module_of(const struct iaprof_frame *frame)
{
	if (!frame->module || !*frame->module)
		return frame->kind == IAPROF_FRAME_LINUX_KERNEL ? "[kernel]"
		       : frame->kind == IAPROF_FRAME_JIT        ? "[jit]"
								: "";
	return path_name(frame->module);
}

/* Interned texts do not change: equal pointers are equal names. */
static const struct known_frame *known_frame_of(struct names *names, const struct iaprof_profile *profile,
						uint32_t frame)
{
	const struct iaprof_frame *shown = iaprof_profile_frame(profile, frame);
	struct known_frame *known = &names->frames.items[frame];
	if (known->name != shown->name || known->module != shown->module || known->kind != shown->kind ||
	    known->flags != shown->flags)
		*known = (struct known_frame){ .name = shown->name,
					       .module = shown->module,
					       .kind = shown->kind,
					       .flags = shown->flags,
					       .id = frame_find(names, shown),
					       .module_id = names_find(names, module_of(shown), "") };
	return known;
}

uint32_t names_of_frame(struct names *names, const struct iaprof_profile *profile, uint32_t frame)
{
	return known_frame_of(names, profile, frame)->id;
}

uint32_t names_of_module(struct names *names, const struct iaprof_profile *profile, uint32_t frame)
{
	return known_frame_of(names, profile, frame)->module_id;
}

void names_free(struct names *names)
{
	string_table_free(&names->texts);
	text_free(&names->text);
	array_free(&names->frames);
	*names = (struct names){ 0 };
}
