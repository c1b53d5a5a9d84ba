/* SPDX-License-Identifier: Apache-2.0 */
/* Names as numbers: see names.h. */
#include "names.h"

#include <stdlib.h>
#include <string.h>

struct wanted {
	const char *text, *suffix;
	uint64_t hash;
};

static bool is_equal(const void *context, uint32_t position, const void *wanted)
{
	const struct name *name = &((const struct names *)context)->items[position];
	const struct wanted *key = wanted;
	return name->hash == key->hash && !strcmp(name->suffix, key->suffix) && !strcmp(name->text, key->text);
}

static uint32_t add(struct names *names, const struct wanted *wanted)
{
	if (names->count == names->capacity) {
		size_t larger = names->capacity ? 2 * names->capacity : 1024;
		struct name *moved = realloc(names->items, larger * sizeof *moved);
		if (!moved)
			return UINT32_MAX;
		names->items = moved;
		names->capacity = larger;
	}
	names->items[names->count] =
		(struct name){ .text = wanted->text, .suffix = wanted->suffix, .hash = wanted->hash };
	return (uint32_t)names->count++;
}

uint32_t names_find(struct names *names, const char *text, const char *suffix)
{
	const struct item_owner owner = { .is_equal = is_equal, .context = names };
	struct wanted wanted = { .text = text, .suffix = suffix };
	wanted.hash = hash_pair(hash_text(text), hash_text(suffix));
	uint32_t *slot = item_index_find(&names->index, &owner, wanted.hash, &wanted);
	if (!slot)
		return NAME_OTHER;
	if (*slot)
		return *slot - 1;
	uint32_t id = names->count < NAMES_MAX ? add(names, &wanted) : UINT32_MAX;
	if (id == UINT32_MAX)
		return NAME_OTHER;
	*slot = id + 1;
	names->index.used++;
	return id;
}

bool names_begin(struct names *names, const struct iaprof_profile *profile)
{
	if (!names->count && (names_find(names, "[other]", ""), !names->count))
		return false;
	if (profile->frame_count <= names->frame_count)
		return true;
	size_t count = profile->frame_count + profile->frame_count / 2;
	struct known_frame *moved = realloc(names->frames, count * sizeof *moved);
	if (!moved)
		return false;
	memset(moved + names->frame_count, 0, (count - names->frame_count) * sizeof *moved);
	names->frames = moved;
	names->frame_count = count;
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

/* A frame without a name is known by the file that it is in. */
static const char *text_of(const struct iaprof_frame *frame)
{
	if (!(frame->flags & IAPROF_FRAME_UNKNOWN) || !frame->module || strcmp(frame->name, "[unknown]"))
		return frame->name;
	const char *slash = strrchr(frame->module, '/');
	return slash ? slash + 1 : frame->module;
}

/* A text is never another one while it is kept, so the same pointers are the same name as the last time. */
uint32_t names_of_frame(struct names *names, const struct iaprof_profile *profile, uint32_t frame)
{
	const struct iaprof_frame *shown = iaprof_profile_frame(profile, frame);
	struct known_frame *known = &names->frames[frame];
	if (known->name != shown->name || known->module != shown->module || known->kind != shown->kind ||
	    known->flags != shown->flags)
		*known = (struct known_frame){ .name = shown->name,
					       .module = shown->module,
					       .kind = shown->kind,
					       .flags = shown->flags,
					       .id = names_find(names, text_of(shown), suffix_of(shown)) };
	return known->id;
}

void names_free(struct names *names)
{
	free(names->items);
	free(names->index.slots);
	free(names->frames);
	*names = (struct names){ 0 };
}
