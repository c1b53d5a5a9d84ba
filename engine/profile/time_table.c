/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by time slot: see time_table.h. */
#include "profile/time_table.h"

#include "base/keyed_array.h"
#include "profile/value_table.h"

/* Maximum number of times that the slot width is doubled: slots of 20 ms are then almost 6 hours wide. */
#define DOUBLINGS_MAX 20

void time_table_free(struct time_table *table)
{
	for (int i = 0; i < 2; i++) {
		struct time_sums *sums = i ? &table->totals : &table->stacks;
		array_free(&sums->items);
		hash_index_free(&sums->index);
	}
	array_free(&table->added_up_over);
}

void time_table_clear(struct time_table *table)
{
	for (int i = 0; i < 2; i++) {
		struct time_sums *sums = i ? &table->totals : &table->stacks;
		array_free(&sums->items);
		hash_index_free(&sums->index);
		*sums = (struct time_sums){ 0 };
	}
}

/* Time, stack and value type: the members before the value. */
#define KEY_SIZE offsetof(struct iaprof_time_value, value)

static bool sums_add(struct time_sums *sums, const struct iaprof_time_value *added)
{
	uint64_t hash = hash_bytes(added, KEY_SIZE);
	uint32_t position = keyed_items_find(&sums->index, sums->items.items, sizeof *added, hash, added, KEY_SIZE);
	if (position == POSITION_NONE)
		return hash_index_push(&sums->index, hash, &sums->items, *added);
	struct iaprof_time_value *sum = &sums->items.items[position];
	sum->value = saturating_add(sum->value, added->value);
	return true;
}

/* Merges pairs of slots. */
static void widen(struct time_table *table, struct time_sums *sums)
{
	size_t count = sums->items.count;
	hash_index_free(&sums->index);
	sums->items.count = 0;
	sums->doublings++;
	/* Adds the sums again in place, which is safe because their number never grows. */
	for (size_t i = 0; i < count; i++) {
		struct iaprof_time_value sum = sums->items.items[i];
		sum.time /= 2;
		if (!sums_add(sums, &sum))
			table->out_of_memory++;
	}
	/* If most stacks occurred only once or twice, wider slots do not reduce the number of sums. */
	if (sums->items.count > sums->limit / 4 * 3)
		sums->limit *= 2;
}

static void add_value(struct time_table *table, struct time_sums *sums, uint32_t stack, uint32_t value_type,
		      uint64_t slot, uint64_t value)
{
	if (!sums->limit)
		sums->limit = TIME_SUMS_MAX;
	while (sums->items.count >= sums->limit && sums->doublings < DOUBLINGS_MAX)
		widen(table, sums);
	struct iaprof_time_value sum = {
		.time = slot >> sums->doublings, .stack = stack, .value_type = value_type, .value = value
	};
	if (!sums_add(sums, &sum))
		table->out_of_memory++;
}

static void note_duration(struct time_table *table, uint32_t value_type, uint64_t duration)
{
	while (table->added_up_over.count <= value_type)
		if (!array_push(&table->added_up_over, 0))
			return;
	if (table->added_up_over.items[value_type] < duration)
		table->added_up_over.items[value_type] = duration;
}

/* Returns the share of a value that belongs to a part of its time. rest: < length, what is added before rounding down.
 */
static uint64_t portion(uint64_t value, uint64_t part, uint64_t length, uint64_t rest)
{
	return part < length ? (uint64_t)(((unsigned __int128)value * part + rest) / length) : value;
}

static void divide(struct time_table *table, uint32_t stack, uint32_t value_type, uint64_t begin, uint64_t end,
		   uint64_t value, uint64_t slots_max)
{
	if (!table->resolution || !begin || end < begin || !value)
		return;
	uint64_t length = end - begin, first = begin / table->resolution, step = 1, given = 0;
	uint64_t slots = (length ? end - 1 : end) / table->resolution - first + 1;
	/* Varies the slot in which values that are less than the number of their slots are rounded up. */
	table->phase += 0x9e3779b97f4a7c15; /* golden ratio: multiples are evenly distributed */
	uint64_t rest = (uint64_t)((unsigned __int128)table->phase * length >> 64);
	note_duration(table, value_type, length);
	while (slots / step > slots_max)
		step *= 2;
	/* Slots that are partially covered receive a share. */
	for (uint64_t slot = 0; slot < slots; slot += step) {
		uint64_t past = slots - slot > step ? (first + slot + step) * table->resolution - begin : length;
		uint64_t due = portion(value, past, length, rest) - given;
		if (!due)
			continue;
		given += due;
		add_value(table, &table->stacks, stack, value_type, first + slot, due);
		add_value(table, &table->totals, UINT32_MAX, value_type, first + slot, due);
	}
}

void time_table_add(struct time_table *table, uint32_t stack, uint32_t value_type, uint64_t begin, uint64_t end,
		    uint64_t value)
{
	divide(table, stack, value_type, begin, end, value, TIME_SLOTS_OF_VALUE_MAX);
}

void time_table_add_samples(struct time_table *table, uint32_t stack, uint32_t value_type, uint64_t begin, uint64_t end,
			    uint64_t value)
{
	divide(table, stack, value_type, begin, end, value, TIME_SLOTS_OF_SAMPLES_MAX);
}
