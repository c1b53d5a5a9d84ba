/* SPDX-License-Identifier: Apache-2.0 */
/* See page_data.h. */
#include "page_data.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "page_difference.h"
#include "page_npu.h"
#include "page_number.h"
#include "stacks/code_site.h"
#include "stacks/stall_class.h"
#include "stacks/value_label.h"

static void append_key(struct text *text, const char *key)
{
	text_append_format(text, ",\"%s\":", key);
}

static uint32_t type_count(const struct iaprof_profile *profile)
{
	return profile->value_type_count < PAGE_VALUE_TYPES_MAX ? (uint32_t)profile->value_type_count
								: PAGE_VALUE_TYPES_MAX;
}

static void append_label(struct text *text, const struct iaprof_value_type *type)
{
	struct text words = { 0 };
	value_type_append_words(&words, type);
	append_key(text, "label");
	text_append_json(text, text_string(&words));
	text->failed |= words.failed;
	text_free(&words);
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
		append_label(text, type);
		text_append_format(
			text, ",\"role\":%" PRIu32 ",\"isDevice\":%s,\"isPlural\":%s,\"isWait\":%s,\"device\":\"%s\"}",
			type->role, value_type_is_of_device(type) ? "true" : "false",
			value_type_is_plural(type) ? "true" : "false", value_type_is_wait(type) ? "true" : "false",
			device_kind_word(type->device_kind));
	}
	text_append_string(text, type_count(profile) ? "]" : "[]");
}

void page_data_append_metadata(struct text *text, const char *const *metadata)
{
	text_append_string(text, "[");
	for (const char *const *pair = metadata; pair && pair[0] && pair[1]; pair += 2) {
		text_append_string(text, pair == metadata ? "[" : ",[");
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
		text_append_format(text, ",\"count\":%" PRIu64 ",\"unknown\":%" PRIu32, lost->count, lost->unknown);
		if (profile->flags & IAPROF_PROFILE_DIFFERENCE)
			page_difference_append_lost(text, lost);
		text_append_string(text, "}");
	}
	text_append_string(text, "]");
}

static void append_texts(struct text *text, const struct stack_tree *tree, const char *key, size_t offset)
{
	append_key(text, key);
	text_append_string(text, "[");
	for (size_t i = 0; i < tree->frames.count; i++) {
		const char *const *name = (const void *)((const char *)tree->frames.items[i] + offset);
		text_append_string(text, i ? "," : "");
		text_append_json(text, *name);
	}
	text_append_string(text, "]");
}

/* What functions do in the answer (code_site.h). */
static void append_works(struct text *text, const struct stack_tree *tree)
{
	struct text work = { 0 };
	append_key(text, "works");
	text_append_string(text, "[");
	for (size_t i = 0; i < tree->frames.count; i++) {
		const struct iaprof_frame *frame = tree->frames.items[i];
		work.size = 0;
		code_work_append(&work, frame, different_frames_code_class(&tree->frames, frame));
		text_append_string(text, i ? "," : "");
		text_append_json(text, text_string(&work));
	}
	text_append_string(text, "]");
	text->failed |= work.failed;
	text_free(&work);
}

/* Returns the rank and the flags of a frame in the answer as one number, as page/data.js has them. */
static uint32_t site_number(struct text *scratch, const struct stack_tree *tree, const struct iaprof_frame *frame)
{
	scratch->size = 0;
	return code_site_rank(frame) |
	       code_work_append(scratch, frame, different_frames_code_class(&tree->frames, frame))
		       << CODE_SITE_RANK_BITS;
}

/* The runs whose times the page has: of a difference, the earlier one is the second. */
struct runs {
	struct page_times items[2];
	size_t count;
};

static struct runs runs_with_times(const struct iaprof_profile *profile, const struct page_choices *choices)
{
	struct runs runs = { .items = { page_times_of(profile, false), page_times_of(profile, true) } };
	while (choices->heatmap.row && runs.count < 2 && page_times_known(&runs.items[runs.count]))
		runs.count++;
	return runs;
}

/* "reasons": the texts of stall classes from IAPROF_STALL_DATA on, and the class of each reason in the profile. */
static void append_reasons(struct text *text, const struct stack_tree *tree)
{
	append_key(text, "reasons");
	text_append_string(text, "{\"classes\":[");
	for (size_t i = IAPROF_STALL_DATA; i < STALL_CLASS_COUNT; i++) {
		const char *const texts[] = { stall_classes[i].label, stall_classes[i].waits, stall_classes[i].until,
					      stall_classes[i].meaning, stall_classes[i].advice };
		for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
			text_append_string(text, k ? "," : i > IAPROF_STALL_DATA ? ",[" : "[");
			text_append_json(text, texts[k]);
		}
		text_append_string(text, "]");
	}
	text_append_string(text, "],\"copy\":");
	text_append_json(text, STALL_ADVICE_COPY);
	text_append_string(text, ",\"collective\":");
	text_append_json(text, STALL_ADVICE_COLLECTIVE);
	text_append_string(text, ",\"names\":[");
	const char *between = "[";
	for (size_t i = 0; i < tree->frames.count; i++) {
		const struct iaprof_frame *frame = tree->frames.items[i];
		if (frame->kind != IAPROF_FRAME_STALL_REASON)
			continue;
		text_append_string(text, between);
		text_append_json(text, frame->name);
		text_append_format(text, ",%" PRIu32 "]", stall_class_of(frame));
		between = ",[";
	}
	text_append_string(text, "]}");
}

static void append_header(struct text *text, const struct stack_tree *tree, const struct page_choices *choices)
{
	const struct iaprof_profile *profile = tree->profile;
	text_append_format(text, "{\"nanoseconds\":%" PRIu64 ",\"begin\":%" PRIu64, profile->end - profile->begin,
			   profile->begin_realtime);
	if (choices->value_type < PAGE_VALUE_TYPES_MAX)
		text_append_format(text, ",\"chosen\":%" PRIu32, choices->value_type);
	append_key(text, "title");
	text_append_json(text, choices->title);
	append_key(text, "threads");
	text_append_json(text, choices->threads);
	text_append_format(text, ",\"lines\":%s", choices->lines ? "true" : "false");
	append_types(text, profile);
	append_key(text, "metadata");
	page_data_append_metadata(text, profile->metadata);
	append_lost(text, profile);
	page_npu_append(text, profile);
	if (!(profile->flags & IAPROF_PROFILE_DIFFERENCE))
		page_launches_append(text, &choices->code->launches, &choices->code->definitions, profile);
	struct runs runs = runs_with_times(profile, choices);
	for (size_t i = 0; i < runs.count; i++) {
		append_key(text, i ? "beforeTimes" : "times");
		page_times_append_header(text, &runs.items[i], tree, &choices->heatmap);
	}
	if (profile->flags & IAPROF_PROFILE_DIFFERENCE)
		page_difference_append(text, profile, type_count(profile));
	append_reasons(text, tree);
	append_texts(text, tree, "names", offsetof(struct iaprof_frame, name));
	append_texts(text, tree, "modules", offsetof(struct iaprof_frame, module));
	append_texts(text, tree, "files", offsetof(struct iaprof_frame, file));
	append_texts(text, tree, "classes", offsetof(struct iaprof_frame, kernel_class));
	append_works(text, tree);
	append_key(text, "code");
	page_code_append(text, choices->code, profile);
	text_append_string(text, "}");
}

static void append_frames(struct text *text, const struct stack_tree *tree)
{
	struct text scratch = { 0 };
	page_number_append(text, tree->frames.count);
	for (size_t i = 0; i < tree->frames.count; i++) {
		const struct iaprof_frame *frame = tree->frames.items[i];
		page_number_append(text, frame->kind);
		page_number_append(text, frame->flags & ~IAPROF_FRAME_STALL_CLASS_MASK);
		page_number_append(text, different_frames_line(&tree->frames, frame));
		page_number_append(text, frame->pid);
		page_number_append(text, site_number(&scratch, tree, frame));
	}
	text->failed |= scratch.failed;
	text_free(&scratch);
}

/* Returns the number of levels from a node up to an ancestor; a root's parent is above all nodes. */
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
	page_number_append(text, tree->node_count);
	for (size_t i = 0; i < tree->node_count; i++) {
		uint32_t node = tree->order[i];
		size_t first = node * tree->profile->value_type_count;
		const uint64_t *values = &tree->values[first], *before = tree->before ? &tree->before[first] : NULL;
		uint32_t has = 0;
		for (uint32_t k = 0; k < types; k++)
			has |= values[k] || (before && before[k]) ? 1u << k : 0;
		page_number_append(text, i ? levels_up(tree, tree->order[i - 1], tree->nodes[node].parent) : 0);
		page_number_append(text, tree->nodes[node].frame);
		page_number_append(text, has);
		for (uint32_t k = 0; k < types; k++) {
			if (!(has >> k & 1))
				continue;
			page_number_append(text, values[k]);
			if (before)
				page_number_append(text, before[k]);
		}
	}
}

void page_data_append(struct text *text, const struct stack_tree *tree, const struct page_choices *choices)
{
	size_t length_at = text->size;
	text_append(text, "\0\0\0", 4);
	append_header(text, tree, choices);
	size_t length = text->size - length_at - 4;
	for (size_t i = 0; !text->failed && i < 4; i++)
		text->data[length_at + i] = (char)(length >> 8 * i);
	append_frames(text, tree);
	append_nodes(text, tree);
	struct runs runs = runs_with_times(tree->profile, choices);
	for (size_t i = 0; i < runs.count; i++)
		page_times_append_sums(text, &runs.items[i], tree);
}
