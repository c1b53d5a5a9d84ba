/* SPDX-License-Identifier: Apache-2.0 */
/* Busy times of devices by process: see device_activity.h. */
#include "correlator/device_activity.h"

#include <string.h>

#include "base/clock.h"

/* 12 MiB. Beyond it the oldest entries are dropped and counted. */
#define ENTRIES_MAX 262144

/* Records of different sources or devices are out of order by at most this much. */
#define DISORDER NANOSECONDS_PER_SECOND

void device_activity_free(struct device_activity *activity)
{
	array_free(&activity->entries);
}

static void note_dropped(struct device_activity *activity, uint64_t time)
{
	activity->dropped++;
	if (time > activity->dropped_until)
		activity->dropped_until = time;
}

void device_activity_take(struct device_activity *activity, const struct iaprof_record_device_activity *record)
{
	struct device_activity_entry entry = { .begin = record->begin,
					       .end = record->header.time,
					       .busy = record->busy,
					       .source = record->header.source,
					       .device = record->device,
					       .pid = record->pid,
					       .kind = record->kind,
					       .label = record->label };
	if (activity->entries.count >= ENTRIES_MAX) {
		size_t half = ENTRIES_MAX / 2;
		for (size_t i = 0; i < half; i++)
			note_dropped(activity, activity->entries.items[i].end);
		memmove(activity->entries.items, activity->entries.items + half,
			(ENTRIES_MAX - half) * sizeof activity->entries.items[0]);
		activity->entries.count -= half;
	}
	if (!array_push(&activity->entries, entry))
		note_dropped(activity, entry.end);
}

void device_activity_forget(struct device_activity *activity, uint64_t before)
{
	size_t kept = 0;
	for (size_t i = 0; i < activity->entries.count; i++)
		if (activity->entries.items[i].end >= before)
			activity->entries.items[kept++] = activity->entries.items[i];
	activity->entries.count = kept;
}

/* Returns the part of an entry's busy time within an interval, assuming that it is spread evenly. */
static double busy_between(const struct device_activity_entry *entry, uint64_t begin, uint64_t end)
{
	uint64_t from = entry->begin > begin ? entry->begin : begin;
	uint64_t to = entry->end < end ? entry->end : end;
	if (from > to)
		return 0;
	if (entry->begin == entry->end)
		return (double)entry->busy;
	return (double)entry->busy * (double)(to - from) / (double)(entry->end - entry->begin);
}

/* Returns the entry of a process, which replaces the least busy one if there are too many. */
static struct busy_process *process_for(struct busy_processes *busy, uint32_t pid)
{
	for (size_t i = 0; i < busy->count; i++)
		if (busy->items[i].pid == pid)
			return &busy->items[i];
	if (busy->count < BUSY_PROCESSES_MAX) {
		busy->items[busy->count] = (struct busy_process){ .pid = pid };
		return &busy->items[busy->count++];
	}
	struct busy_process *least = &busy->items[0];
	for (size_t i = 1; i < busy->count; i++)
		if (busy->items[i].busy < least->busy)
			least = &busy->items[i];
	busy->more = true;
	*least = (struct busy_process){ .pid = pid };
	return least;
}

void device_activity_find(const struct device_activity *activity, uint16_t source, uint32_t device, uint64_t begin,
			  uint64_t end, struct busy_processes *busy)
{
	busy->count = 0;
	busy->kind = UINT32_MAX;
	busy->more = activity->dropped_until > begin;
	for (size_t i = activity->entries.count; i-- > 0;) {
		const struct device_activity_entry *entry = &activity->entries.items[i];
		if (begin > DISORDER && entry->end < begin - DISORDER)
			break;
		double time = entry->source == source && entry->device == device && entry->kind <= busy->kind
				      ? busy_between(entry, begin, end)
				      : 0;
		if (time <= 0)
			continue;
		if (entry->kind < busy->kind) { /* more reliable than the entries found so far */
			busy->kind = entry->kind;
			busy->count = 0;
		}
		struct busy_process *process = process_for(busy, entry->pid);
		process->busy += time;
		if (entry->label)
			process->label = entry->label;
	}
}
