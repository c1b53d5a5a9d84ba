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

static void take_sample(struct collector *collector, const struct iaprof_record_sample *sample)
{
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
static void take_call(struct collector *collector, const struct iaprof_record_call *call)
{
	bool has_node = IAPROF_HAS_MEMBER(call, call->header.size, self_duration) && call->node;
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

static void count_stored(struct collector *collector, bool is_stored)
{
	if (!is_stored)
		collector_count_out_of_memory(collector, 1);
}

static void count_definition(struct collector *collector, int result)
{
	if (result == -EINVAL)
		collector->statistics.definitions_refused++;
	else
		count_stored(collector, !result);
}

static void take_process(struct collector *collector, const struct iaprof_record_process *process)
{
	count_stored(collector,
		     !process_table_event(collector->processes, process, collector_text(collector, process->name),
					  collector->options.live));
	if (process->event < IAPROF_PROCESS_NAME)
		collector->statistics.processes++;
	if (process->event == IAPROF_PROCESS_EXEC || process->event == IAPROF_PROCESS_EXIT) {
		device_code_end_process(collector->device_code, process->pid, process->header.time);
		correlator_end_process(collector->correlator, process->pid, process->header.time);
	}
}

/* Reads a program in memory as soon as it is mapped: it is gone when its process ends. */
static void read_file_in_memory(struct collector *collector, const struct iaprof_record_mapping *record)
{
	uint64_t time = record->header.time;
	if (record->flags & IAPROF_MAPPING_SHARED ||
	    !mapping_path_is_in_memory(collector_text(collector, record->path)) ||
	    collector->files_in_memory >= COLLECTOR_FILES_IN_MEMORY_MAX)
		return;
	struct process *process = process_table_find(collector->processes, record->pid, time);
	collector->files_in_memory++;
	if (process)
		resolver_prefetch(collector->resolver, process, time, record->start, BUDGET_QUICK);
}

static void take_lost(struct collector *collector, const struct iaprof_record_lost *lost)
{
	collector_add_loss(collector, run_metadata_source_name(&collector->facts, lost->header.source),
			   collector_text(collector, lost->reason),
			   run_metadata_find_value_type(&collector->facts, lost->value_type), lost->begin,
			   lost->header.time, lost->count, lost->value);
}

/* Adds the recorded run's attributed samples. If the capture lost a definition, they still count in the total. */
/* Captures of earlier versions do not state roles: values with stall reasons are samples of a device. */
static void find_role(struct collector *collector, uint32_t stack, uint32_t value_type)
{
	const struct iaprof_value_type *type = &collector->facts.value_types.items[value_type];
	const struct stack_entry *entry = &collector->frames.stacks.items[stack];
	const uint32_t *frames = collector->frames.stack_frames.items + entry->first;
	if (type->role != IAPROF_VALUE_UNKNOWN)
		return;
	for (uint32_t i = 0; i < entry->frame_count; i++)
		if (collector->frames.frames.items[frames[i]].kind == IAPROF_FRAME_STALL_REASON)
			(void)run_metadata_take_value_type(
				&collector->facts, &(struct iaprof_record_value_type){
							   .header.size = sizeof(struct iaprof_record_value_type),
							   .id = collector->facts.value_type_ids.items[value_type],
							   .role = IAPROF_VALUE_DEVICE_SAMPLES });
}

static void take_profile_value(struct collector *collector, const struct iaprof_record_profile_value *record)
{
	const struct replayed_stack *stack = replayed_stacks_find(&collector->replayed_stacks, record->stack);
	uint32_t value_type = run_metadata_find_value_type(&collector->facts, record->value_type);
	bool is_declared = value_type != LOSS_NO_VALUE_TYPE;
	collector->statistics.samples = saturating_add(collector->statistics.samples, record->count);
	if (stack && stack->is_span_dropped)
		collector->statistics.spans_dropped =
			saturating_add(collector->statistics.spans_dropped, record->count);
	if (stack && is_declared)
		find_role(collector, stack->stack, value_type);
	if (!stack || !is_declared)
		collector_add_loss(collector, run_metadata_source_name(&collector->facts, record->header.source),
				   is_declared ? COLLECTOR_REASON_PROFILE_STACK : COLLECTOR_REASON_VALUE_TYPE,
				   value_type, record->header.time, record->header.time, record->count,
				   is_declared ? record->value : 0);
	else if (!value_table_add(&collector->values, stack->stack, value_type, record->value, record->count))
		collector_count_out_of_memory(collector, record->count);
	else if (IAPROF_HAS_MEMBER(record, record->header.size, end))
		device_values_add_time(&collector->times, &collector->facts, stack->stack, value_type, record->begin,
				       record->end, record->value);
}

static void add_device_time(struct collector *collector, const struct iaprof_record_job *job)
{
	collector->gaps.is_used = true;
	if (!device_time_add(&collector->device_time, job))
		collector_count_out_of_memory(collector, 1);
}

/* Takes a job that is not of a kernel. */
static void take_job(struct collector *collector, const struct iaprof_record_job *record)
{
	struct iaprof_record_job job = { 0 };
	if (iaprof_record_job_has_kernel(record))
		return;
	memcpy(&job, record, record->header.size < sizeof job ? record->header.size : sizeof job);
	job.header.size = sizeof job;
	job.kernel = job.time_type = 0;
	job.started = job.started ? job.started : job.queued ? job.queued : job.submitted;
	if (!job.started || job.started > job.header.time)
		return;
	device_gaps_take_job(&collector->gaps, &job);
	add_device_time(collector, &job);
}

/* Takes a job of a kernel, which has started and ended. */
static void take_execution(struct collector *collector, const struct iaprof_record_job *job)
{
	if (!iaprof_record_job_has_kernel(job) || !job->started || job->started > job->header.time)
		return;
	if (iaprof_record_job_copy(job))
		device_gaps_take_copy(&collector->gaps, job);
	add_device_time(collector, job);
}

/* Attributes a device sample or the time of a job, or counts it as lost. */
static void attribute(struct collector *collector, const struct iaprof_record *record)
{
	const struct iaprof_record_stall_sample *sample =
		record->type == IAPROF_RECORD_STALL_SAMPLE ? (const void *)record : NULL;
	const char *refused = unattributable_reason(&collector->facts, record);
	if (refused)
		collector_add_loss(collector, run_metadata_source_name(&collector->facts, record->source), refused,
				   LOSS_NO_VALUE_TYPE, sample ? sample->begin : record->time, record->time,
				   sample ? attribution_total(sample) : 1, 0);
	else if (sample)
		correlator_take_sample(collector->correlator, sample);
	else
		take_execution(collector, (const void *)record);
}

/* Runs in which a stage is needed: those that meet all conditions. */
enum {
	ALWAYS = 0,
	LIVE = 1 << 0,
	REPLAYED = 1 << 1,
	SENDS_RECORDS = 1 << 2,
	HAS_ACTIVITY = 1 << 3,
};

/* The function of a stage is called by the line of its definition. */
#define STAGE_NAME_(line) stage_##line
#define STAGE_NAME(line) STAGE_NAME_(line)
#define STAGE(type, name, wait, conditions, statement)                                                                 \
	static void STAGE_NAME(__LINE__)(struct collector * collector, struct intern * intern, const void *data)       \
	{                                                                                                              \
		const struct iaprof_record_##name *record = data;                                                      \
		statement;                                                                                             \
	}
#include "profile/collector_stages.def"
#undef STAGE

static const struct subscription {
	uint16_t type, wait, conditions;
	collector_stage *stage;
} subscriptions[] = {
#define STAGE(type, name, wait, conditions, statement) { IAPROF_RECORD_##type, wait, conditions, STAGE_NAME(__LINE__) },
#include "profile/collector_stages.def"
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

void collector_pass(void *context, enum record_wait wait, const struct iaprof_record *record)
{
	struct collector *collector = context;
	for (collector_stage *const *stage = collector->stages[record->type].after[wait]; *stage; stage++)
		(*stage)(collector, collector->options.intern, record);
}

static void take_record(struct collector *collector, const struct iaprof_record *record)
{
	/* Most records are samples: without the table, they take 4 % less time (bench_bus). */
	if (record->type == IAPROF_RECORD_SAMPLE)
		return take_sample(collector, (const void *)record);
	if (record->type >= IAPROF_RECORD_TYPE_COUNT) /* of a later version */
		return;
	collector_pass(collector, WAIT_NONE, record);
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
