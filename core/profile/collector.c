/* SPDX-License-Identifier: Apache-2.0 */
/* Processes records into the tables of the profile: see collector.h. */
#include "profile/collector.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "correlator/attribution.h"
#include "profile/call_tree.h"
#include "profile/cpu_samples.h"
#include "profile/device_gaps.h"
#include "profile/device_values.h"
#include "profile/event_stacks.h"
#include "profile/replayed_stacks.h"
#include "profile/unattributable.h"

/* Process events of other CPUs may arrive up to this long after an exit was reported. */
#define RETIRE_AFTER (2 * NANOSECONDS_PER_SECOND)

/*
 * Device samples that waited get their program's name at the next SYNC, which may be this much later than their wait.
 */
#define RETIRE_AFTER_HOLD NANOSECONDS_PER_SECOND

/* Time per second for prefetching between two SYNC records; the rest is continued after the next one. */
#define LOOK_AHEAD_TIME (NANOSECONDS_PER_SECOND / 4)

/* Number of stacks above which stacks that were not used recently are dropped. */
#define STACK_COUNT 65536

/* A stack id may be used for 5 s (iaprof/host.h); twice that is safe even if the bus lags behind. */
#define STACK_EPOCH NANOSECONDS_PER_SECOND
#define STACK_EPOCHS 10
/*
 * A replay does not see when its sources interned a stack again, only the samples, which follow at most 5 s and the
 * delay of the bus later.
 */
#define STACK_EPOCHS_OF_REPLAY (3 * STACK_EPOCHS)

/*
 * Continuous runs: bytes of resolved stacks above which those without values are released after an interval, and above
 * which an interval ends early; size of the strings of sources; and epochs for which passing strings are kept, which
 * the delay of the bus must not exceed.
 */
#define FRAMES_MANY ((size_t)8 << 20)
#define FRAMES_TOO_MANY ((size_t)32 << 20)
#define STRINGS_MAX ((uint64_t)24 << 20)
#define STRING_EPOCHS 120

/* How often a run that may be recorded sends names: a truncated capture has the names of everything before its end. */
#define NAMES_PERIOD NANOSECONDS_PER_SECOND

struct collector {
	struct collector_options options;
	struct process_table *processes;
	struct symbolizer *symbolizer;
	struct resolver *resolver;
	struct code_workers *code_workers; /* NULL in a replay */
	struct sampled_devices devices;
	struct device_code *device_code;
	struct correlator *correlator;
	struct result_stream results;
	struct frame_table frames;
	struct thread_table threads;
	struct value_table values;
	struct time_table times;
	struct loss loss;
	struct call_tree calls;
	struct findings findings;
	struct histograms histograms;
	struct cpu_samples cpu_samples;
	struct device_gaps gaps;
	struct device_values device_values;
	struct run_metadata facts;
	struct collector_statistics statistics;
	struct event_stacks event_stacks; /* stacks of launches and calls, if a sink reads records */
	struct replayed_stacks replayed_stacks;
	struct run_activity activity;
	uint64_t stack_epoch_begin, names_begin;
	uint32_t epochs;       /* number of epochs so far */
	size_t frames_kept;    /* bytes of resolved stacks that the last release kept */
	uint64_t refused_told; /* refused strings that were added to the losses */
	uint64_t last_sync;
	bool is_finished;
};

struct collector *collector_new(const struct collector_options *options)
{
	struct collector *collector = calloc(1, sizeof *collector);
	if (!collector)
		return NULL;
	collector->options = *options;
	if (!collector->options.hold)
		collector->options.hold = CORRELATOR_HOLD;
	if (options->continuous)
		intern_limit_strings(options->intern, STRINGS_MAX);
	collector->results = (struct result_stream){ .intern = options->intern, .is_read = options->records };
	collector->facts.intern = collector->devices.intern = options->intern;
	collector->times.resolution = options->time_resolution;
	collector->processes = process_table_new();
	/* The paths in a capture are untrusted, so a replay has no symbolizer, which would open them. */
	if (options->live)
		collector->symbolizer = symbolizer_new(&(struct symbolizer_options){ .lines = options->lines,
										     .live = true,
										     .kept = options->kept,
										     .debuginfod = options->debuginfod,
										     .kallsyms = options->kallsyms });
	struct thread_table *threads = options->threads ? &collector->threads : NULL;
	collector->resolver = resolver_new(&(struct resolver_options){ .processes = collector->processes,
								       .symbolizer = collector->symbolizer,
								       .frames = &collector->frames,
								       .intern = options->intern,
								       .results = &collector->results,
								       .lines = options->lines });
	struct budget *budget = NULL;
	if (options->live) {
		budget = collector->symbolizer ? symbolizer_budget(collector->symbolizer) : NULL;
		collector->code_workers = code_workers_new(options->decoders, budget ? &budget->delay : NULL);
	}
	collector->device_code = device_code_new(&(struct device_code_options){ .intern = options->intern,
										.processes = collector->processes,
										.devices = &collector->devices,
										.workers = collector->code_workers,
										.budget = budget,
										.results = &collector->results,
										.live = options->live });
	collector->device_values = (struct device_values){ .values = &collector->values,
							   .times = &collector->times,
							   .facts = &collector->facts,
							   .results = &collector->results };
	collector->correlator =
		correlator_new(&(struct correlator_options){ .intern = options->intern,
							     .processes = collector->processes,
							     .devices = &collector->devices,
							     .resolver = collector->resolver,
							     .device_code = collector->device_code,
							     .frames = &collector->frames,
							     .threads = threads,
							     .output = device_values_output(&collector->device_values),
							     .time_resolution = options->time_resolution,
							     .results = &collector->results,
							     .hold = collector->options.hold,
							     .listings = options->listings });
	collector->calls.intern = options->intern;
	collector->findings.intern = options->intern;
	collector->histograms.intern = options->intern;
	collector->activity = (struct run_activity){ .intern = options->intern,
						     .processes = collector->processes,
						     .devices = &collector->devices,
						     .calls = &collector->calls,
						     .histograms = &collector->histograms,
						     .findings = &collector->findings,
						     .metadata = &collector->facts };
	collector->cpu_samples = (struct cpu_samples){ .stack_context = { .processes = collector->processes,
									  .resolver = collector->resolver,
									  .frames = &collector->frames,
									  .intern = options->intern,
									  .pids = options->pids,
									  .threads = threads },
						       .calls = &collector->calls,
						       .facts = &collector->facts,
						       .values = &collector->values,
						       .times = &collector->times,
						       .table.times.resolution = options->time_resolution };
	hash_key_make(&collector->cpu_samples.table.hash_key);
	collector->gaps = (struct device_gaps){ .samples = &collector->cpu_samples,
						.intern = options->intern,
						.facts = &collector->facts };
	collector->replayed_stacks = (struct replayed_stacks){ .intern = options->intern,
							       .frames = &collector->frames,
							       .devices = threads ? &collector->devices : NULL };
	collector->event_stacks.context = collector->cpu_samples.stack_context;
	collector->event_stacks.results = &collector->results;
	if (!collector->processes || (options->live && (!collector->symbolizer || !collector->code_workers)) ||
	    !collector->resolver || !collector->device_code || !collector->correlator) {
		collector_free(collector);
		return NULL;
	}
	return collector;
}

void collector_free(struct collector *collector)
{
	if (!collector)
		return;
	event_stacks_free(&collector->event_stacks);
	run_activity_free(&collector->activity);
	replayed_stacks_free(&collector->replayed_stacks);
	correlator_free(collector->correlator);
	device_code_free(collector->device_code);
	sampled_devices_free(&collector->devices);
	code_workers_free(collector->code_workers);
	resolver_free(collector->resolver);
	symbolizer_free(collector->symbolizer);
	process_table_free(collector->processes);
	result_stream_free(&collector->results);
	frame_table_free(&collector->frames);
	thread_table_free(&collector->threads);
	value_table_free(&collector->values);
	time_table_free(&collector->times);
	cpu_samples_free(&collector->cpu_samples);
	device_gaps_free(&collector->gaps);
	call_tree_free(&collector->calls);
	findings_free(&collector->findings);
	histograms_free(&collector->histograms);
	loss_free(&collector->loss);
	run_metadata_free(&collector->facts);
	free(collector);
}

static const char *text(const struct collector *collector, uint32_t id)
{
	return intern_text(collector->options.intern, id);
}

static void count_out_of_memory(struct collector *collector, uint64_t count)
{
	collector->statistics.out_of_memory = saturating_add(collector->statistics.out_of_memory, count);
}

static void add_loss(struct collector *collector, const char *source, const char *reason, uint32_t value_type,
		     uint64_t begin, uint64_t end, uint64_t count, uint64_t value)
{
	const struct loss_entry *entry =
		loss_add(&collector->loss, source, reason, value_type, begin, end, count, value);
	if (!entry)
		count_out_of_memory(collector, 1);
	if (!entry || !value || value_type == LOSS_NO_VALUE_TYPE)
		return;
	/* Losses are part of the profile, so that the total matches what happened. */
	const char *const names[] = { "[lost]", entry->source, entry->reason };
	uint32_t frames[3];
	bool stored = true;
	for (size_t i = 0; i < 3; i++) {
		frames[i] = frame_table_add(&collector->frames,
					    &(struct iaprof_frame){ .name = names[i], .kind = IAPROF_FRAME_LOST });
		stored &= frames[i] != FRAME_NONE;
	}
	uint32_t stack = stored ? frame_table_add_stack(&collector->frames, frames, 3, NULL) : FRAME_NONE;
	if (stack == FRAME_NONE ||
	    !value_table_add(&collector->values, stack, value_type, value, count == IAPROF_COUNT_UNKNOWN ? 0 : count))
		count_out_of_memory(collector, 1);
	else
		time_table_add(&collector->times, stack, value_type, begin, end, value);
}

void collector_resolve(struct collector *collector)
{
	correlator_flush(collector->correlator);
	cpu_samples_resolve(&collector->cpu_samples);
}

/* Programs that ended before this are removed: nothing older still has to be resolved. */
static uint64_t retired_before(const struct collector *collector, uint64_t time)
{
	uint64_t after = collector->options.hold + RETIRE_AFTER_HOLD;
	if (after < RETIRE_AFTER)
		after = RETIRE_AFTER;
	return time > after ? time - after : 0;
}

static void take_sync(struct collector *collector, uint64_t time)
{
	cpu_samples_place(&collector->cpu_samples, time);
	event_stacks_name(&collector->event_stacks, time);
	run_activity_place(&collector->activity, time);
	if (collector->options.live) {
		struct deadline end = deadline_make(NULL, LOOK_AHEAD_TIME);
		cpu_samples_look_ahead(&collector->cpu_samples, &end);
		symbolizer_note_cost(collector->symbolizer, code_workers_cpu_time(collector->code_workers));
		correlator_sync(collector->correlator, time);
	}
	if (collector->options.records && time - collector->names_begin >= NAMES_PERIOD) {
		collector->names_begin = time;
		cpu_samples_resolve(&collector->cpu_samples);
	}
	process_table_retire(collector->processes, retired_before(collector, time), cpu_samples_end_process,
			     &collector->cpu_samples);
	if (time - collector->stack_epoch_begin >= STACK_EPOCH) {
		collector->stack_epoch_begin = time;
		intern_begin_epoch(collector->options.intern);
		if (collector->options.continuous && ++collector->epochs % STRING_EPOCHS == 0)
			intern_expire_strings(collector->options.intern, STRING_EPOCHS);
		/*
		 * Stacks must not expire while unresolved samples refer to them. Launches add stacks without samples,
		 * because each process has its own addresses.
		 */
		if (cpu_samples_are_many(&collector->cpu_samples) ||
		    intern_stack_count(collector->options.intern) >= STACK_COUNT) {
			collector_resolve(collector);
			intern_expire_stacks(collector->options.intern,
					     collector->options.live ? STACK_EPOCHS : STACK_EPOCHS_OF_REPLAY);
		}
	}
}

static void take_sample(struct collector *collector, const struct iaprof_record_sample *sample)
{
	if (cpu_samples_take(&collector->cpu_samples, sample)) {
		const struct waiting_sample *last = cpu_samples_last(&collector->cpu_samples);
		if (last)
			device_gaps_take_sample(&collector->gaps, last);
	} else {
		add_loss(collector, run_metadata_source_name(&collector->facts, sample->header.source),
			 COLLECTOR_REASON_VALUE_TYPE, LOSS_NO_VALUE_TYPE, sample->first_time, sample->header.time,
			 sample->count, 0);
	}
	/* A live run waits for the next SYNC, but a capture may not contain one. */
	if (!collector->options.live && cpu_samples_are_too_many(&collector->cpu_samples))
		cpu_samples_resolve(&collector->cpu_samples);
}

/* Calls with a node in the call tree are part of the profile. */
static void take_call(struct collector *collector, const struct iaprof_record_call *call)
{
	bool has_node = call->header.size >= sizeof *call && call->node;
	uint32_t node = has_node ? call_tree_find(&collector->calls, call->header.source, call->node) : CALL_NONE;
	if (collector->options.activity)
		run_activity_take_call(&collector->activity, call, node);
	if (!has_node)
		return;
	const struct {
		uint32_t type;
		uint64_t value;
	} values[] = { { call->time_type, call->self_duration }, { call->count_type, call->count } };
	const char *source = run_metadata_source_name(&collector->facts, call->header.source);
	if (node == CALL_NONE) {
		add_loss(collector, source, COLLECTOR_REASON_CALL_NODE, LOSS_NO_VALUE_TYPE, call->first_time,
			 call->header.time, call->count, 0);
		return;
	}
	call_tree_add(&collector->calls, node, call);
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		if (values[i].type && values[i].value &&
		    !cpu_samples_take_call(&collector->cpu_samples, call, node, values[i].type, values[i].value))
			add_loss(collector, source, COLLECTOR_REASON_VALUE_TYPE, LOSS_NO_VALUE_TYPE, call->first_time,
				 call->header.time, call->count, 0);
}

/* A replay uses the names that were resolved when the run was recorded. */
static void take_event_stack(struct collector *collector, uint32_t stack, uint32_t pid, uint64_t time)
{
	if (collector->options.records)
		event_stacks_add(&collector->event_stacks, stack, pid, time);
}

static void count_definition(struct collector *collector, int result)
{
	if (result == -EINVAL)
		collector->statistics.definitions_refused++;
	else if (result)
		count_out_of_memory(collector, 1);
}

static void take_process(struct collector *collector, const struct iaprof_record_process *record)
{
	if (process_table_event(collector->processes, record, text(collector, record->name), collector->options.live))
		count_out_of_memory(collector, 1);
	if (record->event != IAPROF_PROCESS_NAME && record->event != IAPROF_PROCESS_EXIT)
		collector->statistics.processes++;
	if (record->event == IAPROF_PROCESS_EXEC || record->event == IAPROF_PROCESS_EXIT) {
		device_code_end_process(collector->device_code, record->pid, record->header.time);
		correlator_end_process(collector->correlator, record->pid, record->header.time);
	}
}

/* Adds the recorded run's attributed samples. If the capture lost a definition, they still count in the total. */
static void take_profile_value(struct collector *collector, const struct iaprof_record_profile_value *record)
{
	uint32_t stack = replayed_stacks_find(&collector->replayed_stacks, record->stack);
	uint32_t value_type = run_metadata_find_value_type(&collector->facts, record->value_type);
	bool is_declared = value_type != LOSS_NO_VALUE_TYPE;
	collector->statistics.samples = saturating_add(collector->statistics.samples, record->count);
	if (stack == FRAME_NONE || !is_declared)
		add_loss(collector, run_metadata_source_name(&collector->facts, record->header.source),
			 is_declared ? COLLECTOR_REASON_PROFILE_STACK : COLLECTOR_REASON_VALUE_TYPE, value_type,
			 record->header.time, record->header.time, record->count, is_declared ? record->value : 0);
	else if (!value_table_add(&collector->values, stack, value_type, record->value, record->count))
		count_out_of_memory(collector, record->count);
	else if (record->header.size >= sizeof *record)
		time_table_add(&collector->times, stack, value_type, record->begin, record->end, record->value);
}

static void take_replayed(struct collector *collector, const struct iaprof_record *record)
{
	switch (record->type) {
	case IAPROF_RECORD_FRAMES:
		resolver_learn(collector->resolver, (const void *)record);
		break;
	case IAPROF_RECORD_MODULE:
		resolver_learn_module(collector->resolver, (const void *)record);
		break;
	case IAPROF_RECORD_PROFILE_STACK:
		if (!replayed_stacks_take(&collector->replayed_stacks, (const void *)record))
			count_out_of_memory(collector, 1);
		break;
	case IAPROF_RECORD_PROFILE_VALUE:
		take_profile_value(collector, (const void *)record);
		break;
	default:
		break;
	}
}

/* In a live run, the ids are already those of the table. */
static void take_string(struct collector *collector, const struct iaprof_record_string *record)
{
	if (collector->options.live)
		result_stream_note_definition(&collector->results, record->id);
	else
		count_definition(collector, intern_define_string(collector->options.intern, record));
}

/* Passes a record to the correlator, or counts it as lost. */
static void correlate(struct collector *collector, const struct iaprof_record *record)
{
	const struct iaprof_record_stall_sample *sample =
		record->type == IAPROF_RECORD_STALL_SAMPLE ? (const void *)record : NULL;
	const char *refused = unattributable_reason(&collector->facts, record);
	if (!refused)
		correlator_take(collector->correlator, record);
	else
		add_loss(collector, run_metadata_source_name(&collector->facts, record->source), refused,
			 LOSS_NO_VALUE_TYPE, sample ? sample->begin : record->time, record->time,
			 sample ? attribution_total(sample) : 1, 0);
}

static void take_record(struct collector *collector, const struct iaprof_record *record)
{
	switch (record->type) {
	case IAPROF_RECORD_STRING:
		take_string(collector, (const void *)record);
		break;
	case IAPROF_RECORD_STACK:
		if (!collector->options.live)
			count_definition(collector,
					 intern_define_stack(collector->options.intern, (const void *)record));
		break;
	case IAPROF_RECORD_NAMED_FRAME:
		if (!collector->options.live)
			count_definition(collector,
					 intern_define_frame(collector->options.intern, (const void *)record));
		break;
	case IAPROF_RECORD_SOURCE:
		if (!run_metadata_take_source(&collector->facts, (const void *)record))
			count_out_of_memory(collector, 1);
		break;
	case IAPROF_RECORD_METADATA: {
		const struct iaprof_record_metadata *metadata = (const void *)record;
		run_metadata_take_metadata(&collector->facts, text(collector, metadata->key),
					   text(collector, metadata->value));
		break;
	}
	case IAPROF_RECORD_VALUE_TYPE:
		run_metadata_take_value_type(&collector->facts, (const void *)record);
		break;
	case IAPROF_RECORD_PROCESS:
		take_process(collector, (const void *)record);
		break;
	case IAPROF_RECORD_MAPPING: {
		const struct iaprof_record_mapping *mapping = (const void *)record;
		if (process_table_mapping(collector->processes, mapping, text(collector, mapping->path)))
			count_out_of_memory(collector, 1);
		break;
	}
	case IAPROF_RECORD_SAMPLE:
		take_sample(collector, (const void *)record);
		break;
	case IAPROF_RECORD_LAUNCH: {
		const struct iaprof_record_launch *launch = (const void *)record;
		take_event_stack(collector, launch->user_stack, launch->pid, record->time);
		device_code_take_launch(collector->device_code, launch);
		break;
	}
	case IAPROF_RECORD_CALL: {
		const struct iaprof_record_call *call = (const void *)record;
		take_event_stack(collector, call->user_stack, call->pid, record->time);
		take_call(collector, call);
		break;
	}
	case IAPROF_RECORD_CALL_FUNCTION:
		count_definition(collector, call_tree_take_function(&collector->calls, (const void *)record));
		break;
	case IAPROF_RECORD_CALL_NODE:
		count_definition(collector, call_tree_take_node(&collector->calls, (const void *)record));
		break;
	case IAPROF_RECORD_COUNTER:
		run_metadata_take_counter(&collector->facts, (const void *)record);
		break;
	case IAPROF_RECORD_COUNTER_VALUE:
		run_metadata_take_counter_value(&collector->facts, (const void *)record);
		break;
	case IAPROF_RECORD_HISTOGRAM:
		histograms_take(&collector->histograms, (const void *)record);
		break;
	case IAPROF_RECORD_JOB:
		histograms_take_job(&collector->histograms, (const void *)record);
		device_gaps_take_job(&collector->gaps, (const void *)record);
		break;
	case IAPROF_RECORD_FINDING:
		findings_take(&collector->findings, (const void *)record);
		break;
	case IAPROF_RECORD_LOST: {
		const struct iaprof_record_lost *lost = (const void *)record;
		add_loss(collector, run_metadata_source_name(&collector->facts, record->source),
			 text(collector, lost->reason),
			 run_metadata_find_value_type(&collector->facts, lost->value_type), lost->begin, record->time,
			 lost->count, lost->value);
		break;
	}
	case IAPROF_RECORD_DEVICE:
		sampled_devices_take(&collector->devices, (const void *)record);
		break;
	case IAPROF_RECORD_CODE_OBJECT:
		device_code_take_code_object(collector->device_code, (const void *)record);
		break;
	case IAPROF_RECORD_CODE_OBJECT_UNLOAD:
		device_code_take_unload(collector->device_code, (const void *)record);
		break;
	case IAPROF_RECORD_KERNEL:
		device_code_take_kernel(collector->device_code, (const void *)record);
		break;
	default: /* other types are only for sinks that read records */
		break;
	}
	if (collector->options.activity)
		run_activity_take(&collector->activity, record);
	if (collector->options.live)
		correlate(collector, record);
	else
		take_replayed(collector, record);
}

void collector_take(struct collector *collector, const struct iaprof_batch *batch,
		    void (*sync)(void *context, uint64_t time), void *context)
{
	collector->statistics.records += batch->count;
	for (const struct iaprof_record *record = iaprof_batch_next(batch, NULL); record;
	     record = iaprof_batch_next(batch, record)) {
		if (record->type != IAPROF_RECORD_SYNC) {
			take_record(collector, record);
			continue;
		}
		if (record->time < collector->last_sync)
			continue;
		collector->last_sync = record->time;
		take_sync(collector, record->time);
		if (sync)
			sync(context, record->time);
	}
}

struct block *collector_take_results(struct collector *collector)
{
	return result_stream_take(&collector->results);
}

/*
 * Reads the files that are quick first, then the others for half of the remaining time. The other half is left for
 * source lines, which are read while stacks are resolved.
 */
static void read_files(struct collector *collector)
{
	struct deadline end = symbolizer_end(collector->symbolizer);
	cpu_samples_look_ahead(&collector->cpu_samples, &end);
	uint64_t left = deadline_left(&end);
	struct deadline half = deadline_make(end.delay, left == UINT64_MAX ? left : left / 2);
	half = deadline_earlier(&half, &end);
	cpu_samples_catch_up(&collector->cpu_samples, &half);
	symbolizer_give_up(collector->symbolizer);
}

void collector_finish(struct collector *collector)
{
	collector->is_finished = true;
	device_gaps_settle(&collector->gaps, UINT64_MAX);
	cpu_samples_place(&collector->cpu_samples, UINT64_MAX);
	run_activity_place(&collector->activity, UINT64_MAX);
	if (collector->options.live)
		read_files(collector);
	event_stacks_name(&collector->event_stacks, UINT64_MAX);
	if (collector->options.live)
		correlator_finish(collector->correlator);
	collector_resolve(collector);
	if (collector->options.live)
		symbolizer_note_cost(collector->symbolizer, code_workers_cpu_time(collector->code_workers));
}

const struct device_gap_sum *collector_gaps(const struct collector *collector, size_t *count)
{
	*count = collector->gaps.has_waits ? collector->gaps.sums.count : 0;
	return collector->gaps.sums.items;
}

struct snapshot *collector_snapshot(const struct collector *collector, bool total)
{
	return snapshot_new(
		&(struct snapshot_content){ .frames = &collector->frames,
					    .devices = &collector->devices,
					    .values = &collector->values,
					    .times = &collector->times,
					    .value_types = collector->facts.value_types.items,
					    .value_type_count = collector->facts.value_types.count,
					    .loss = &collector->loss,
					    .metadata = collector->facts.metadata.items,
					    .metadata_count = collector->facts.metadata.count,
					    .activity = collector->options.activity ? &collector->activity : NULL,
					    .timeline = total || collector->is_finished,
					    .total = total });
}

struct moved_stacks {
	const struct frame_table *from;
	struct frame_table *to;
	uint32_t *stacks; /* by stack: its new index, FRAME_NONE: not moved */
};

static bool copy_stack(void *context, uint32_t *stack)
{
	struct moved_stacks *moved = context;
	if (moved->stacks[*stack] == FRAME_NONE)
		moved->stacks[*stack] = frame_table_add_from(moved->to, moved->from, *stack);
	return moved->stacks[*stack] != FRAME_NONE;
}

static bool renumber_stack(void *context, uint32_t *stack)
{
	*stack = ((struct moved_stacks *)context)->stacks[*stack];
	return true;
}

/* Releases all resolved stacks but those of launches that samples may still be attributed to. */
static void release_frames(struct collector *collector)
{
	struct frame_table kept = { 0 };
	size_t count = collector->frames.stacks.count;
	struct moved_stacks moved = { .from = &collector->frames, .to = &kept };
	moved.stacks = malloc((count + 1) * sizeof *moved.stacks);
	if (moved.stacks)
		memset(moved.stacks, 0xff, count * sizeof *moved.stacks);
	correlator_forget_frames(collector->correlator);
	bool is_copied = moved.stacks && correlator_each_stack(collector->correlator, copy_stack, &moved);
	/* The collector's times and the stacks of ended processes have no values now. */
	if (is_copied) {
		correlator_each_stack(collector->correlator, renumber_stack, &moved);
		resolver_forget(collector->resolver);
		frame_table_free(&collector->frames);
		collector->frames = kept;
		collector->frames_kept = frame_table_size(&kept);
		malloc_trim(0);
	} else {
		frame_table_free(&kept);
		count_out_of_memory(collector, 1);
	}
	free(moved.stacks);
}

static void tell_refused_strings(struct collector *collector)
{
	uint64_t refused = intern_refused_strings(collector->options.intern);
	if (refused > collector->refused_told)
		add_loss(collector, "iaprof", COLLECTOR_REASON_STRINGS, LOSS_NO_VALUE_TYPE, collector->last_sync,
			 collector->last_sync, refused - collector->refused_told, 0);
	collector->refused_told = refused;
}

/* Called after an interval, when all of its samples are resolved. */
static void release(struct collector *collector)
{
	value_table_clear(&collector->values);
	time_table_clear(&collector->times);
	thread_table_free(&collector->threads);
	run_activity_clear(&collector->activity);
	process_table_trim_texts(collector->processes);
	/* The stacks that are kept must not cause a release after every interval. */
	if (frame_table_size(&collector->frames) > FRAMES_MANY + 2 * collector->frames_kept)
		release_frames(collector);
	if (collector->symbolizer)
		symbolizer_trim(collector->symbolizer);
	tell_refused_strings(collector);
}

void collector_begin_interval(struct collector *collector)
{
	value_table_begin_interval(&collector->values);
	loss_begin_interval(&collector->loss);
	if (collector->options.continuous && !collector->is_finished)
		release(collector);
}

bool collector_is_full(const struct collector *collector)
{
	return collector->options.continuous &&
	       frame_table_size(&collector->frames) > FRAMES_TOO_MANY + 2 * collector->frames_kept;
}

struct collector_memory collector_memory(const struct collector *collector)
{
	return (struct collector_memory){ .frames = frame_table_size(&collector->frames),
					  .strings = intern_string_count(collector->options.intern),
					  .stacks = intern_stack_count(collector->options.intern),
					  .processes = process_table_count(collector->processes) };
}

void collector_end_by(struct collector *collector, uint64_t end)
{
	if (collector->symbolizer)
		symbolizer_end_by(collector->symbolizer, end);
}

uint64_t collector_helper_cost(const struct collector *collector)
{
	return collector->symbolizer ? symbolizer_cost(collector->symbolizer) : 0;
}

const char *collector_reading(const struct collector *collector)
{
	return collector->symbolizer ? symbolizer_reading(collector->symbolizer) : NULL;
}

uint64_t collector_realtime_offset(const struct collector *collector)
{
	const char *offset = run_metadata_find_metadata(&collector->facts, METADATA_REALTIME_OFFSET);
	return offset ? strtoull(offset, NULL, 10) : 0;
}

struct collector_statistics collector_statistics(const struct collector *collector)
{
	struct collector_statistics statistics = collector->statistics;
	statistics.mappings_refused = process_table_refused(collector->processes, &statistics.mappings_refused_user);
	statistics.mappings_dropped = process_table_dropped(collector->processes);
	statistics.threads_merged = collector->threads.merged;
	statistics.addresses_nameless = resolver_nameless(collector->resolver);
	statistics.runtimes = resolver_runtimes(collector->resolver);
	if (collector->symbolizer) {
		statistics.symbolizer_warning = symbolizer_warning(collector->symbolizer);
		statistics.refusals =
			symbolizer_refusals(collector->symbolizer, &statistics.refusal_count, &statistics.refused_more);
	}
	statistics.strings_refused = intern_refused_strings(collector->options.intern);
	statistics.kernel_side_time = collector->facts.kernel_side_time;
	statistics.event_stacks_missed = collector->event_stacks.missed;
	statistics.decoder_failed = code_workers_have_failed(collector->code_workers);
	statistics.device = device_code_statistics(collector->device_code);
	statistics.correlator = correlator_statistics(collector->correlator);
	statistics.samples = saturating_add(saturating_add(statistics.samples, collector->cpu_samples.taken),
					    statistics.correlator.samples);
	statistics.stacks_unknown = saturating_add(collector->cpu_samples.stack_context.stacks_unknown,
						   statistics.correlator.stacks_unknown);
	statistics.out_of_memory = saturating_add(statistics.out_of_memory, collector->cpu_samples.out_of_memory);
	statistics.out_of_memory = saturating_add(statistics.out_of_memory, collector->times.out_of_memory);
	statistics.out_of_memory = saturating_add(statistics.out_of_memory, collector->activity.out_of_memory);
	return statistics;
}

uint64_t collector_lost_count(const struct collector *collector)
{
	uint64_t count = 0;
	for (size_t i = 0; i < collector->loss.entries.count; i++)
		count = saturating_add(count, collector->loss.entries.items[i].count);
	return count;
}

const struct histograms *collector_histograms(const struct collector *collector)
{
	return &collector->histograms;
}

const struct findings *collector_findings(const struct collector *collector)
{
	return &collector->findings;
}

const struct call_tree *collector_calls(const struct collector *collector)
{
	return &collector->calls;
}

const struct sampled_device *collector_devices(const struct collector *collector, size_t *count)
{
	*count = collector->devices.items.count;
	return collector->devices.items.items;
}
