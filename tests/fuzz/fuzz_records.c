/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: records of a capture that nobody wrote honestly. The input is records laid end to end; what is well
 * formed goes over the bus to a collector as in a replay, and the profile that comes out must hang together and count
 * every sample that went in.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "bus/record_check.h"
#include "profile/collector.h"
#include "base/saturating.h"

/* Input and output of the collector. */
struct replayed {
	struct collector *collector;
	uint64_t samples;
	uint64_t interval_samples; /* of all intervals */
	uint64_t last_sync;
};

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_frames(const struct iaprof_profile *profile)
{
	for (uint32_t i = 0; i < profile->frame_count; i++)
		check(iaprof_profile_frame(profile, i)->name != NULL);
	for (uint32_t i = 0; i < profile->stack_count; i++) {
		const struct iaprof_stack *stack = iaprof_profile_stack(profile, i);
		check(stack->frame_count > 0);
		for (uint32_t k = 0; k < stack->frame_count; k++)
			check(stack->frames[k] < profile->frame_count);
	}
}

/* The number of samples in a profile, those under [lost] included. */
static uint64_t count_samples(const struct iaprof_profile *profile)
{
	uint64_t count = 0;
	for (size_t i = 0; i < profile->value_count; i++) {
		const struct iaprof_value *value = iaprof_profile_value(profile, i);
		check(value->stack < profile->stack_count && value->value_type < profile->value_type_count);
		const struct iaprof_stack *stack = iaprof_profile_stack(profile, value->stack);
		if (iaprof_profile_frame(profile, stack->frames[0])->kind != IAPROF_FRAME_LOST)
			count = saturating_add(count, value->count);
	}
	for (size_t i = 0; i < profile->lost_count; i++) {
		const struct iaprof_lost *lost = iaprof_profile_lost(profile, i);
		check(lost->value_type == UINT32_MAX || lost->value_type < profile->value_type_count);
		if (!strcmp(lost->reason, COLLECTOR_REASON_VALUE_TYPE) ||
		    !strcmp(lost->reason, COLLECTOR_REASON_PROFILE_STACK))
			count = saturating_add(count, lost->count);
	}
	return count;
}

static void on_sync(void *context, uint64_t time)
{
	struct replayed *replayed = context;
	check(time >= replayed->last_sync);
	replayed->last_sync = time;
	collector_resolve(replayed->collector);
	struct snapshot *snapshot = collector_snapshot(replayed->collector, false);
	check(snapshot != NULL);
	replayed->interval_samples = saturating_add(replayed->interval_samples, count_samples(&snapshot->profile));
	snapshot_release(snapshot);
	collector_begin_interval(replayed->collector);
}

static void take_waiting(struct replayed *replayed, struct bus *bus)
{
	for (struct block *block = bus_take(bus, 0), *next; block; block = next) {
		next = block->next;
		struct iaprof_batch batch = block_batch(block);
		collector_take(replayed->collector, &batch, on_sync, replayed);
		bus_recycle(bus, block);
	}
}

/* How many samples a record brings in: of CPUs, or what the correlator of the recorded run made of a device's. */
static uint64_t samples_of(const struct iaprof_record *record)
{
	if (record->type == IAPROF_RECORD_SAMPLE)
		return ((const struct iaprof_record_sample *)record)->count;
	if (record->type == IAPROF_RECORD_PROFILE_VALUE)
		return ((const struct iaprof_record_profile_value *)record)->count;
	return 0;
}

/* Samples that look like losses cannot be distinguished from them: count_samples() identifies losses by this frame. */
static bool looks_lost(const struct iaprof_record *record)
{
	const struct iaprof_record_profile_stack *stack = (const void *)record;
	return record->type == IAPROF_RECORD_PROFILE_STACK &&
	       iaprof_record_profile_stack_frame(stack, 0)->kind == IAPROF_FRAME_LOST;
}

static void send(struct replayed *replayed, struct bus *bus, const struct iaprof_record *record)
{
	struct iaprof_batch batch = { .records = record, .size = record->size, .count = 1 };
	if (looks_lost(record))
		return;
	check(!bus_emit(bus, 1, &batch, BUS_WAIT | BUS_KEEP_SOURCE, NULL));
	replayed->samples = saturating_add(replayed->samples, samples_of(record));
}

static void replay(struct bus *bus, struct intern *intern, const char *records, size_t size)
{
	struct replayed replayed = { .collector = collector_new(
					     &(struct collector_options){ .intern = intern, .pids = true }) };
	if (!replayed.collector)
		return;
	/* A mutation breaks one record, not all that follow: reading goes on at the next place that looks like one. */
	for (size_t at = 0; at + sizeof(struct iaprof_record) <= size;) {
		const struct iaprof_record *record = (const void *)(records + at);
		if (record_check(record, size - at, NULL)) {
			at += 8;
			continue;
		}
		send(&replayed, bus, record);
		at += record->size;
	}
	take_waiting(&replayed, bus);
	collector_finish(replayed.collector);
	struct collector_statistics statistics = collector_statistics(replayed.collector);
	check(statistics.samples == replayed.samples && !statistics.out_of_memory);
	struct snapshot *interval = collector_snapshot(replayed.collector, false);
	struct snapshot *total = collector_snapshot(replayed.collector, true);
	check(interval && total);
	check_frames(&total->profile);
	if (replayed.samples < UINT64_MAX) { /* a sum that overflowed, or a count that means "unknown", has no parts */
		check(count_samples(&total->profile) == replayed.samples);
		check(replayed.interval_samples + count_samples(&interval->profile) == replayed.samples);
	}
	snapshot_release(interval);
	snapshot_release(total);
	collector_free(replayed.collector);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Aligned as a batch is, and exactly as large as the input. */
	size &= ~(size_t)7;
	char *records = malloc(size);
	struct bus *bus = bus_new(size + 1);
	struct intern *intern = bus ? intern_new(bus) : NULL;
	if (records && intern) {
		memcpy(records, data, size);
		replay(bus, intern, records, size);
	}
	intern_free(intern);
	bus_free(bus);
	free(records);
	return 0;
}
