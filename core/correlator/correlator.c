/* SPDX-License-Identifier: Apache-2.0 */
/* From stall samples to stacks: see correlator.h. */
#include "correlator/correlator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "correlator/activity.h"
#include "correlator/instruction_bases.h"
#include "correlator/kernels.h"
#include "correlator/matching.h"
#include "correlator/places.h"
#include "correlator/prefixes.h"
#include "correlator/stacks.h"
#include "correlator/suspects.h"
#include "correlator/waiting.h"

/* Sources that announce code; more are not waited for. */
#define CODE_SOURCES_MAX 64

/* How long after its end a process's kernels can still be asked for: samples wait, and intervals overlap. */
#define FORGET_AFTER(hold) ((hold) + 5 * NANOSECONDS_PER_SECOND)

/* A source that announces code or launches, and up to when it has told everything: the time of its newest counters. */
struct code_source {
	uint16_t number;
	uint64_t told;
};

struct correlator {
	struct correlator_options options;
	struct devices devices;
	struct instruction_bases bases;
	struct kernels kernels;
	struct activity activity;
	struct places places;
	struct listings listings;
	struct prefixes prefixes;
	struct stacks stacks;
	struct suspects suspects;
	struct matching matching;
	struct waiting_samples waiting;              /* that were not looked at */
	struct waiting_samples unmatched;            /* of no known code, which may still come */
	bool code_is_new;                            /* code was announced since those were looked at */
	bool is_stale;                               /* records were taken that the suspects' answers rest on */
	ARRAY(struct iaprof_record_launch) launches; /* whose process is not known for sure yet */
	ARRAY(struct code_source) code_sources;
	struct correlator_statistics statistics;
	uint64_t now;         /* of the newest SYNC; UINT64_MAX: nothing more comes */
	uint64_t synced_time; /* of the newest SYNC */
};

struct correlator *correlator_new(const struct correlator_options *options)
{
	struct correlator *correlator = calloc(1, sizeof *correlator);
	if (!correlator)
		return NULL;
	correlator->options = *options;
	correlator->devices.intern = options->intern;
	correlator->listings = (struct listings){ .intern = options->intern, .bus = options->bus };
	correlator->places =
		(struct places){ .intern = options->intern,
				 .frames = options->frames,
				 .listings = options->bus && options->listings ? &correlator->listings : NULL,
				 .producers = options->producers };
	/* The stacks of devices are always by process: that is who waits for whom. */
	correlator->prefixes.context = (struct sample_stack_context){ .processes = options->processes,
								      .resolver = options->resolver,
								      .frames = options->frames,
								      .intern = options->intern,
								      .pids = true };
	correlator->stacks =
		(struct stacks){ .intern = options->intern,
				 .frames = options->frames,
				 .values = options->values,
				 .times = options->times,
				 .waiting_times.resolution = options->times ? options->times->resolution : 0,
				 .devices = &correlator->devices,
				 .places = &correlator->places,
				 .bus = options->bus };
	correlator->suspects.code = options->device_code;
	correlator->suspects.bases = &correlator->bases;
	correlator->suspects.kernels = &correlator->kernels;
	correlator->suspects.places = &correlator->places;
	correlator->suspects.activity = &correlator->activity;
	correlator->matching = (struct matching){ .suspects = &correlator->suspects,
						  .prefixes = &correlator->prefixes,
						  .places = &correlator->places,
						  .stacks = &correlator->stacks };
	return correlator;
}

void correlator_free(struct correlator *correlator)
{
	if (!correlator)
		return;
	devices_free(&correlator->devices);
	instruction_bases_free(&correlator->bases);
	kernels_free(&correlator->kernels);
	activity_free(&correlator->activity);
	places_free(&correlator->places);
	listings_free(&correlator->listings);
	prefixes_free(&correlator->prefixes);
	stacks_free(&correlator->stacks);
	matching_free(&correlator->matching);
	waiting_samples_free(&correlator->waiting);
	waiting_samples_free(&correlator->unmatched);
	array_free(&correlator->launches);
	array_free(&correlator->code_sources);
	free(correlator);
}

static struct code_source *find_code_source(struct correlator *correlator, uint16_t number)
{
	for (size_t i = 0; i < correlator->code_sources.count; i++)
		if (correlator->code_sources.items[i].number == number)
			return &correlator->code_sources.items[i];
	return NULL;
}

static void note_code_source(struct correlator *correlator, uint16_t number)
{
	struct code_source source = { .number = number };
	if (!find_code_source(correlator, number) && correlator->code_sources.count < CODE_SOURCES_MAX)
		(void)array_push(&correlator->code_sources, source);
}

/* Samples are counted under a value type of their own, which is declared with the first of them. */
static void declare_value_type(struct correlator *correlator)
{
	struct intern *intern = correlator->options.intern;
	struct iaprof_record_value_type record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_VALUE_TYPE, .time = clock_monotonic() },
		.id = intern_value_type(intern, CORRELATOR_VALUE_TYPE, CORRELATOR_VALUE_UNIT),
		.name = intern_text_id(intern, CORRELATOR_VALUE_TYPE),
		.unit = intern_text_id(intern, CORRELATOR_VALUE_UNIT),
	};
	bus_send(correlator->options.bus, &record.header);
	run_facts_take_value_type(correlator->options.facts, &record);
	correlator->stacks.value_type_id = record.id;
	correlator->stacks.value_type = run_facts_find_value_type(correlator->options.facts, record.id);
}

/* Whether everything was told that there is to tell of a time. */
static bool is_told(const struct correlator *correlator, uint64_t time)
{
	for (size_t i = 0; i < correlator->code_sources.count; i++)
		if (correlator->code_sources.items[i].told < time)
			return false;
	return true;
}

static bool may_wait(const struct correlator *correlator, const struct iaprof_record_stall_sample *sample,
		     uint64_t *age)
{
	*age = correlator->now > sample->header.time ? correlator->now - sample->header.time : 0;
	return correlator->now != UINT64_MAX && *age < correlator->options.hold;
}

/* Gives a sample to its suspects, or to nobody. */
static void match(struct correlator *correlator, const struct iaprof_record_stall_sample *sample)
{
	struct sampled_device *device = devices_find(&correlator->devices, sample->header.source, sample->device);
	struct device_samples nobody = { 0 };
	if (!matching_give(&correlator->matching, sample, device ? &device->samples : &nobody))
		correlator->statistics.out_of_memory =
			saturating_add(correlator->statistics.out_of_memory, matching_total(sample));
}

static void find_suspects(struct correlator *correlator, const struct iaprof_record_stall_sample *sample)
{
	if (correlator->is_stale)
		suspects_refresh(&correlator->suspects);
	correlator->is_stale = false;
	suspects_find(&correlator->suspects, sample);
}

/* One that was not looked at yet. False: it goes on waiting. */
static bool take_waiting(void *context, const struct iaprof_record_stall_sample *sample)
{
	struct correlator *correlator = context;
	uint64_t age;
	bool waits = may_wait(correlator, sample, &age);
	if (waits && (!age || !is_told(correlator, sample->header.time)))
		return false;
	find_suspects(correlator, sample);
	/* Its code object may still come. */
	if (!correlator->suspects.count && waits && waiting_samples_add(&correlator->unmatched, sample))
		return true;
	match(correlator, sample);
	return true;
}

/* One whose code was not known when it was looked at. */
static bool take_unmatched(void *context, const struct iaprof_record_stall_sample *sample)
{
	struct correlator *correlator = context;
	uint64_t age;
	bool waits = may_wait(correlator, sample, &age);
	if (waits && !correlator->code_is_new)
		return false;
	find_suspects(correlator, sample);
	if (!correlator->suspects.count && waits)
		return false;
	match(correlator, sample);
	return true;
}

static void take_sample(struct correlator *correlator, const struct iaprof_record_stall_sample *sample)
{
	if (!correlator->stacks.value_type_id)
		declare_value_type(correlator);
	correlator->statistics.samples = saturating_add(correlator->statistics.samples, matching_total(sample));
	if (waiting_samples_add(&correlator->waiting, sample))
		return;
	correlator->statistics.hurried = saturating_add(correlator->statistics.hurried, matching_total(sample));
	find_suspects(correlator, sample);
	match(correlator, sample);
}

static void take_launch(struct correlator *correlator, const struct iaprof_record_launch *record)
{
	/* Asking for the stacks keeps them from expiring before the next SYNC. */
	intern_find_stack(correlator->options.intern, record->user_stack);
	intern_find_stack(correlator->options.intern, record->kernel_stack);
	if (!array_push(&correlator->launches, *record))
		correlator->statistics.launches_unknown += record->count;
}

/* Gives a launch to its kernel, now that its process is known. */
static void place_launch(struct correlator *correlator, const struct iaprof_record_launch *record)
{
	bool in_order = record->first_time <= record->header.time;
	struct kernel_launches launches = { .first_time = in_order ? record->first_time : record->header.time,
					    .last_time = record->header.time,
					    .count = record->count,
					    .prefix = prefixes_of_launch(&correlator->prefixes, record->pid,
									 record->header.time, record->user_stack,
									 record->kernel_stack) };
	if (launches.prefix == FRAME_NONE ||
	    !kernels_add_launches(&correlator->kernels, record->header.source, record->kernel, &launches))
		correlator->statistics.launches_unknown =
			saturating_add(correlator->statistics.launches_unknown, record->count);
}

static void place_launches(struct correlator *correlator, uint64_t until)
{
	size_t kept = 0;
	correlator->is_stale |= correlator->launches.count > 0;
	for (size_t i = 0; i < correlator->launches.count; i++)
		if (correlator->launches.items[i].header.time <= until)
			place_launch(correlator, &correlator->launches.items[i]);
		else
			correlator->launches.items[kept++] = correlator->launches.items[i];
	correlator->launches.count = kept;
}

static void take_counter_value(struct correlator *correlator, const struct iaprof_record_counter_value *record)
{
	struct code_source *source = find_code_source(correlator, record->header.source);
	if (source && record->header.time > source->told)
		source->told = record->header.time;
	devices_take_counter_value(&correlator->devices, record);
}

/* A source says that a process has code at an address. */
static void take_code(struct correlator *correlator, const struct iaprof_record *record, uint32_t pid, uint64_t base,
		      uint64_t address)
{
	note_code_source(correlator, record->source);
	instruction_bases_add(&correlator->bases, pid, base, address, record->time,
			      process_table_end(correlator->options.processes, pid, record->time));
	correlator->code_is_new = correlator->is_stale = true;
}

void correlator_take(struct correlator *correlator, const struct iaprof_record *record)
{
	switch (record->type) {
	case IAPROF_RECORD_DEVICE:
		devices_take(&correlator->devices, (const void *)record);
		break;
	case IAPROF_RECORD_STALL_REASON:
		devices_take_reason(&correlator->devices, (const void *)record);
		break;
	case IAPROF_RECORD_COUNTER:
		devices_take_counter(&correlator->devices, (const void *)record);
		break;
	case IAPROF_RECORD_COUNTER_VALUE:
		take_counter_value(correlator, (const void *)record);
		break;
	case IAPROF_RECORD_CODE_OBJECT: {
		const struct iaprof_record_code_object *object = (const void *)record;
		take_code(correlator, record, object->pid, object->instruction_base, object->address);
		break;
	}
	case IAPROF_RECORD_KERNEL: {
		const struct iaprof_record_kernel *kernel = (const void *)record;
		take_code(correlator, record, kernel->pid,
			  record->size >= sizeof *kernel ? kernel->instruction_base : 0, kernel->address);
		kernels_add(&correlator->kernels, kernel,
			    process_table_end(correlator->options.processes, kernel->pid, record->time));
		break;
	}
	case IAPROF_RECORD_LAUNCH:
		take_launch(correlator, (const void *)record);
		break;
	case IAPROF_RECORD_DEVICE_ACTIVITY:
		activity_take(&correlator->activity, (const void *)record);
		correlator->is_stale = true;
		break;
	case IAPROF_RECORD_STALL_SAMPLE:
		take_sample(correlator, (const void *)record);
		break;
	default:
		break;
	}
}

void correlator_end_process(struct correlator *correlator, uint32_t pid, uint64_t time)
{
	instruction_bases_end_process(&correlator->bases, pid, time);
	kernels_end_process(&correlator->kernels, pid, time);
}

/* Matches what can be. */
static void take_all(struct correlator *correlator)
{
	correlator->is_stale = true;
	waiting_samples_take(&correlator->unmatched, take_unmatched, correlator);
	correlator->code_is_new = false;
	waiting_samples_take(&correlator->waiting, take_waiting, correlator);
}

void correlator_sync(struct correlator *correlator, uint64_t time)
{
	uint64_t after = FORGET_AFTER(correlator->options.hold);
	correlator->now = correlator->synced_time = time;
	place_launches(correlator, time);
	take_all(correlator);
	if (time > after) {
		activity_forget(&correlator->activity, time - after);
		kernels_forget(&correlator->kernels, time - after);
		correlator->is_stale = true; /* positions of kernels */
		instruction_bases_forget(&correlator->bases, time - after);
	}
	/* So that a replay has the values of each interval. */
	if (correlator->options.bus || correlator->stacks.waiting_times.items.count >= TIME_VALUES_MANY)
		correlator_flush(correlator);
}

/* What became of the samples of each device is part of every sink's output. */
static void note_devices(struct correlator *correlator)
{
	size_t count;
	const struct sampled_device *devices = correlator_devices(correlator, &count);
	for (size_t i = 0; i < count; i++) {
		char name[256], key[sizeof name + 16], value[256];
		const struct device_samples *samples = &devices[i].samples;
		if (!samples->samples && !samples->rows)
			continue;
		sampled_device_name(devices, count, i, name, sizeof name);
		snprintf(key, sizeof key, "samples of %s", name);
		device_samples_describe(samples, value, sizeof value);
		run_facts_note(correlator->options.facts, correlator->options.bus, key, value);
	}
}

void correlator_finish(struct correlator *correlator)
{
	correlator->now = UINT64_MAX;
	place_launches(correlator, UINT64_MAX);
	take_all(correlator);
	note_devices(correlator);
	correlator_flush(correlator);
}

void correlator_flush(struct correlator *correlator)
{
	bool is_end = correlator->now == UINT64_MAX;
	stacks_flush(&correlator->stacks, is_end ? correlator->synced_time + 1 : correlator->synced_time);
}

const struct sampled_device *correlator_devices(const struct correlator *correlator, size_t *count)
{
	*count = correlator->devices.items.count;
	return correlator->devices.items.items;
}

struct correlator_statistics correlator_statistics(const struct correlator *correlator)
{
	struct correlator_statistics statistics = correlator->statistics;
	statistics.kernels_refused = correlator->kernels.refused;
	statistics.activity_dropped = correlator->activity.dropped;
	statistics.bases_refused = correlator->bases.refused;
	statistics.launches_merged = correlator->kernels.merged;
	statistics.functions_unlisted = correlator->listings.functions_left_out;
	statistics.bytes_unlisted = correlator->listings.bytes_left_out;
	statistics.stacks_unknown = correlator->prefixes.context.stacks_unknown;
	statistics.out_of_memory = saturating_add(statistics.out_of_memory, correlator->stacks.out_of_memory);
	return statistics;
}
