/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the hottest functions and stacks: see tables.h. */
#include "tables.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/saturating.h"
#include "stacks/difference.h"
#include "stacks/stack_text.h"
#include "text/printable.h"
#include "text/quantity.h"

#define FUNCTIONS_SHOWN 20
#define STACKS_SHOWN 5
#define FRAMES_SHOWN 12

/* Sums of one frame. */
struct sums {
	uint32_t frame;
	uint64_t self;  /* sum over stacks in which it is the innermost function */
	uint64_t total; /* sum over all stacks with the frame, each counted once */
};

static int compare_sums(const void *a, const void *b)
{
	const struct sums *left = a, *right = b;
	if (left->self != right->self)
		return left->self < right->self ? 1 : -1;
	return left->total < right->total ? 1 : left->total > right->total ? -1 : (int)left->frame - (int)right->frame;
}

static int compare_values(const void *a, const void *b)
{
	const struct iaprof_value *left = *(const struct iaprof_value *const *)a;
	const struct iaprof_value *right = *(const struct iaprof_value *const *)b;
	return left->value < right->value ? 1 : left->value > right->value ? -1 : (int)left->stack - (int)right->stack;
}

static void add_up(const struct iaprof_profile *profile, uint32_t value_type, struct sums *sums, size_t *last_seen)
{
	for (size_t i = 0; i < profile->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		if (value->value_type != value_type)
			continue;
		const struct iaprof_stack *stack = iaprof_profile_stack(profile, value->stack);
		uint32_t leaf = stack->frames[0];
		for (uint32_t k = 0; k < stack->frame_count; k++) {
			uint32_t frame = stack->frames[k];
			if (!frame_is_function(iaprof_profile_frame(profile, frame)))
				continue;
			if (last_seen[frame] != i + 1) /* a recursive function counts once */
				sums[frame].total = saturating_add(sums[frame].total, value->value);
			last_seen[frame] = i + 1;
			leaf = frame;
		}
		sums[leaf].self = saturating_add(sums[leaf].self, value->value);
	}
}

static void print_functions(const struct iaprof_profile *profile, uint32_t value_type, uint64_t total, int width,
			    FILE *file)
{
	CLEANUP_FREE struct sums *sums = calloc(profile->frame_count + 1, sizeof *sums);
	CLEANUP_FREE size_t *last_seen = calloc(profile->frame_count + 1, sizeof *last_seen);
	if (!sums || !last_seen)
		return;
	for (uint32_t i = 0; i < profile->frame_count; i++)
		sums[i].frame = i;
	add_up(profile, value_type, sums, last_seen);
	qsort(sums, profile->frame_count, sizeof *sums, compare_sums);
	fprintf(file, "   self   total  function\n");
	for (size_t i = 0; i < profile->frame_count && i < FUNCTIONS_SHOWN && sums[i].self; i++) {
		const struct iaprof_frame *frame = iaprof_profile_frame(profile, sums[i].frame);
		fprintf(file, "%7s %7s  ", quantity_fixed_share(sums[i].self, total, 2, "%").text,
			quantity_fixed_share(sums[i].total, total, 2, "%").text);
		frame_print(frame, width - 21, file);
	}
}

static void print_stack(const struct iaprof_profile *profile, const struct iaprof_value *value, uint64_t total,
			int width, FILE *file)
{
	const struct iaprof_stack *stack = iaprof_profile_stack(profile, value->stack);
	fprintf(file, "\n%7s  ", quantity_fixed_share(value->value, total, 2, "%").text);
	frame_print(iaprof_profile_frame(profile, stack->frames[0]), width - 9, file);
	for (uint32_t shown = 0, i = stack->frame_count; i-- > 1;) {
		const struct iaprof_frame *frame = iaprof_profile_frame(profile, stack->frames[i]);
		if (frame->flags & IAPROF_FRAME_PRODUCER)
			continue;
		if (shown++ == FRAMES_SHOWN) {
			fprintf(file, "         ... %u more\n", i);
			break;
		}
		fputs("         ", file);
		frame_print(frame, width - 13, file);
	}
}

static void print_stacks(const struct iaprof_profile *profile, uint32_t value_type, uint64_t total, int width,
			 FILE *file)
{
	CLEANUP_FREE const struct iaprof_value **values = calloc(profile->value_count + 1, sizeof *values);
	size_t count = 0;
	for (size_t i = 0; values && i < profile->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		if (value->value_type == value_type)
			values[count++] = value;
	}
	if (!count)
		return;
	qsort(values, count, sizeof *values, compare_values);
	fprintf(file, "\nHottest stacks (innermost function first):\n");
	for (size_t i = 0; i < count && i < STACKS_SHOWN; i++)
		print_stack(profile, values[i], total, width, file);
}

void hottest_tables_print(const struct iaprof_profile *profile, uint32_t only, int width, FILE *file)
{
	if (width < 40)
		width = 40;
	for (uint32_t type = 0; type < profile->value_type_count; type++) {
		uint64_t total = difference_totals(profile, type).after;
		const struct iaprof_value_type *shown = iaprof_profile_value_type(profile, type);
		if (!total || (only != VALUE_TYPE_NONE && type != only))
			continue;
		fputc('\n', file);
		text_print_printable(shown->name, width, file);
		if (!strcmp(shown->unit, "nanoseconds")) {
			fprintf(file, ": %s\n\n", quantity_time(total).text);
		} else {
			fprintf(file, ": %" PRIu64 " ", total);
			text_print_printable(shown->unit, width, file);
			fputs("\n\n", file);
		}
		print_functions(profile, type, total, width, file);
		print_stacks(profile, type, total, width, file);
	}
}
