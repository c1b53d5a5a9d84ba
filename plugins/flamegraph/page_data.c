/* SPDX-License-Identifier: Apache-2.0 */
/* See page_data.h. */
#include "page_data.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void append_key(struct text *text, const char *key)
{
	text_append_format(text, ",\"%s\":", key);
}

static uint32_t type_count(const struct iaprof_profile *profile)
{
	return profile->value_type_count < PAGE_VALUE_TYPES_MAX ? (uint32_t)profile->value_type_count
								: PAGE_VALUE_TYPES_MAX;
}

static void append_types(struct text *text, const struct iaprof_profile *profile)
{
	append_key(text, "types");
	for (uint32_t i = 0; i < type_count(profile); i++) {
		const struct iaprof_value_type *type = iaprof_profile_value_type(profile, i);
		text_append_string(text, i ? ",{\"name\":" : "[{\"name\":");
		text_append_json(text, type->name);
		append_key(text, "unit");
		text_append_json(text, type->unit);
		text_append_string(text, "}");
	}
	text_append_string(text, type_count(profile) ? "]" : "[]");
}

static void append_metadata(struct text *text, const struct iaprof_profile *profile)
{
	append_key(text, "metadata");
	text_append_string(text, "[");
	for (const char *const *pair = profile->metadata; pair && pair[0] && pair[1]; pair += 2) {
		text_append_string(text, pair == profile->metadata ? "[" : ",[");
		text_append_json(text, pair[0]);
		text_append_string(text, ",");
		text_append_json(text, pair[1]);
		text_append_string(text, "]");
	}
	text_append_string(text, "]");
}

static void append_lost(struct text *text, const struct iaprof_profile *profile)
{
	append_key(text, "lost");
	text_append_string(text, "[");
	for (uint32_t i = 0; i < profile->lost_count; i++) {
		const struct iaprof_lost *lost = iaprof_profile_lost(profile, i);
		text_append_string(text, i ? ",{\"source\":" : "{\"source\":");
		text_append_json(text, lost->source);
		append_key(text, "reason");
		text_append_json(text, lost->reason);
		text_append_format(text, ",\"count\":%" PRIu64 ",\"unknown\":%" PRIu32 "}", lost->count, lost->unknown);
	}
	text_append_string(text, "]");
}

static void append_texts(struct text *text, const struct stack_tree *tree, const char *key, size_t offset)
{
	append_key(text, key);
	text_append_string(text, "[");
	for (size_t i = 0; i < tree->frame_count; i++) {
		const char *const *name = (const void *)((const char *)tree->frames[i] + offset);
		text_append_string(text, i ? "," : "");
		text_append_json(text, *name);
	}
	text_append_string(text, "]");
}

static void append_header(struct text *text, const struct stack_tree *tree, uint32_t value_type, const char *title)
{
	const struct iaprof_profile *profile = tree->profile;
	text_append_format(text, "{\"nanoseconds\":%" PRIu64 ",\"begin\":%" PRIu64, profile->end - profile->begin,
			   profile->begin_realtime);
	if (value_type < PAGE_VALUE_TYPES_MAX)
		text_append_format(text, ",\"chosen\":%" PRIu32, value_type);
	append_key(text, "title");
	text_append_json(text, title);
	append_types(text, profile);
	append_metadata(text, profile);
	append_lost(text, profile);
	append_texts(text, tree, "names", offsetof(struct iaprof_frame, name));
	append_texts(text, tree, "modules", offsetof(struct iaprof_frame, module));
	append_texts(text, tree, "files", offsetof(struct iaprof_frame, file));
	text_append_string(text, "}");
}

static void append_number(struct text *text, uint64_t number)
{
	char bytes[10];
	size_t size = 0;
	do {
		bytes[size++] = (char)((number & 0x7f) | (number > 0x7f ? 0x80 : 0));
		number >>= 7;
	} while (number);
	text_append(text, bytes, size);
}

static void append_frames(struct text *text, const struct stack_tree *tree)
{
	append_number(text, tree->frame_count);
	for (size_t i = 0; i < tree->frame_count; i++) {
		const struct iaprof_frame *frame = tree->frames[i];
		append_number(text, frame->kind);
		append_number(text, frame->flags);
		append_number(text, frame->line);
		append_number(text, frame->pid);
	}
}

/* How many levels above a node an ancestor is; a root's parent is above all of them. */
static uint32_t levels_up(const struct stack_tree *tree, uint32_t from, uint32_t ancestor)
{
	uint32_t levels = 0;
	for (; from != ancestor; from = tree->nodes[from].parent)
		levels++;
	return levels;
}

static void append_nodes(struct text *text, const struct stack_tree *tree)
{
	uint32_t types = type_count(tree->profile);
	append_number(text, tree->node_count);
	for (size_t i = 0; i < tree->node_count; i++) {
		uint32_t node = tree->order[i];
		const uint64_t *values = &tree->values[node * tree->profile->value_type_count];
		uint32_t has = 0;
		for (uint32_t k = 0; k < types; k++)
			has |= values[k] ? 1u << k : 0;
		append_number(text, i ? levels_up(tree, tree->order[i - 1], tree->nodes[node].parent) : 0);
		append_number(text, tree->nodes[node].frame);
		append_number(text, has);
		for (uint32_t k = 0; k < types; k++)
			if (values[k])
				append_number(text, values[k]);
	}
}

void page_data_append(struct text *text, const struct stack_tree *tree, uint32_t value_type, const char *title)
{
	size_t length_at = text->size;
	text_append(text, "\0\0\0", 4);
	append_header(text, tree, value_type, title);
	size_t length = text->size - length_at - 4;
	for (size_t i = 0; !text->failed && i < 4; i++)
		text->data[length_at + i] = (char)(length >> 8 * i);
	append_frames(text, tree);
	append_nodes(text, tree);
}
