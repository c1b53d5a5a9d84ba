/* SPDX-License-Identifier: Apache-2.0 */
/* Processes each record of a batch: see collector.h. */
#include <errno.h>

#include "correlator/attribution.h"
#include "profile/collector_state.h"
#include "profile/unattributable.h"

void collector_add_loss(struct collector *collector, const char *source, const char *reason, uint32_t value_type,
			uint64_t begin, uint64_t end, uint64_t count, uint64_t value)
{
	const struct loss_entry *entry =
		loss_add(&collector->loss, source, reason, value_type, begin, end, count, value);
	if (!entry)
		collector_count_out_of_memory(collector, 1);
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
		collector_count_out_of_memory(collector, 1);
	else
		time_table_add(&collector->times, stack, value_type, begin, end, value);
}

/* Stages: what is done with a record. */

static void take_sample(struct collector *collector, const void *record)
{
	const struct iaprof_record_sample *sample = record;
	if (cpu_samples_take(&collector->cpu_samples, sample))
		device_gaps_take_sample(&collector->gaps, sample);
	else
		collector_add_loss(collector, run_metadata_source_name(&collector->facts, sample->header.source),
				   COLLECTOR_REASON_VALUE_TYPE, LOSS_NO_VALUE_TYPE, sample->first_time,
				   sample->header.time, sample->count, 0);
	/* A live run waits for the next SYNC, but a capture may not contain one. */
	if (!collector->options.live && cpu_samples_are_too_many(&collector->cpu_samples))
		cpu_samples_resolve(&collector->cpu_samples);
}

/* Calls with a node in the call tree are part of the profile. */
static void take_call(struct collector *collector, const void *record)
{
	const struct iaprof_record_call *call = record;
	bool has_node = call->header.size >= sizeof *call && call->node;
	uint32_t node = call_tree_find_call(&collector->calls, call);
	if (!has_node)
		return;
	const struct {
		uint32_t type;
		uint64_t value;
	} values[] = { { call->time_type, call->self_duration }, { call->count_type, call->count } };
	const char *source = run_metadata_source_name(&collector->facts, call->header.source);
	if (node == CALL_NONE) {
		collector_add_loss(collector, source, COLLECTOR_REASON_CALL_NODE, LOSS_NO_VALUE_TYPE, call->first_time,
				   call->header.time, call->count, 0);
		return;
	}
	call_tree_add(&collector->calls, node, call);
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		if (values[i].type && values[i].value &&
		    !cpu_samples_take_call(&collector->cpu_samples, call, node, values[i].type, values[i].value))
			collector_add_loss(collector, source, COLLECTOR_REASON_VALUE_TYPE, LOSS_NO_VALUE_TYPE,
					   call->first_time, call->header.time, call->count, 0);
}

/* The lookups keep the stacks of records that wait from expiring. */
static void keep_launch_stacks(struct collector *collector, const void *record)
{
	const struct iaprof_record_launch *launch = record;
	intern_find_stack(collector->options.intern, launch->user_stack);
	intern_find_stack(collector->options.intern, launch->kernel_stack);
}

static void keep_call_stack(struct collector *collector, const void *record)
{
	intern_find_stack(collector->options.intern, ((const struct iaprof_record_call *)record)->user_stack);
}

static void resolve_launch_stack(struct collector *collector, const void *record)
{
	const struct iaprof_record_launch *launch = record;
	event_stacks_resolve(&collector->event_stacks, launch->user_stack, launch->pid, launch->header.time);
}

static void resolve_call_stack(struct collector *collector, const void *record)
{
	const struct iaprof_record_call *call = record;
	event_stacks_resolve(&collector->event_stacks, call->user_stack, call->pid, call->header.time);
}

static void count_definition(struct collector *collector, int result)
{
	if (result == -EINVAL)
		collector->statistics.definitions_refused++;
	else if (result)
		collector_count_out_of_memory(collector, 1);
}

static void count_stored(struct collector *collector, bool is_stored)
{
	if (!is_stored)
		collector_count_out_of_memory(collector, 1);
}

static void take_process(struct collector *collector, const void *record)
{
	const struct iaprof_record_process *process = record;
	count_stored(collector,
		     !process_table_event(collector->processes, process, collector_text(collector, process->name),
					  collector->options.live));
	if (process->event != IAPROF_PROCESS_NAME && process->event != IAPROF_PROCESS_EXIT)
		collector->statistics.processes++;
	if (process->event == IAPROF_PROCESS_EXEC || process->event == IAPROF_PROCESS_EXIT) {
		device_code_end_process(collector->device_code, process->pid, process->header.time);
		correlator_end_process(collector->correlator, process->pid, process->header.time);
	}
}

static void take_mapping(struct collector *collector, const void *record)
{
	const struct iaprof_record_mapping *mapping = record;
	count_stored(collector,
		     !process_table_mapping(collector->processes, mapping, collector_text(collector, mapping->path)));
}

static void take_metadata(struct collector *collector, const void *record)
{
	const struct iaprof_record_metadata *metadata = record;
	run_metadata_take_metadata(&collector->facts, metadata->header.source, collector_text(collector, metadata->key),
				   collector_text(collector, metadata->value));
}

static void take_lost(struct collector *collector, const void *record)
{
	const struct iaprof_record_lost *lost = record;
	collector_add_loss(collector, run_metadata_source_name(&collector->facts, lost->header.source),
			   collector_text(collector, lost->reason),
			   run_metadata_find_value_type(&collector->facts, lost->value_type), lost->begin,
			   lost->header.time, lost->count, lost->value);
}

/* Adds the recorded run's attributed samples. If the capture lost a definition, they still count in the total. */
static void take_profile_value(struct collector *collector, const void *value)
{
	const struct iaprof_record_profile_value *record = value;
	const struct replayed_stack *stack = replayed_stacks_find(&collector->replayed_stacks, record->stack);
	uint32_t value_type = run_metadata_find_value_type(&collector->facts, record->value_type);
	bool is_declared = value_type != LOSS_NO_VALUE_TYPE;
	collector->statistics.samples = saturating_add(collector->statistics.samples, record->count);
	if (stack && stack->is_span_dropped)
		collector->statistics.spans_dropped =
			saturating_add(collector->statistics.spans_dropped, record->count);
	if (!stack || !is_declared)
		collector_add_loss(collector, run_metadata_source_name(&collector->facts, record->header.source),
				   is_declared ? COLLECTOR_REASON_PROFILE_STACK : COLLECTOR_REASON_VALUE_TYPE,
				   value_type, record->header.time, record->header.time, record->count,
				   is_declared ? record->value : 0);
	else if (!value_table_add(&collector->values, stack->stack, value_type, record->value, record->count))
		collector_count_out_of_memory(collector, record->count);
	else if (record->header.size >= sizeof *record)
		time_table_add(&collector->times, stack->stack, value_type, record->begin, record->end, record->value);
}

/* Attributes a device sample or the time of a job, or counts it as lost. */
static void attribute(struct collector *collector, const void *attributed)
{
	const struct iaprof_record *record = attributed;
	const struct iaprof_record_stall_sample *sample =
		record->type == IAPROF_RECORD_STALL_SAMPLE ? (const void *)record : NULL;
	const char *refused = unattributable_reason(&collector->facts, record);
	if (refused)
		collector_add_loss(collector, run_metadata_source_name(&collector->facts, record->source), refused,
				   LOSS_NO_VALUE_TYPE, sample ? sample->begin : record->time, record->time,
				   sample ? attribution_total(sample) : 1, 0);
	else if (sample)
		correlator_take_sample(collector->correlator, sample);
	else if (iaprof_record_job_has_kernel((const void *)record))
		correlator_take_job(collector->correlator, (const void *)record);
}

#define STAGE(name, statement)                                                                                         \
	static void name(struct collector *collector, const void *record)                                              \
	{                                                                                                              \
		statement;                                                                                             \
	}

STAGE(note_string,
      result_stream_note_definition(&collector->results, ((const struct iaprof_record_string *)record)->id))
STAGE(define_string, count_definition(collector, intern_define_string(collector->options.intern, record)))
STAGE(define_stack, count_definition(collector, intern_define_stack(collector->options.intern, record)))
STAGE(define_frame, count_definition(collector, intern_define_frame(collector->options.intern, record)))
STAGE(define_call_function, count_definition(collector, call_tree_take_function(&collector->calls, record)))
STAGE(define_call_node, count_definition(collector, call_tree_take_node(&collector->calls, record)))
STAGE(learn_frames, resolver_learn(collector->resolver, record))
STAGE(learn_module, resolver_learn_module(collector->resolver, record))
STAGE(take_source, count_stored(collector, run_metadata_take_source(&collector->facts, record)))
STAGE(take_value_type, run_metadata_take_value_type(&collector->facts, record))
STAGE(take_counter, run_metadata_take_counter(&collector->facts, record))
STAGE(take_counter_value, run_metadata_take_counter_value(&collector->facts, record))
STAGE(take_histogram, histograms_take(&collector->histograms, record))
STAGE(measure_job, histograms_take_job(&collector->histograms, record))
STAGE(end_gap, device_gaps_take_job(&collector->gaps, record))
STAGE(take_finding, findings_take(&collector->findings, record))
STAGE(take_device, sampled_devices_take(&collector->devices, record))
STAGE(take_stall_reason, sampled_devices_take_reason(&collector->devices, record))
STAGE(take_device_counter, sampled_devices_take_counter(&collector->devices, record))
STAGE(take_device_value, sampled_devices_take_counter_value(&collector->devices, record))
STAGE(note_progress, source_progress_take(&collector->order.progress, record))
STAGE(load_code, device_code_take_code_object(collector->device_code, record))
STAGE(unload_code, device_code_take_unload(collector->device_code, record))
STAGE(load_kernel, device_code_take_kernel(collector->device_code, record))
STAGE(correlate_code, correlator_take_code_object(collector->correlator, record))
STAGE(correlate_kernel, correlator_take_kernel(collector->correlator, record))
STAGE(correlate_launch, correlator_take_launch(collector->correlator, record))
STAGE(correlate_activity, correlator_take_activity(collector->correlator, record))
STAGE(count_launch, device_code_take_launch(collector->device_code, record))
STAGE(graph_counter, run_activity_take_counter(&collector->activity, record))
STAGE(graph_counter_value, run_activity_take_counter_value(&collector->activity, record))
STAGE(place_job, run_activity_place_job(&collector->activity, record))
STAGE(place_call, run_activity_place_call(&collector->activity, record))
STAGE(take_profile_stack, count_stored(collector, replayed_stacks_take(&collector->replayed_stacks, record)))

/* Runs in which a stage is needed: those that meet all conditions. */
enum {
	ALWAYS = 0,
	LIVE = 1 << 0,
	/* The ids of a live run are those of the tables, and its names and results are made here. */
	REPLAYED = 1 << 1,
	SENDS_RECORDS = 1 << 2,
	HAS_ACTIVITY = 1 << 3,
};

/*
 * What happens with records, at once or after a wait. Stages of a type are in the order of their calls. Other types are
 * only for sinks.
 */
static const struct subscription {
	uint16_t type;
	uint16_t wait; /* enum record_wait */
	uint16_t conditions;
	collector_stage *stage;
} subscriptions[] = {
	{ IAPROF_RECORD_STRING, WAIT_NONE, LIVE, note_string },
	{ IAPROF_RECORD_STRING, WAIT_NONE, REPLAYED, define_string },
	{ IAPROF_RECORD_STACK, WAIT_NONE, REPLAYED, define_stack },
	{ IAPROF_RECORD_NAMED_FRAME, WAIT_NONE, REPLAYED, define_frame },
	{ IAPROF_RECORD_SOURCE, WAIT_NONE, ALWAYS, take_source },
	{ IAPROF_RECORD_METADATA, WAIT_NONE, ALWAYS, take_metadata },
	{ IAPROF_RECORD_VALUE_TYPE, WAIT_NONE, ALWAYS, take_value_type },
	{ IAPROF_RECORD_PROCESS, WAIT_NONE, ALWAYS, take_process },
	{ IAPROF_RECORD_MAPPING, WAIT_NONE, ALWAYS, take_mapping },
	{ IAPROF_RECORD_SAMPLE, WAIT_NONE, ALWAYS, take_sample },
	{ IAPROF_RECORD_LAUNCH, WAIT_NONE, LIVE, keep_launch_stacks },
	{ IAPROF_RECORD_LAUNCH, WAIT_NONE, ALWAYS, count_launch },
	{ IAPROF_RECORD_LAUNCH, WAIT_PROCESSES, SENDS_RECORDS, resolve_launch_stack },
	{ IAPROF_RECORD_LAUNCH, WAIT_PROCESSES, LIVE, correlate_launch },
	{ IAPROF_RECORD_CALL, WAIT_NONE, SENDS_RECORDS, keep_call_stack },
	{ IAPROF_RECORD_CALL, WAIT_NONE, ALWAYS, take_call },
	{ IAPROF_RECORD_CALL, WAIT_PROCESSES, SENDS_RECORDS, resolve_call_stack },
	{ IAPROF_RECORD_CALL, WAIT_PROCESSES, HAS_ACTIVITY, place_call },
	{ IAPROF_RECORD_CALL_FUNCTION, WAIT_NONE, ALWAYS, define_call_function },
	{ IAPROF_RECORD_CALL_NODE, WAIT_NONE, ALWAYS, define_call_node },
	{ IAPROF_RECORD_COUNTER, WAIT_NONE, ALWAYS, take_counter },
	{ IAPROF_RECORD_COUNTER, WAIT_NONE, HAS_ACTIVITY, graph_counter },
	{ IAPROF_RECORD_COUNTER, WAIT_NONE, LIVE, take_device_counter },
	{ IAPROF_RECORD_COUNTER_VALUE, WAIT_NONE, ALWAYS, take_counter_value },
	{ IAPROF_RECORD_COUNTER_VALUE, WAIT_NONE, HAS_ACTIVITY, graph_counter_value },
	{ IAPROF_RECORD_COUNTER_VALUE, WAIT_NONE, LIVE, take_device_value },
	{ IAPROF_RECORD_COUNTER_VALUE, WAIT_NONE, LIVE, note_progress },
	{ IAPROF_RECORD_HISTOGRAM, WAIT_NONE, ALWAYS, take_histogram },
	{ IAPROF_RECORD_JOB, WAIT_NONE, ALWAYS, measure_job },
	{ IAPROF_RECORD_JOB, WAIT_NONE, ALWAYS, end_gap },
	{ IAPROF_RECORD_JOB, WAIT_PROCESSES, HAS_ACTIVITY, place_job },
	{ IAPROF_RECORD_JOB, WAIT_DEVICES, LIVE, attribute },
	{ IAPROF_RECORD_FINDING, WAIT_NONE, ALWAYS, take_finding },
	{ IAPROF_RECORD_LOST, WAIT_NONE, ALWAYS, take_lost },
	{ IAPROF_RECORD_DEVICE, WAIT_NONE, ALWAYS, take_device },
	{ IAPROF_RECORD_CODE_OBJECT, WAIT_NONE, ALWAYS, load_code },
	{ IAPROF_RECORD_CODE_OBJECT, WAIT_NONE, LIVE, correlate_code },
	{ IAPROF_RECORD_CODE_OBJECT, WAIT_NONE, LIVE, note_progress },
	{ IAPROF_RECORD_CODE_OBJECT_UNLOAD, WAIT_NONE, ALWAYS, unload_code },
	{ IAPROF_RECORD_KERNEL, WAIT_NONE, ALWAYS, load_kernel },
	{ IAPROF_RECORD_KERNEL, WAIT_NONE, LIVE, correlate_kernel },
	{ IAPROF_RECORD_KERNEL, WAIT_NONE, LIVE, note_progress },
	{ IAPROF_RECORD_STALL_REASON, WAIT_NONE, LIVE, take_stall_reason },
	{ IAPROF_RECORD_PROGRESS, WAIT_NONE, LIVE, note_progress },
	{ IAPROF_RECORD_DEVICE_ACTIVITY, WAIT_NONE, LIVE, correlate_activity },
	{ IAPROF_RECORD_STALL_SAMPLE, WAIT_DEVICES, LIVE, attribute },
	{ IAPROF_RECORD_FRAMES, WAIT_NONE, REPLAYED, learn_frames },
	{ IAPROF_RECORD_MODULE, WAIT_NONE, REPLAYED, learn_module },
	{ IAPROF_RECORD_PROFILE_STACK, WAIT_NONE, REPLAYED, take_profile_stack },
	{ IAPROF_RECORD_PROFILE_VALUE, WAIT_NONE, REPLAYED, take_profile_value },
};

void collector_subscribe(struct collector *collector)
{
	const struct collector_options *options = &collector->options;
	uint32_t met = (options->live ? LIVE : REPLAYED) | (options->records ? SENDS_RECORDS : 0) |
		       (options->activity ? HAS_ACTIVITY : 0);
	for (size_t i = 0; i < sizeof subscriptions / sizeof *subscriptions; i++) {
		collector_stage **stage = collector->stages[subscriptions[i].type].after[subscriptions[i].wait];
		if (subscriptions[i].conditions & ~met)
			continue;
		while (*stage)
			stage++;
		*stage = subscriptions[i].stage;
	}
}

static void run_stages(struct collector *collector, enum record_wait wait, const struct iaprof_record *record)
{
	for (collector_stage *const *stage = collector->stages[record->type].after[wait]; *stage; stage++)
		(*stage)(collector, record);
}

void collector_pass(void *collector, enum record_wait wait, const struct iaprof_record *record)
{
	run_stages(collector, wait, record);
}

static void take_record(struct collector *collector, const struct iaprof_record *record)
{
	if (record->type >= IAPROF_RECORD_TYPE_COUNT) /* of a later version */
		return;
	run_stages(collector, WAIT_NONE, record);
	for (uint32_t wait = WAIT_NONE + 1; wait < WAIT_COUNT; wait++)
		if (*collector->stages[record->type].after[wait])
			record_order_add(&collector->order, wait, record);
}

/*
 * Returns whether roots of processes have to be read before a record is taken. Records of processes that begin come
 * together, and samples wait for the next SYNC.
 */
static inline bool needs_roots(uint16_t type)
{
	return type != IAPROF_RECORD_SAMPLE && type != IAPROF_RECORD_PROCESS && type != IAPROF_RECORD_MAPPING;
}

void collector_take(struct collector *collector, const struct iaprof_batch *batch,
		    void (*sync)(void *context, uint64_t time), void *context)
{
	collector->statistics.records += batch->count;
	for (const struct iaprof_record *record = iaprof_batch_next(batch, NULL); record;
	     record = iaprof_batch_next(batch, record)) {
		if (needs_roots(record->type))
			process_table_read_roots(collector->processes);
		if (record->type != IAPROF_RECORD_SYNC) {
			take_record(collector, record);
			continue;
		}
		if (record->time < collector->last_sync)
			continue;
		collector->last_sync = record->time;
		collector_sync(collector, record->time);
		if (sync)
			sync(context, record->time);
	}
	process_table_read_roots(collector->processes);
}
