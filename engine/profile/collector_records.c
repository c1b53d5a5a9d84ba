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
		collector_count_out_of_memory(collector, 1);
}

static void take_process(struct collector *collector, const struct iaprof_record_process *record)
{
	if (process_table_event(collector->processes, record, collector_text(collector, record->name),
				collector->options.live))
		collector_count_out_of_memory(collector, 1);
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
			collector_count_out_of_memory(collector, 1);
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
		collector_add_loss(collector, run_metadata_source_name(&collector->facts, record->source), refused,
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
			collector_count_out_of_memory(collector, 1);
		break;
	case IAPROF_RECORD_METADATA: {
		const struct iaprof_record_metadata *metadata = (const void *)record;
		run_metadata_take_metadata(&collector->facts, record->source, collector_text(collector, metadata->key),
					   collector_text(collector, metadata->value));
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
		if (process_table_mapping(collector->processes, mapping, collector_text(collector, mapping->path)))
			collector_count_out_of_memory(collector, 1);
		break;
	}
	case IAPROF_RECORD_SAMPLE:
		take_sample(collector, (const void *)record);
		return; /* nothing else needs them */
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
		collector_add_loss(collector, run_metadata_source_name(&collector->facts, record->source),
				   collector_text(collector, lost->reason),
				   run_metadata_find_value_type(&collector->facts, lost->value_type), lost->begin,
				   record->time, lost->count, lost->value);
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
