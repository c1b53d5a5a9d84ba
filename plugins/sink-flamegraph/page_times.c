/* SPDX-License-Identifier: Apache-2.0 */
/* See page_times.h. */
#include "page_times.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturating.h"
#include "page_data.h"
#include "page_number.h"

struct page_times page_times_of(const struct iaprof_profile *profile, bool before)
{
	if (!(profile->flags & IAPROF_PROFILE_DIFFERENCE))
		return (struct page_times){ .profile = before ? NULL : profile };
	if (!profile->before_profile)
		return (struct page_times){ 0 };
	return (struct page_times){ .profile = before ? profile->before_profile : profile->after_profile,
				    .stacks = before ? profile->before_stacks : profile->after_stacks };
}

bool page_times_known(const struct page_times *times)
{
	const struct iaprof_profile *profile = times->profile;
	return profile && profile->time_total_count && profile->time_width && profile->total_width;
}

/* Returns the origin of the slot numbers: both kinds start there, and nothing is earlier. */
static uint64_t origin_of(const struct iaprof_profile *profile)
{
	uint64_t origin = profile->begin;
	for (size_t i = 0; i < profile->time_count; i++)
		if (iaprof_profile_time(profile, i)->time < origin)
			origin = iaprof_profile_time(profile, i)->time;
	for (size_t i = 0; i < profile->time_total_count; i++)
		if (iaprof_profile_time_total(profile, i)->time < origin)
			origin = iaprof_profile_time_total(profile, i)->time;
	return origin - origin % profile->time_width;
}

/* Returns the value type of the tree's profile that a run's value type is; types of other names have no times. */
static uint32_t type_in_tree(const struct page_times *times, const struct stack_tree *tree, uint32_t value_type)
{
	const struct iaprof_value_type *type = iaprof_profile_value_type(times->profile, value_type);
	if (times->profile == tree->profile)
		return value_type;
	for (uint32_t i = 0; i < tree->profile->value_type_count; i++) {
		const struct iaprof_value_type *known = iaprof_profile_value_type(tree->profile, i);
		if (!strcmp(known->name, type->name) && !strcmp(known->unit, type->unit))
			return i;
	}
	return UINT32_MAX;
}

static uint64_t added_up_over(const struct page_times *times, const struct stack_tree *tree, uint32_t type)
{
	for (uint32_t i = 0; i < times->profile->value_type_count; i++)
		if (type_in_tree(times, tree, i) == type)
			return iaprof_profile_value_type(times->profile, i)->added_up_over;
	return 0;
}

void page_times_append_header(struct text *text, const struct page_times *times, const struct stack_tree *tree,
			      const struct page_heatmap *heatmap)
{
	const struct iaprof_profile *profile = times->profile;
	uint64_t origin = origin_of(profile);
	text_append_format(text, "{\"begin\":%" PRIu64 ",\"end\":%" PRIu64, profile->begin - origin,
			   (profile->end > profile->begin ? profile->end : profile->begin) - origin);
	text_append_format(text, ",\"width\":%" PRIu64 ",\"total_width\":%" PRIu64, profile->time_width,
			   profile->total_width);
	text_append_format(text, ",\"column\":%" PRIu64 ",\"row\":%" PRIu64 ",\"added_up\":[", heatmap->column,
			   heatmap->row);
	for (uint32_t i = 0; i < tree->profile->value_type_count; i++)
		text_append_format(text, "%s%" PRIu64, i ? "," : "", added_up_over(times, tree, i));
	text_append_string(text, "]}");
}

struct sum {
	uint32_t place; /* position of its node in the order of nodes; 0 for sums of all stacks */
	uint32_t value_type;
	uint64_t slot;
	uint64_t value;
};

static int by_place(const void *left, const void *right)
{
	const struct sum *a = left, *b = right;
	if (a->place != b->place)
		return (a->place > b->place) - (a->place < b->place);
	if (a->value_type != b->value_type)
		return (a->value_type > b->value_type) - (a->value_type < b->value_type);
	return (a->slot > b->slot) - (a->slot < b->slot);
}

/* Merges sums of stacks that share a node. */
static size_t merge(struct sum *sums, size_t count)
{
	size_t kept = 0;
	qsort(sums, count, sizeof *sums, by_place);
	for (size_t i = 0; i < count; i++) {
		if (kept && by_place(&sums[kept - 1], &sums[i]) == 0)
			saturating_increase(&sums[kept - 1].value, sums[i].value);
		else
			sums[kept++] = sums[i];
	}
	return kept;
}

static void append_sums(struct text *text, struct sum *sums, size_t count, bool has_nodes)
{
	const struct sum none = { .value_type = UINT32_MAX }, *before = &none;
	count = merge(sums, count);
	page_number_append(text, count);
	for (size_t i = 0; i < count; before = &sums[i++]) {
		bool goes_on = before->place == sums[i].place && before->value_type == sums[i].value_type;
		if (has_nodes)
			page_number_append(text, sums[i].place - before->place);
		page_number_append(text, sums[i].value_type);
		page_number_append(text, sums[i].slot - (goes_on ? before->slot : 0));
		page_number_append(text, sums[i].value);
	}
}

static void append_totals(struct text *text, const struct page_times *times, const struct stack_tree *tree,
			  struct sum *sums, uint64_t origin)
{
	const struct iaprof_profile *profile = times->profile;
	size_t count = 0;
	for (size_t i = 0; i < profile->time_total_count; i++) {
		const struct iaprof_time_value *total = iaprof_profile_time_total(profile, i);
		uint32_t type = type_in_tree(times, tree, total->value_type);
		if (type < PAGE_VALUE_TYPES_MAX)
			sums[count++] = (struct sum){ .value_type = type,
						      .slot = (total->time - origin) / profile->total_width,
						      .value = total->value };
	}
	append_sums(text, sums, count, false);
}

/* Returns the node of a stack of a run; STACK_TREE_NONE: its values are in no node. */
static uint32_t node_of(const struct page_times *times, const struct stack_tree *tree, uint32_t stack)
{
	if (stack < times->profile->stack_count && times->stacks)
		stack = times->stacks[stack];
	return stack < tree->profile->stack_count ? tree->leaves[stack] : STACK_TREE_NONE;
}

static void append_stacks(struct text *text, const struct page_times *times, const struct stack_tree *tree,
			  struct sum *sums, const uint32_t *places, uint64_t origin)
{
	const struct iaprof_profile *profile = times->profile;
	size_t count = 0;
	for (size_t i = 0; i < profile->time_count; i++) {
		const struct iaprof_time_value *time = iaprof_profile_time(profile, i);
		uint32_t node = node_of(times, tree, time->stack), type = type_in_tree(times, tree, time->value_type);
		if (node != STACK_TREE_NONE && type < PAGE_VALUE_TYPES_MAX)
			sums[count++] = (struct sum){ .place = places[node],
						      .value_type = type,
						      .slot = (time->time - origin) / profile->time_width,
						      .value = time->value };
	}
	append_sums(text, sums, count, true);
}

void page_times_append_sums(struct text *text, const struct page_times *times, const struct stack_tree *tree)
{
	const struct iaprof_profile *profile = times->profile;
	size_t most = profile->time_count > profile->time_total_count ? profile->time_count : profile->time_total_count;
	uint64_t origin = origin_of(profile);
	struct sum *sums = calloc(most + 1, sizeof *sums);
	uint32_t *places = calloc(tree->node_count + 1, sizeof *places);
	text->failed |= !sums || !places;
	if (!text->failed) {
		for (size_t i = 0; i < tree->node_count; i++)
			places[tree->order[i]] = (uint32_t)i + 1; /* the page's node 0 is above all programs */
		append_totals(text, times, tree, sums, origin);
		append_stacks(text, times, tree, sums, places, origin);
	}
	free(places);
	free(sums);
}
