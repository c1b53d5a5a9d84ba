/* SPDX-License-Identifier: Apache-2.0 */
/* Counters over time, merged in pairs: see counters.h. */
#include "profile/counters.h"

#include "base/saturating.h"

static void point_add(struct iaprof_counter_point *point, const struct iaprof_counter_point *more)
{
	point->begin = more->begin < point->begin ? more->begin : point->begin;
	point->end = more->end > point->end ? more->end : point->end;
	point->minimum = more->minimum < point->minimum ? more->minimum : point->minimum;
	point->maximum = more->maximum > point->maximum ? more->maximum : point->maximum;
	/* Not computed from the sum, which may overflow to infinity. */
	double count = (double)(point->count + more->count);
	point->mean = point->mean * ((double)point->count / count) + more->mean * ((double)more->count / count);
	point->count += more->count;
}

static void halve(struct counter *counter)
{
	size_t count = counter->points.count;
	for (size_t i = 0; i < count; i += 2) {
		struct iaprof_counter_point point = counter->points.items[i];
		if (i + 1 < count)
			point_add(&point, &counter->points.items[i + 1]);
		counter->points.items[i / 2] = point;
	}
	counter->points.count = (count + 1) / 2;
	counter->values_per_point *= 2;
}

static bool value_add(struct counter *counter, uint64_t time, double value)
{
	const struct iaprof_counter_point more = {
		.begin = time, .end = time, .count = 1, .minimum = value, .maximum = value, .mean = value
	};
	size_t count = counter->points.count;
	counter->count++;
	counter->last = value;
	if (count && counter->points.items[count - 1].count < counter->values_per_point) {
		point_add(&counter->points.items[count - 1], &more);
		return true;
	}
	if (count == COUNTER_POINTS_MAX)
		halve(counter);
	return array_push(&counter->points, more);
}

static struct counter *find_counter(const struct counters *counters, uint16_t source, uint32_t id)
{
	for (size_t i = 0; i < counters->items.count; i++)
		if (counters->items.items[i].source == source && counters->items.items[i].id == id)
			return &counters->items.items[i];
	return NULL;
}

bool counters_take(struct counters *counters, const struct iaprof_record_counter *record)
{
	if (find_counter(counters, record->header.source, record->id) || counters->items.count == COUNTERS_MAX)
		return true;
	struct counter counter = { .source = record->header.source,
				   .id = record->id,
				   .name = record->name,
				   .unit = record->unit,
				   .kind = record->kind,
				   .device = record->device,
				   .values_per_point = 1 };
	if (IAPROF_HAS_MEMBER(record, record->header.size, labels)) {
		counter.pid = record->pid;
		counter.engine = record->engine;
		counter.labels = record->labels;
	}
	return array_push(&counters->items, counter);
}

bool counters_take_value(struct counters *counters, const struct iaprof_record_counter_value *record)
{
	struct counter *counter = find_counter(counters, record->header.source, record->counter);
	if (counter)
		return value_add(counter, record->header.time, record->value);
	counters->dropped = saturating_add(counters->dropped, 1);
	return true;
}

void counters_free(struct counters *counters)
{
	for (size_t i = 0; i < counters->items.count; i++)
		array_free(&counters->items.items[i].points);
	array_free(&counters->items);
}
