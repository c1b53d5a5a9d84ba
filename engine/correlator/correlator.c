/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes stall samples to stacks: see correlator.h. */
#include "correlator/correlator.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturating.h"
#include "correlator/device_activity.h"
#include "correlator/instruction_bases.h"
#include "correlator/kernels.h"
#include "correlator/numbered_launches.h"
#include "correlator/attribution.h"
#include "correlator/code_locations.h"
#include "correlator/launch_stacks.h"
#include "correlator/device_stacks.h"
#include "correlator/launch_candidates.h"
#include "correlator/record_store.h"

/* How long a process's kernels can be looked up after its end: samples wait, and intervals overlap. */
#define FORGET_AFTER(hold) ((hold) + 5 * NANOSECONDS_PER_SECOND)

#define KINDS (IAPROF_DEVICE_NPU + 1)

/* Values of executions beside their time, of which there is a value type for each kind of device. */
enum beside_time { OVERLAP, COPY_OVERLAP, COPIED, BESIDE_TIME };
struct beside_time_type {
	uint32_t id; /* 0: not declared yet */
	uint32_t flags;
};

struct correlator {
	struct correlator_options options;
	struct sampled_device unlisted; /* for devices beyond the limit of struct sampled_devices */
	struct instruction_bases bases;
	struct kernels kernels;
	struct device_activity activity;
	struct code_locations locations;
	struct code_listings listings;
	struct launch_stacks launch_stacks;
	struct numbered_launches numbered;
	struct device_stacks stacks;
	struct launch_candidates candidates;
	struct attribution attribution;
	struct record_store unmatched; /* samples in no known code so far */
	bool code_is_new;              /* code was announced since unmatched was examined */
	bool is_stale;                 /* new records invalidate the caches of candidates */
	struct beside_time_type beside_time[BESIDE_TIME][KINDS];
	struct correlator_statistics statistics;
	uint64_t now;         /* time of the newest SYNC; UINT64_MAX: end of the input */
	uint64_t synced_time; /* time of the newest SYNC */
};

/*
 * Returns the position of a value type among those of the stacks; DEVICE_STACKS_VALUE_TYPES_MAX if there is no room. A
 * new one is declared, with the role in the record, and one that becomes an estimate again.
 */
static uint32_t use_value_type(struct correlator *correlator, const struct iaprof_record_value_type *type)
{
	const struct correlator_output *output = &correlator->options.output;
	struct device_stacks *stacks = &correlator->stacks;
	for (uint32_t i = 0; i < stacks->value_type_count; i++) {
		struct device_stacks_value_type *known = &stacks->value_types[i];
		if (known->id != type->id)
			continue;
		if (type->flags & ~known->flags)
			known->index = output->declare_value_type(output->context, type);
		known->flags |= type->flags;
		return i;
	}
	if (stacks->value_type_count == DEVICE_STACKS_VALUE_TYPES_MAX)
		return DEVICE_STACKS_VALUE_TYPES_MAX;
	stacks->value_types[stacks->value_type_count] = (struct device_stacks_value_type){
		.id = type->id, .flags = type->flags, .index = output->declare_value_type(output->context, type)
	};
	return stacks->value_type_count++;
}

/* The same for a value type of the core, of which the record states the role; sets its id. */
static uint32_t declare_value_type(struct correlator *correlator, struct iaprof_record_value_type *type,
				   const char *name, const char *unit)
{
	struct intern *intern = correlator->options.intern;
	char id[INTERN_VALUE_TYPE_SIZE];
	/* Their texts are kept with the value type. */
	type->header.size = sizeof *type;
	type->id = intern_value_type_text(id, name, unit) ? intern_own_text(intern, id) : 0;
	type->name = intern_own_text(intern, name);
	type->unit = intern_own_text(intern, unit);
	return use_value_type(correlator, type);
}

/* Adds a value, in ns, to the kernel that a job executed, as a sample of the whole kernel. */
static void take_value(struct correlator *correlator, const struct iaprof_record_job *job, uint32_t value_type,
		       uint64_t value)
{
	struct {
		struct iaprof_record_stall_sample head;
		uint64_t count;
		struct iaprof_record_stall_details details;
	} sample = { .head = { .header = job->header,
			       .begin = job->started,
			       .device = job->device,
			       .address_space = LAUNCH_CANDIDATES_JOB,
			       .reason_count = 1,
			       .pid = job->pid },
		     .count = 1,
		     .details = { .size = sizeof sample.details,
				  .kernel = job->kernel,
				  .correlation = job->pid ? job->correlation : 0,
				  .value_type = value_type,
				  .value = value } };
	sample.head.header.size = sizeof sample;
	sample.head.header.type = IAPROF_RECORD_STALL_SAMPLE;
	if (value)
		correlator_take_sample(correlator, &sample.head);
}

static uint32_t device_kind_of(const struct correlator *correlator, const struct iaprof_record_job *job)
{
	const struct sampled_device *device =
		sampled_devices_find(correlator->options.devices, job->header.source, job->device);
	return device ? device->kind : IAPROF_DEVICE_UNKNOWN;
}

/* Declares the role of a job's value type, and that its values are an estimate from now on, if the job is one. */
static void declare_time(struct correlator *correlator, const struct iaprof_record_job *job)
{
	const struct iaprof_record_value_type type = {
		.header.size = sizeof type,
		.id = job->time_type,
		.role = iaprof_record_job_copy(job) ? IAPROF_VALUE_COPY_TIME : IAPROF_VALUE_DEVICE_TIME,
		.device_kind = device_kind_of(correlator, job),
		.flags = iaprof_record_job_is_estimate(job) ? IAPROF_VALUE_ESTIMATED : 0
	};
	(void)use_value_type(correlator, &type);
}

/* Adds a value of a job beside its time. */
static void take_beside_time(struct correlator *correlator, const struct iaprof_record_job *job, enum beside_time what,
			     uint64_t value)
{
	static const struct {
		uint32_t role;
		const char *unit, *names[KINDS];
	} types[BESIDE_TIME] = {
		[OVERLAP] = { IAPROF_VALUE_DEVICE_OVERLAP,
			      "nanoseconds",
			      { "device-overlap", "gpu-overlap", "npu-overlap" } },
		[COPY_OVERLAP] = { IAPROF_VALUE_UNKNOWN,
				   "nanoseconds",
				   { "device-copy-overlap", "gpu-copy-overlap", "npu-copy-overlap" } },
		[COPIED] = { IAPROF_VALUE_COPIED_BYTES, "bytes", { "device-copied", "gpu-copied", "npu-copied" } },
	};
	uint32_t kind = device_kind_of(correlator, job), position = kind < KINDS ? kind : IAPROF_DEVICE_UNKNOWN;
	uint32_t flags = iaprof_record_job_is_estimate(job) ? IAPROF_VALUE_ESTIMATED : 0;
	struct beside_time_type *known = &correlator->beside_time[what][position];
	if (!known->id || flags & ~known->flags) {
		struct iaprof_record_value_type type = { .role = types[what].role,
							 .device_kind = kind,
							 .flags = flags };
		(void)declare_value_type(correlator, &type, types[what].names[position], types[what].unit);
		known->id = type.id;
		known->flags |= flags;
	}
	take_value(correlator, job, known->id, value);
}

void correlator_take_execution(struct correlator *correlator, const struct iaprof_record_job *job, uint64_t share)
{
	bool is_copy = iaprof_record_job_copy(job);
	uint64_t represents = iaprof_record_job_is_estimate(job) ? job->represents : 1;
	uint64_t duration = saturating_multiply(job->header.time - job->started, represents);
	declare_time(correlator, job);
	take_value(correlator, job, job->time_type, share);
	if (duration > share && duration - share > 1) /* shares are rounded */
		take_beside_time(correlator, job, is_copy ? COPY_OVERLAP : OVERLAP, duration - share);
	if (iaprof_record_job_bytes(job))
		take_beside_time(correlator, job, COPIED,
				 saturating_multiply(iaprof_record_job_bytes(job), represents));
}

/* Returns the device as in struct stack_origin. Devices beyond the limit: 0. */
static uint32_t origin_of(const struct correlator *correlator, const struct sampled_device *device)
{
	return sampled_devices_origin(correlator->options.devices, device == &correlator->unlisted ? NULL : device);
}

/* Returns the time of PROFILE_VALUE records that are sent now. */
static uint64_t time_of_values(const struct correlator *correlator)
{
	return correlator->now == UINT64_MAX ? correlator->synced_time + 1 : correlator->synced_time;
}

struct correlator *correlator_new(const struct correlator_options *options)
{
	struct correlator *correlator = calloc(1, sizeof *correlator);
	if (!correlator)
		return NULL;
	correlator->options = *options;
	correlator->unlisted =
		(struct sampled_device){ .value_name = DEVICES_VALUE_NAME, .value_unit = DEVICES_VALUE_UNIT };
	correlator->listings = (struct code_listings){ .results = options->results };
	correlator->locations = (struct code_locations){
		.intern = options->intern,
		.frames = options->frames,
		.listings = result_stream_is_read(options->results) && options->listings ? &correlator->listings : NULL
	};
	/* Device stacks are always separate for each process. */
	correlator->launch_stacks.context = (struct stack_context){ .processes = options->processes,
								    .resolver = options->resolver,
								    .frames = options->frames,
								    .intern = options->intern,
								    .pids = true,
								    .threads = options->threads };
	correlator->stacks = (struct device_stacks){ .frames = options->frames,
						     .output = &correlator->options.output,
						     .waiting_times.resolution = options->time_resolution,
						     .devices = correlator->options.devices,
						     .locations = &correlator->locations,
						     .results = options->results };
	correlator->candidates.code = options->device_code;
	correlator->candidates.bases = &correlator->bases;
	correlator->candidates.kernels = &correlator->kernels;
	correlator->candidates.locations = &correlator->locations;
	correlator->candidates.activity = &correlator->activity;
	correlator->attribution = (struct attribution){ .candidates = &correlator->candidates,
							.launch_stacks = &correlator->launch_stacks,
							.locations = &correlator->locations,
							.frames = options->frames,
							.stacks = &correlator->stacks };
	return correlator;
}

void correlator_free(struct correlator *correlator)
{
	if (!correlator)
		return;
	instruction_bases_free(&correlator->bases);
	kernels_free(&correlator->kernels);
	device_activity_free(&correlator->activity);
	code_locations_free(&correlator->locations);
	code_listings_free(&correlator->listings);
	launch_stacks_free(&correlator->launch_stacks);
	numbered_launches_free(&correlator->numbered);
	device_stacks_free(&correlator->stacks);
	attribution_free(&correlator->attribution);
	record_store_free(&correlator->unmatched);
	free(correlator);
}

/* Returns the value type of samples of a device that name none, which the core declares; the first one is the last. */
static uint32_t value_type_of_device(struct correlator *correlator, const struct sampled_device *device)
{
	struct iaprof_record_value_type type = { .role = IAPROF_VALUE_DEVICE_SAMPLES,
						 .device_kind = device->kind,
						 .sample_unit = device->sample_unit };
	uint32_t position = declare_value_type(correlator, &type, device->value_name, device->value_unit);
	return position < DEVICE_STACKS_VALUE_TYPES_MAX ? position : 0;
}

/* Returns the device of a sample. Its value type is declared with the first sample that names none. */
static struct sampled_device *device_of(struct correlator *correlator, const struct iaprof_record_stall_sample *sample)
{
	struct sampled_device *device =
		sampled_devices_find(correlator->options.devices, sample->header.source, sample->device);
	const struct iaprof_record_stall_details *details = iaprof_record_stall_sample_details(sample);
	if (!device)
		device = &correlator->unlisted;
	if (!device->has_value_type && !(details && details->value_type))
		device->samples.value_type = value_type_of_device(correlator, device);
	device->has_value_type |= !(details && details->value_type);
	return device;
}

/* Returns whether the code of a sample may still be announced in time. */
static bool may_wait(const struct correlator *correlator, const struct iaprof_record_stall_sample *sample)
{
	uint64_t age = correlator->now > sample->header.time ? correlator->now - sample->header.time : 0;
	return correlator->now != UINT64_MAX && age < correlator->options.hold;
}

/* Sets what the details of a sample state. Returns false if there is no room for its value type. */
static bool read_details(struct correlator *correlator, const struct iaprof_record_stall_sample *sample,
			 const struct sampled_device *device)
{
	const struct iaprof_record_stall_details *details = iaprof_record_stall_sample_details(sample);
	struct attribution *attribution = &correlator->attribution;
	bool is_job = sample->address_space == LAUNCH_CANDIDATES_JOB;
	attribution->value_type = device->samples.value_type;
	if (details && details->value_type)
		attribution->value_type = use_value_type(
			correlator, &(struct iaprof_record_value_type){
					    .header.size = sizeof(struct iaprof_record_value_type),
					    .id = details->value_type,
					    .role = is_job ? IAPROF_VALUE_DEVICE_TIME : IAPROF_VALUE_DEVICE_SAMPLES,
					    .device_kind = device->kind,
					    .sample_unit = is_job ? 0 : device->sample_unit });
	attribution->value = details ? iaprof_record_stall_details_value(details) : 0;
	attribution->period = details && details->period ? details->period : 1;
	attribution->is_job = is_job;
	attribution->launch = NULL;
	if (details && details->correlation)
		attribution->launch = numbered_launches_find(
			&correlator->numbered,
			&(struct launch_number){ sample->header.source, sample->pid, details->correlation });
	return attribution->value_type < DEVICE_STACKS_VALUE_TYPES_MAX;
}

/* Attributes a sample to its candidates, or to unknown code. */
static void match(struct correlator *correlator, const struct iaprof_record_stall_sample *sample)
{
	struct sampled_device *device = device_of(correlator, sample);
	/* Devices beyond the limit share one entry, but their intervals are unrelated; jobs are no samples of a device.
	 */
	struct device_samples unlisted = { 0 };
	bool is_counted = device != &correlator->unlisted && sample->address_space != LAUNCH_CANDIDATES_JOB;
	correlator->attribution.device = correlator->options.threads ? origin_of(correlator, device) : 0;
	if (!read_details(correlator, sample, device) ||
	    !attribution_add(&correlator->attribution, sample, is_counted ? &device->samples : &unlisted))
		correlator->statistics.out_of_memory =
			saturating_add(correlator->statistics.out_of_memory, attribution_total(sample));
}

static void find_candidates(struct correlator *correlator, const struct iaprof_record_stall_sample *sample, bool waits)
{
	if (correlator->is_stale)
		launch_candidates_refresh(&correlator->candidates);
	correlator->is_stale = false;
	correlator->candidates.waits = waits;
	launch_candidates_find(&correlator->candidates, sample);
}

/* Processes a sample whose code, or other code, was unknown. Returns false if it keeps waiting. */
static bool take_unmatched(void *context, const struct iaprof_record *record)
{
	const struct iaprof_record_stall_sample *sample = (const void *)record;
	struct correlator *correlator = context;
	bool waits = may_wait(correlator, sample);
	if (waits && !correlator->code_is_new)
		return false;
	find_candidates(correlator, sample, waits);
	if (waits && launch_candidates_may_grow(&correlator->candidates, sample))
		return false;
	match(correlator, sample);
	return true;
}

void correlator_take_sample(struct correlator *correlator, const struct iaprof_record_stall_sample *sample)
{
	correlator->statistics.samples = saturating_add(correlator->statistics.samples, attribution_total(sample));
	bool waits = may_wait(correlator, sample);
	find_candidates(correlator, sample, waits);
	if (waits && launch_candidates_may_grow(&correlator->candidates, sample)) {
		if (record_store_add(&correlator->unmatched, &sample->header))
			return;
		find_candidates(correlator, sample, false);
	}
	match(correlator, sample);
}

void correlator_take_launch(struct correlator *correlator, const struct iaprof_record_launch *record)
{
	bool in_order = record->first_time <= record->header.time;
	struct kernel_launches launches = { .first_time = in_order ? record->first_time : record->header.time,
					    .last_time = record->header.time,
					    .count = record->count,
					    .launch_stack =
						    launch_stacks_of_launch(&correlator->launch_stacks, record) };
	const struct iaprof_span *span = correlator->options.spans ? iaprof_record_launch_span(record) : NULL;
	if (span)
		launches.span = *span;
	uint64_t correlation = iaprof_record_launch_correlation(record);
	if (correlation && launches.launch_stack != FRAME_NONE)
		numbered_launches_add(
			&correlator->numbered,
			&(struct numbered_launch){ .key = { record->header.source, record->pid, correlation },
						   .launch_stack = launches.launch_stack,
						   .span = launches.span });
	if (launches.launch_stack == FRAME_NONE ||
	    !kernels_add_launches(&correlator->kernels, record->header.source, record->kernel, &launches))
		correlator->statistics.launches_unknown =
			saturating_add(correlator->statistics.launches_unknown, record->count);
	correlator->is_stale = true;
}

/* Processes a source's report that a process has code at an address. */
static void take_code(struct correlator *correlator, const struct iaprof_record *record, uint32_t pid,
		      struct instruction_base base, uint64_t address)
{
	/* A code object may lack the base, because its kernels state it. */
	if (address && (base.address || record->type == IAPROF_RECORD_KERNEL))
		instruction_bases_add(&correlator->bases, pid, base, address, record->time,
				      process_table_end(correlator->options.processes, pid, record->time));
	correlator->code_is_new = correlator->is_stale = true;
}

void correlator_take_code_object(struct correlator *correlator, const struct iaprof_record_code_object *object)
{
	struct instruction_base base = { object->instruction_base,
					 IAPROF_HAS_MEMBER(object, object->header.size, instruction_window)
						 ? object->instruction_window
						 : 0 };
	take_code(correlator, &object->header, object->pid, base, object->address);
}

void correlator_take_kernel(struct correlator *correlator, const struct iaprof_record_kernel *kernel)
{
	const struct iaprof_record *record = &kernel->header;
	struct instruction_base base = { 0 };
	if (record->size >= offsetof(struct iaprof_record_kernel, instruction_window))
		base.address = kernel->instruction_base;
	if (IAPROF_HAS_MEMBER(kernel, record->size, instruction_window))
		base.window = kernel->instruction_window;
	take_code(correlator, record, kernel->pid, base, kernel->address);
	kernels_add(&correlator->kernels, kernel,
		    process_table_end(correlator->options.processes, kernel->pid, record->time));
}

void correlator_take_activity(struct correlator *correlator, const struct iaprof_record_device_activity *record)
{
	device_activity_take(&correlator->activity, record);
	correlator->is_stale = true;
}

void correlator_end_process(struct correlator *correlator, uint32_t pid, uint64_t time)
{
	instruction_bases_end_process(&correlator->bases, pid, time);
	kernels_end_process(&correlator->kernels, pid, time);
}

void correlator_begin_sync(struct correlator *correlator, uint64_t time)
{
	correlator->now = time;
	correlator->is_stale = true;
	if (time != UINT64_MAX)
		correlator->synced_time = time;
	record_store_release(&correlator->unmatched, take_unmatched, correlator);
	correlator->code_is_new = false;
}

void correlator_flush(struct correlator *correlator)
{
	device_stacks_flush(&correlator->stacks, time_of_values(correlator));
}

void correlator_end_sync(struct correlator *correlator)
{
	uint64_t time = correlator->synced_time, after = FORGET_AFTER(correlator->options.hold);
	if (time > after) {
		device_activity_forget(&correlator->activity, time - after);
		kernels_forget(&correlator->kernels, time - after);
		correlator->is_stale = true; /* positions of kernels changed */
		instruction_bases_forget(&correlator->bases, time - after);
	}
	/* Flushed now so that a replay has the values of each interval. */
	if (result_stream_is_read(correlator->options.results) ||
	    correlator->stacks.waiting_times.items.count >= TIME_VALUES_MANY)
		correlator_flush(correlator);
}

/* Adds the sample statistics of each device to the metadata, which every sink writes. */
static void note_devices(struct correlator *correlator)
{
	const struct sampled_device *devices = correlator->options.devices->items.items;
	size_t count = correlator->options.devices->items.count;
	for (size_t i = 0; i < count; i++) {
		char name[256], key[sizeof name + 16], value[256];
		const struct device_samples *samples = &devices[i].samples;
		if (!samples->samples && !samples->rows)
			continue;
		sampled_device_name(devices, count, i, name, sizeof name);
		snprintf(key, sizeof key, "samples of %s", name);
		device_samples_describe(samples, value, sizeof value);
		correlator->options.output.add_metadata(correlator->options.output.context, key, value);
	}
}

void correlator_finish(struct correlator *correlator)
{
	note_devices(correlator);
	correlator_flush(correlator);
}

bool correlator_each_stack(struct correlator *correlator, bool (*visit)(void *context, uint32_t *stack), void *context)
{
	bool good = kernels_each_stack(&correlator->kernels, visit, context);
	for (int half = 0; half < 2; half++)
		for (size_t i = 0; good && i < correlator->numbered.halves[half].count; i++)
			good = visit(context, &correlator->numbered.halves[half].items[i].launch_stack);
	for (size_t i = 0; good && i < correlator->launch_stacks.items.count; i++)
		good = visit(context, &correlator->launch_stacks.items.items[i].stack);
	return good;
}

void correlator_forget_frames(struct correlator *correlator)
{
	launch_stacks_forget_ended(&correlator->launch_stacks);
	device_stacks_forget(&correlator->stacks);
	/* What is still owed to a launch stack is less than one sample. */
	proportional_split_free(&correlator->attribution.split);
	launch_candidates_refresh(&correlator->candidates);
	correlator->is_stale = true;
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
	statistics.stacks_unknown = correlator->launch_stacks.context.stacks_unknown;
	statistics.spans_dropped = correlator->attribution.spans_dropped;
	statistics.out_of_memory = saturating_add(statistics.out_of_memory, correlator->stacks.out_of_memory);
	return statistics;
}
