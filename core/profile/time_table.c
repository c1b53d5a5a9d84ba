/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by slot of time: see time_table.h. */
#include "profile/time_table.h"

#include "profile/value_table.h"

/* Slots of 2^40 ns are hours wide: wider ones bring nothing. */
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

static uint64_t hash_of(const struct iaprof_time_value *sum)
{
	return hash_pair((uint64_t)sum->stack << 32 | sum->value_type, sum->time);
}

static uint64_t rehash(const void *context, uint32_t position)
{
	return hash_of(&((const struct time_sums *)context)->items.items[position]);
}

static bool sums_add(struct time_sums *sums, const struct iaprof_time_value *added)
{
	uint64_t hash = hash_of(added);
	for (struct hash_probe probe = hash_index_probe(&sums->index, hash); hash_index_next(&sums->index, &probe);) {
		struct iaprof_time_value *sum = &sums->items.items[probe.position];
		if (sum->time == added->time && sum->stack == added->stack && sum->value_type == added->value_type) {
			sum->value = saturating_add(sum->value, added->value);
			return true;
		}
	}
	uint32_t position = (uint32_t)sums->items.count;
	if (!array_push(&sums->items, *added))
		return false;
	if (hash_index_add(&sums->index, hash, position, rehash, sums))
		return true;
	sums->items.count--;
	return false;
}

/* Two slots become one each. */
static void widen(struct time_table *table, struct time_sums *sums)
{
	size_t count = sums->items.count;
	hash_index_free(&sums->index);
	sums->items.count = 0;
	sums->doublings++;
	/* Sums are put in again in place: there are never more of them than were taken out. */
	for (size_t i = 0; i < count; i++) {
		struct iaprof_time_value sum = sums->items.items[i];
		sum.time /= 2;
		if (!sums_add(sums, &sum))
			table->out_of_memory++;
	}
	/* Where each stack was seen only once or twice, wider slots are no remedy. */
	if (sums->items.count > sums->limit / 4 * 3)
		sums->limit *= 2;
}

static void add(struct time_table *table, struct time_sums *sums, uint32_t stack, uint32_t value_type, uint64_t slot,
		uint64_t value)
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

/* How much of a value belongs to a part of its time. */
static uint64_t portion(uint64_t value, uint64_t part, uint64_t length)
{
	return part < length ? (uint64_t)((unsigned __int128)value * part / length) : value;
}

void time_table_add(struct time_table *table, uint32_t stack, uint32_t value_type, uint64_t begin, uint64_t end,
		    uint64_t value)
{
	if (!table->resolution || !begin || end < begin || !value)
		return;
	uint64_t length = end - begin, first = begin / table->resolution, step = 1, given = 0;
	uint64_t slots = (length ? end - 1 : end) / table->resolution - first + 1;
	note_duration(table, value_type, length);
	while (slots / step > TIME_SLOTS_OF_VALUE_MAX)
		step *= 2;
	/* Slots that are covered in part get a part. */
	for (uint64_t slot = 0; slot < slots; slot += step) {
		uint64_t past = slots - slot > step ? (first + slot + step) * table->resolution - begin : length;
		uint64_t due = portion(value, past, length) - given;
		if (!due)
			continue;
		given += due;
		add(table, &table->stacks, stack, value_type, first + slot, due);
		add(table, &table->totals, UINT32_MAX, value_type, first + slot, due);
	}
}
