/* SPDX-License-Identifier: Apache-2.0 */
/* See timed_values.h. */
#include "stacks/timed_values.h"

#include <stddef.h>
#include <stdlib.h>

static int by_stack(const void *left, const void *right)
{
	const struct timed_value *a = left, *b = right;
	if (a->value_type != b->value_type)
		return a->value_type < b->value_type ? -1 : 1;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return (a->time > b->time) - (a->time < b->time);
}

/* Puts stacks with the same callers next to each other. */
static int by_frames(const struct iaprof_profile *profile, uint32_t left, uint32_t right)
{
	const struct iaprof_stack *a = iaprof_profile_stack(profile, left), *b = iaprof_profile_stack(profile, right);
	for (uint32_t i = 0; i < a->frame_count && i < b->frame_count; i++)
		if (a->frames[i] != b->frames[i])
			return a->frames[i] < b->frames[i] ? -1 : 1;
	return (a->frame_count > b->frame_count) - (a->frame_count < b->frame_count);
}

static int by_time(const void *left, const void *right, void *context)
{
	const struct timed_value *a = left, *b = right;
	if (a->value_type != b->value_type)
		return a->value_type < b->value_type ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	int order = a->stack == b->stack ? 0 : by_frames(context, a->stack, b->stack);
	return order ? order : (a->stack > b->stack) - (a->stack < b->stack);
}

typedef ARRAY(struct timed_value) timed_value_array;

/* Copies the profile's time slots, rounded to a width, sorted by stack. */
static bool slots_read(timed_value_array *slots, const struct iaprof_profile *profile, uint64_t width)
{
	if (!array_reserve(slots, profile->time_count + 1))
		return false;
	for (size_t i = 0; i < profile->time_count; i++) {
		const struct iaprof_time_value *from = iaprof_profile_time(profile, i);
		if (from->stack != UINT32_MAX)
			slots->items[slots->count++] = (struct timed_value){ .time = from->time - from->time % width,
									     .stack = from->stack,
									     .value_type = from->value_type,
									     .value = from->value };
	}
	qsort(slots->items, slots->count, sizeof *slots->items, by_stack);
	return true;
}

/* A value of the profile that is divided among its time slots. */
struct division {
	const struct timed_value *whole;
	uint64_t value, count; /* the part that was divided */
};

static bool divide(struct timed_values *values, struct division *division, uint64_t time, uint64_t value)
{
	const struct timed_value *whole = division->whole;
	uint64_t rest = whole->value - division->value;
	struct timed_value part = *whole;
	part.time = time;
	part.value = value < rest ? value : rest;
	if (!part.value)
		return true;
	division->value += part.value;
	uint64_t count = (uint64_t)((unsigned __int128)whole->count * division->value / whole->value);
	part.count = count - division->count;
	division->count = count;
	struct timed_value *last = values->items.count ? &values->items.items[values->items.count - 1] : NULL;
	if (last && by_stack(last, &part) == 0) {
		last->value += part.value;
		last->count += part.count;
		return true;
	}
	return array_push(&values->items, part);
}

bool timed_values_make(struct timed_values *values, const struct iaprof_profile *profile, uint64_t step)
{
	timed_value_array wholes = { 0 }, slots = { 0 };
	*values = (struct timed_values){ 0 };
	bool has_times = profile->time_count && profile->time_width;
	uint64_t width = has_times ? profile->time_width * ((step + profile->time_width - 1) / profile->time_width) : 0;
	bool good =
		array_reserve(&wholes, profile->value_count + 1) && (!has_times || slots_read(&slots, profile, width));
	for (size_t i = 0; good && i < profile->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		wholes.items[wholes.count++] = (struct timed_value){ .stack = value->stack,
								     .value_type = value->value_type,
								     .value = value->value,
								     .count = value->count };
	}
	if (good && wholes.count)
		qsort(wholes.items, wholes.count, sizeof *wholes.items, by_stack);
	for (size_t i = 0, slot = 0; good && i < wholes.count; i++) {
		struct division division = { .whole = &wholes.items[i] };
		while (slot < slots.count && (slots.items[slot].value_type < wholes.items[i].value_type ||
					      (slots.items[slot].value_type == wholes.items[i].value_type &&
					       slots.items[slot].stack < wholes.items[i].stack)))
			slot++;
		for (; good && slot < slots.count && slots.items[slot].value_type == wholes.items[i].value_type &&
		       slots.items[slot].stack == wholes.items[i].stack;
		     slot++)
			good = divide(values, &division, slots.items[slot].time, slots.items[slot].value);
		good = good && divide(values, &division, profile->begin, UINT64_MAX); /* what has no known time */
	}
	if (good && values->items.count)
		qsort_r(values->items.items, values->items.count, sizeof *values->items.items, by_time,
			(void *)(uintptr_t)profile);
	values->width = width;
	array_free(&wholes);
	array_free(&slots);
	return good;
}

void timed_values_free(struct timed_values *values)
{
	array_free(&values->items);
}
