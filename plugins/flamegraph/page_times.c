/* SPDX-License-Identifier: Apache-2.0 */
/* See page_times.h. */
#include "page_times.h"

#include <inttypes.h>
#include <stdlib.h>

#include "page_data.h"
#include "page_number.h"

bool page_times_known(const struct iaprof_profile *profile)
{
	return profile->size >= offsetof(struct iaprof_profile, total_width) + sizeof profile->total_width &&
	       profile->time_total_count && profile->time_width && profile->total_width;
}

/* Where slots are counted from: both kinds begin there, and nothing is earlier. */
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

void page_times_append_header(struct text *text, const struct iaprof_profile *profile,
			      const struct page_heatmap *heatmap)
{
	uint64_t origin = origin_of(profile);
	text_append_format(text, "{\"begin\":%" PRIu64 ",\"end\":%" PRIu64, profile->begin - origin,
			   (profile->end > profile->begin ? profile->end : profile->begin) - origin);
	text_append_format(text, ",\"width\":%" PRIu64 ",\"total_width\":%" PRIu64, profile->time_width,
			   profile->total_width);
	text_append_format(text, ",\"column\":%" PRIu64 ",\"row\":%" PRIu64 ",\"added_up\":[", heatmap->column,
			   heatmap->row);
	for (uint32_t i = 0; i < profile->value_type_count; i++)
		text_append_format(text, "%s%" PRIu64, i ? "," : "",
				   iaprof_profile_value_type(profile, i)->added_up_over);
	text_append_string(text, "]}");
}

struct sum {
	uint32_t place; /* of its node in the order of nodes; 0 for sums of all stacks */
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

/* Sums of several stacks that are one node become one. */
static size_t merge(struct sum *sums, size_t count)
{
	size_t kept = 0;
	qsort(sums, count, sizeof *sums, by_place);
	for (size_t i = 0; i < count; i++) {
		if (kept && by_place(&sums[kept - 1], &sums[i]) == 0)
			sums[kept - 1].value = sums[kept - 1].value > UINT64_MAX - sums[i].value
						       ? UINT64_MAX
						       : sums[kept - 1].value + sums[i].value;
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

static void append_totals(struct text *text, const struct iaprof_profile *profile, struct sum *sums, uint64_t origin)
{
	size_t count = 0;
	for (size_t i = 0; i < profile->time_total_count; i++) {
		const struct iaprof_time_value *total = iaprof_profile_time_total(profile, i);
		if (total->value_type < PAGE_VALUE_TYPES_MAX)
			sums[count++] = (struct sum){ .value_type = total->value_type,
						      .slot = (total->time - origin) / profile->total_width,
						      .value = total->value };
	}
	append_sums(text, sums, count, false);
}

static void append_stacks(struct text *text, const struct stack_tree *tree, struct sum *sums, const uint32_t *places,
			  uint64_t origin)
{
	const struct iaprof_profile *profile = tree->profile;
	size_t count = 0;
	for (size_t i = 0; i < profile->time_count; i++) {
		const struct iaprof_time_value *time = iaprof_profile_time(profile, i);
		uint32_t node = time->stack < profile->stack_count ? tree->leaves[time->stack] : STACK_TREE_NONE;
		if (node != STACK_TREE_NONE && time->value_type < PAGE_VALUE_TYPES_MAX)
			sums[count++] = (struct sum){ .place = places[node],
						      .value_type = time->value_type,
						      .slot = (time->time - origin) / profile->time_width,
						      .value = time->value };
	}
	append_sums(text, sums, count, true);
}

void page_times_append_sums(struct text *text, const struct stack_tree *tree)
{
	const struct iaprof_profile *profile = tree->profile;
	size_t most = profile->time_count > profile->time_total_count ? profile->time_count : profile->time_total_count;
	uint64_t origin = origin_of(profile);
	struct sum *sums = calloc(most + 1, sizeof *sums);
	uint32_t *places = calloc(tree->node_count + 1, sizeof *places);
	text->failed |= !sums || !places;
	if (!text->failed) {
		for (size_t i = 0; i < tree->node_count; i++)
			places[tree->order[i]] = (uint32_t)i + 1; /* the page's node 0 is above all programs */
		append_totals(text, profile, sums, origin);
		append_stacks(text, tree, sums, places, origin);
	}
	free(places);
	free(sums);
}
