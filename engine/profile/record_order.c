/* SPDX-License-Identifier: Apache-2.0 */
/* See record_order.h. */
#include "profile/record_order.h"

void record_order_free(struct record_order *order)
{
	array_free(&order->sources);
	for (size_t i = 0; i < WAIT_COUNT; i++)
		record_store_free(&order->stores[i]);
}

static struct code_source *find_source(struct record_order *order, uint16_t number)
{
	for (size_t i = 0; i < order->sources.count; i++)
		if (order->sources.items[i].number == number)
			return &order->sources.items[i];
	return NULL;
}

void record_order_note(struct record_order *order, const struct iaprof_record *record)
{
	struct code_source *source = find_source(order, record->source);
	bool is_value = record->type == IAPROF_RECORD_COUNTER_VALUE, advances = record->type == IAPROF_RECORD_PROGRESS;
	if (!source && !is_value && order->sources.count < RECORD_ORDER_SOURCES_MAX &&
	    array_push(&order->sources, (struct code_source){ .number = record->source }))
		source = &order->sources.items[order->sources.count - 1];
	if (!source || (is_value && source->advances))
		return;
	if (!is_value && !advances) {
		order->late += source->advances && record->time <= source->complete_until;
		return;
	}
	/* The first PROGRESS record replaces the time of its counters, which may be later. */
	if (record->time > source->complete_until || source->advances != advances)
		source->complete_until = record->time;
	source->advances = advances;
}

static bool sources_have_reached(const struct record_order *order, uint64_t time)
{
	for (size_t i = 0; i < order->sources.count; i++)
		if (order->sources.items[i].complete_until < time)
			return false;
	return true;
}

struct release {
	struct record_order *order;
	enum record_wait wait;
	uint64_t time;
	size_t early; /* bytes that pass early */
};

static bool has_waited(const struct release *release, const struct iaprof_record *record)
{
	if (release->wait == WAIT_PROCESSES || release->time == UINT64_MAX)
		return record->time <= release->time;
	return record->time < release->time && (release->time - record->time >= release->order->hold ||
						sources_have_reached(release->order, record->time));
}

static bool release_record(void *context, const struct iaprof_record *record)
{
	struct release *release = context;
	bool is_early = !has_waited(release, record);
	if (is_early && release->early < record->size)
		return false;
	release->early -= is_early ? record->size : 0;
	release->order->early += is_early;
	release->order->pass(release->order->context, release->wait, record);
	return true;
}

void record_order_add(struct record_order *order, enum record_wait wait, const struct iaprof_record *record)
{
	struct record_store *store = &order->stores[wait];
	struct release release = { .order = order, .wait = wait, .early = RECORD_STORE_SIZE_MAX / 2 };
	if (record_store_add(store, record))
		return;
	record_store_release(store, release_record, &release);
	if (record_store_add(store, record))
		return;
	order->early++; /* out of memory */
	order->pass(order->context, wait, record);
}

void record_order_release(struct record_order *order, enum record_wait wait, uint64_t time)
{
	struct release release = { .order = order, .wait = wait, .time = time };
	record_store_release(&order->stores[wait], release_record, &release);
}
