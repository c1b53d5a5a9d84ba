/* SPDX-License-Identifier: Apache-2.0 */
/* What became of the items of sinks, as counters of the core: see run_state.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/run_state.h"

static const struct {
	const char *name, *unit;
	enum iaprof_counter_kind kind;
	size_t member;
} counters[] = {
	{ "sink-delivered", "items", IAPROF_COUNTER_CUMULATIVE, offsetof(struct iaprof_delivery, delivered) },
	{ "sink-refused", "items", IAPROF_COUNTER_CUMULATIVE, offsetof(struct iaprof_delivery, refused) },
	{ "sink-dropped", "items", IAPROF_COUNTER_CUMULATIVE, offsetof(struct iaprof_delivery, dropped) },
	{ "sink-waiting", "items", IAPROF_COUNTER_GAUGE, offsetof(struct iaprof_delivery, waiting) },
	{ "sink-stored", "bytes", IAPROF_COUNTER_GAUGE, offsetof(struct iaprof_delivery, stored) },
};
#define COUNTER_COUNT (sizeof counters / sizeof *counters)

static uint64_t value_of(const struct iaprof_delivery *delivery, size_t counter)
{
	return *(const uint64_t *)(const void *)((const char *)delivery + counters[counter].member);
}

static void add(uint64_t *count, uint64_t earlier)
{
	if (*count != IAPROF_COUNT_UNKNOWN && earlier != IAPROF_COUNT_UNKNOWN)
		*count += earlier;
}

/* Returns what a sink reported, with profiles that its queue had no room for, and counts of the runs that it follows.
 */
static struct iaprof_delivery total_of(const struct instance *sink)
{
	struct iaprof_delivery all = sink->reported;
	add(&all.dropped, atomic_load(&sink->dropped_profiles));
	if (!sink->earlier.size)
		return all;
	add(&all.delivered, sink->earlier.delivered);
	add(&all.refused, sink->earlier.refused);
	add(&all.dropped, sink->earlier.dropped);
	return all;
}

static void declare(struct run *run, const struct instance *sink, uint32_t id, size_t counter)
{
	char labels[256];
	snprintf(labels, sizeof labels, "sink=%s", sink->name);
	struct iaprof_record_counter record = { .id = id,
						.name = intern_text_id(run->services.intern, counters[counter].name),
						.unit = intern_text_id(run->services.intern, counters[counter].unit),
						.kind = counters[counter].kind,
						.labels = intern_text_id(run->services.intern, labels) };
	run_send(run, &record.header, IAPROF_RECORD_COUNTER, sizeof record);
}

/* Sends what has changed. The sink's lock is held. */
static void send(struct run *run, struct instance *sink)
{
	const struct iaprof_delivery delivery = total_of(sink);
	for (size_t i = 0; i < COUNTER_COUNT; i++) {
		uint32_t id = (uint32_t)(SINK_COUNTERS_BEGIN + sink->number * SINK_COUNTERS_EACH + i);
		uint64_t value = value_of(&delivery, i);
		bool is_new = !sink->delivery.size || value_of(&sink->delivery, i) == IAPROF_COUNT_UNKNOWN;
		if (value == IAPROF_COUNT_UNKNOWN || (!is_new && value == value_of(&sink->delivery, i)))
			continue;
		if (is_new)
			declare(run, sink, id, i);
		struct iaprof_record_counter_value record = { .counter = id, .value = (double)value };
		run_send(run, &record.header, IAPROF_RECORD_COUNTER_VALUE, sizeof record);
	}
	sink->delivery = delivery;
}

void run_send_delivery(void *context, struct instance *sink, const struct iaprof_delivery *delivery)
{
	struct run *run = context;
	/* A replay has the counters of the run that was recorded. */
	if (run_is_offline(run))
		return;
	pthread_mutex_lock(&sink->lock);
	sink->reported = *delivery;
	delivery_marks_advance(&sink->marks, delivery);
	send(run, sink);
	pthread_mutex_unlock(&sink->lock);
}

void run_update_deliveries(struct run *run)
{
	for (size_t i = 0; i < run->setup.sinks.count; i++) {
		struct instance *sink = run->setup.sinks.items[i];
		pthread_mutex_lock(&sink->lock);
		if (sink->reported.size)
			send(run, sink);
		pthread_mutex_unlock(&sink->lock);
	}
}

static struct sink_total *find_total(const struct sink_totals *totals, const struct instance *sink)
{
	for (size_t i = 0; i < totals->items.count; i++)
		if (totals->items.items[i].plugin == sink->plugin && !strcmp(totals->items.items[i].name, sink->name))
			return &totals->items.items[i];
	return NULL;
}

void run_save_totals(const struct run *run, struct sink_totals *totals)
{
	for (size_t i = 0; i < run->setup.sinks.count; i++) {
		const struct instance *sink = run->setup.sinks.items[i];
		struct sink_total *total = find_total(totals, sink);
		struct sink_total added = { .plugin = sink->plugin, .name = total ? NULL : strdup(sink->name) };
		if (added.name && array_push(&totals->items, added))
			total = &totals->items.items[totals->items.count - 1];
		else
			free(added.name);
		if (!total)
			continue;
		if (sink->reported.size)
			total->delivery = total_of(sink);
		total->busy = atomic_load(&sink->activity.busy);
		total->newest = sink->marks.newest;
	}
}

void run_restore_totals(struct run *run, const struct sink_totals *totals)
{
	for (size_t i = 0; i < run->setup.sinks.count; i++) {
		struct instance *sink = run->setup.sinks.items[i];
		const struct sink_total *total = find_total(totals, sink);
		if (!total)
			continue;
		sink->earlier = total->delivery;
		sink->marks.newest = total->newest;
		atomic_store(&sink->activity.busy, total->busy);
	}
}

void sink_totals_free(struct sink_totals *totals)
{
	for (size_t i = 0; i < totals->items.count; i++)
		free(totals->items.items[i].name);
	array_free(&totals->items);
}
