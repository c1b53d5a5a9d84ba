/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the rows of rows=events: see events.h. */
#include "events.h"

#include <inttypes.h>
#include "event_row.h"
#include "value_names.h"

static int write_value_type(const struct event *event)
{
	const struct iaprof_record_value_type *type = (const void *)event->record;
	csv_row_set_unsigned(event->row, EVENT_ID, type->id);
	event_set_string(event, EVENT_NAME, type->name);
	event_set_string(event, EVENT_UNIT, type->unit);
	event_set_known(event, EVENT_VALUE, type->period);
	return event_end(event, "value-type");
}

static int write_process(const struct event *event)
{
	static const char *const kinds[] = { NULL, "existing", "fork", "exec", "name", "exit" };
	const struct iaprof_record_process *process = (const void *)event->record;
	csv_row_set_unsigned(event->row, EVENT_PID, process->pid);
	event_set_known(event, EVENT_PARENT, process->parent_pid);
	SET_CHOICE(event, EVENT_KIND, kinds, process->event);
	event_set_string(event, EVENT_NAME, process->name);
	return event_end(event, "process");
}

static int write_mapping(const struct event *event)
{
	static const char *const flags[] = { "deleted", "existing" };
	const struct iaprof_record_mapping *mapping = (const void *)event->record;
	csv_row_set_unsigned(event->row, EVENT_PID, mapping->pid);
	event_set_string(event, EVENT_NAME, mapping->path);
	csv_row_set_hexadecimal(event->row, EVENT_ADDRESS, mapping->start);
	csv_row_set_unsigned(event->row, EVENT_SIZE, mapping->size);
	csv_row_set_unsigned(event->row, EVENT_OFFSET, mapping->file_offset);
	if (mapping->inode) {
		struct text *text = csv_row_begin_text(event->row, EVENT_DEVICE);
		text_append_format(text, "%" PRIu32 ":%" PRIu32, mapping->device_major, mapping->device_minor);
		csv_row_end_text(event->row, EVENT_DEVICE);
		csv_row_set_unsigned(event->row, EVENT_INODE, mapping->inode);
	}
	event_set_known(event, EVENT_GENERATION, mapping->inode_generation);
	SET_FLAGS(event, flags, mapping->flags);
	csv_row_set_bytes(event->row, EVENT_BUILD_ID, mapping->build_id, mapping->build_id_size);
	return event_end(event, "mapping");
}

static int write_module(const struct event *event)
{
	const struct iaprof_record_module *module = (const void *)event->record;
	event_set_string(event, EVENT_NAME, module->path);
	csv_row_set_bytes(event->row, EVENT_BUILD_ID, iaprof_record_module_build_id(module), module->build_id_size);
	return event_end(event, "module");
}

static int write_sample(const struct event *event)
{
	static const char *const flags[] = { "user-stack-missing", "kernel-stack-missing", "truncated" };
	const struct iaprof_record_sample *sample = (const void *)event->record;
	csv_row_set_unsigned(event->row, EVENT_PID, sample->pid);
	event_set_known(event, EVENT_TID, sample->tid);
	if (sample->cpu != UINT32_MAX)
		csv_row_set_unsigned(event->row, EVENT_CPU, sample->cpu);
	event_set_string(event, EVENT_NAME, sample->name);
	event_set_string(event, EVENT_THREAD, iaprof_record_sample_thread_name(sample));
	event_set_stack(event, EVENT_STACK, sample->user_stack);
	event_set_stack(event, EVENT_KERNEL_STACK, sample->kernel_stack);
	event_set_value_type(event, sample->value_type);
	csv_row_set_unsigned(event->row, EVENT_BEGIN, sample->first_time);
	csv_row_set_unsigned(event->row, EVENT_COUNT, sample->count);
	csv_row_set_unsigned(event->row, EVENT_VALUE, sample->value);
	SET_FLAGS(event, flags, sample->flags);
	csv_row_set_span(event->row, EVENT_TRACE_ID, EVENT_SPAN_ID, iaprof_record_sample_span(sample));
	return event_end(event, "sample");
}

static int write_device(const struct event *event)
{
	const struct iaprof_record_device *device = (const void *)event->record;
	csv_row_set_unsigned(event->row, EVENT_ID, device->id);
	event_set_string(event, EVENT_NAME, device->name);
	event_set_string(event, EVENT_TEXT, device->address);
	event_set_known(event, EVENT_MACHINE, device->machine);
	return event_end(event, "device");
}

static int write_code_object(const struct event *event)
{
	const struct iaprof_record_code_object *object = (const void *)event->record;
	csv_row_set_unsigned(event->row, EVENT_ID, object->id);
	csv_row_set_unsigned(event->row, EVENT_PID, object->pid);
	event_set_device(event, object->device);
	csv_row_set_unsigned(event->row, EVENT_MACHINE, object->machine);
	csv_row_set_hexadecimal(event->row, EVENT_ADDRESS, object->address);
	event_set_known(event, EVENT_SIZE, object->size);
	csv_row_set_hexadecimal(event->row, EVENT_OFFSET, object->instruction_base);
	event_set_string(event, EVENT_NAME, object->path);
	csv_row_set_bytes(event->row, EVENT_BUILD_ID, object->build_id, object->build_id_size);
	return event_end(event, "code-object");
}

static int write_code_object_unload(const struct event *event)
{
	const struct iaprof_record_code_object_unload *unload = (const void *)event->record;
	csv_row_set_unsigned(event->row, EVENT_ID, unload->id);
	csv_row_set_unsigned(event->row, EVENT_PID, unload->pid);
	return event_end(event, "code-object-unload");
}

/* Attributes from the image, if they have been sent already. */
static void set_kernel(const struct event *event, const struct iaprof_record_kernel *kernel)
{
	const struct iaprof_record_code_function *function =
		definitions_find_function(event->definitions, kernel->header.source, kernel->code_object, kernel->name);
	if (function)
		event_set_function(event, function);
	else
		event_set_string(event, EVENT_NAME, kernel->name);
}

static int write_code_function(const struct event *event)
{
	const struct iaprof_record_code_function *function = (const void *)event->record;
	csv_row_set_unsigned(event->row, EVENT_PARENT, function->code_object);
	csv_row_set_name(event->row, EVENT_KIND, function->flags & IAPROF_CODE_FUNCTION_KERNEL ? "kernel" : "function");
	event_set_function(event, function);
	event_set_string(event, EVENT_TEXT, function->name);
	if (function->address)
		csv_row_set_hexadecimal(event->row, EVENT_ADDRESS, function->address);
	csv_row_set_unsigned(event->row, EVENT_SIZE, function->size);
	return event_end(event, "code-function");
}

static int write_kernel(const struct event *event)
{
	const struct iaprof_record_kernel *kernel = (const void *)event->record;
	csv_row_set_unsigned(event->row, EVENT_ID, kernel->id);
	event_set_known(event, EVENT_PARENT, kernel->code_object);
	csv_row_set_unsigned(event->row, EVENT_PID, kernel->pid);
	set_kernel(event, kernel);
	event_set_string(event, EVENT_TEXT, kernel->name);
	csv_row_set_hexadecimal(event->row, EVENT_ADDRESS, kernel->address);
	event_set_known(event, EVENT_SIZE, kernel->size);
	return event_end(event, "kernel");
}

static int write_launch(const struct event *event)
{
	const struct iaprof_record_launch *launch = (const void *)event->record;
	const struct iaprof_record_kernel *kernel =
		definitions_find(event->definitions, IAPROF_RECORD_KERNEL, launch->header.source, launch->kernel);
	csv_row_set_unsigned(event->row, EVENT_ID, launch->kernel);
	csv_row_set_unsigned(event->row, EVENT_PID, launch->pid);
	event_set_known(event, EVENT_TID, launch->tid);
	event_set_string(event, EVENT_THREAD, iaprof_record_launch_thread_name(launch));
	event_set_device(event, launch->device);
	if (kernel)
		set_kernel(event, kernel);
	event_set_stack(event, EVENT_STACK, launch->user_stack);
	event_set_functions(event, EVENT_FUNCTIONS, launch->user_stack);
	event_set_stack(event, EVENT_KERNEL_STACK, launch->kernel_stack);
	csv_row_set_unsigned(event->row, EVENT_BEGIN, launch->first_time);
	csv_row_set_unsigned(event->row, EVENT_COUNT, launch->count);
	csv_row_set_span(event->row, EVENT_TRACE_ID, EVENT_SPAN_ID, iaprof_record_launch_span(launch));
	return event_end(event, "launch");
}

/* Writes one row per counted reason, or one without a reason. */
static int write_stall_sample(const struct event *event)
{
	static const char *const kinds[] = { "absolute", "instruction-base" };
	const struct iaprof_record_stall_sample *sample = (const void *)event->record;
	const uint64_t *counts = iaprof_record_stall_sample_counts(sample);
	bool counted = false;
	int result = 0;
	for (uint32_t i = 0; i <= sample->reason_count && result == 0; i++) {
		bool is_reason = i < sample->reason_count;
		if (is_reason ? !counts[i] : counted)
			continue;
		counted = true;
		event_set_known(event, EVENT_PID, sample->pid);
		event_set_device(event, sample->device);
		SET_CHOICE(event, EVENT_KIND, kinds, sample->address_space);
		csv_row_set_hexadecimal(event->row, EVENT_ADDRESS, sample->address);
		csv_row_set_unsigned(event->row, EVENT_BEGIN, sample->begin);
		csv_row_set_unsigned(event->row, EVENT_COUNT, is_reason ? counts[i] : 0);
		if (is_reason) {
			const struct iaprof_record_stall_reason *reason = definitions_find(
				event->definitions, IAPROF_RECORD_STALL_REASON, sample->header.source, i);
			csv_row_set_unsigned(event->row, EVENT_ID, i);
			if (reason)
				event_set_string(event, EVENT_NAME, reason->name);
		}
		result = event_end(event, "stall-sample");
	}
	return result;
}

static int write_device_activity(const struct event *event)
{
	static const char *const kinds[] = { NULL, "scheduler", "statistics" };
	const struct iaprof_record_device_activity *activity = (const void *)event->record;
	csv_row_set_unsigned(event->row, EVENT_PID, activity->pid);
	event_set_device(event, activity->device);
	SET_CHOICE(event, EVENT_KIND, kinds, activity->kind);
	event_set_string(event, EVENT_TEXT, activity->label);
	csv_row_set_unsigned(event->row, EVENT_BEGIN, activity->begin);
	csv_row_set_unsigned(event->row, EVENT_DURATION, activity->busy);
	return event_end(event, "device-activity");
}

static int write_profile_stack(const struct event *event)
{
	const struct iaprof_record_profile_stack *stack = (const void *)event->record;
	csv_row_set_unsigned(event->row, EVENT_ID, stack->id);
	event_set_frames(event, EVENT_FUNCTIONS, iaprof_record_profile_stack_frame(stack, 0), stack->element_size,
			 stack->frame_count);
	return event_end(event, "profile-stack");
}

static int write_profile_value(const struct event *event)
{
	const struct iaprof_record_profile_value *value = (const void *)event->record;
	csv_row_set_unsigned(event->row, EVENT_ID, value->stack);
	csv_row_set_unsigned(event->row, EVENT_COUNT, value->count);
	csv_row_set_unsigned(event->row, EVENT_VALUE, value->value);
	event_set_value_type(event, value->value_type);
	return event_end(event, "profile-value");
}

static int write_call(const struct event *event)
{
	const struct iaprof_record_call *call = (const void *)event->record;
	event_set_string(event, EVENT_NAME, call->name);
	event_set_string(event, EVENT_PARENT, call->parent);
	event_set_known(event, EVENT_PID, call->pid);
	event_set_known(event, EVENT_TID, call->tid);
	event_set_string(event, EVENT_THREAD, iaprof_record_call_thread_name(call));
	csv_row_set_unsigned(event->row, EVENT_DEPTH, call->depth);
	event_set_stack(event, EVENT_STACK, call->user_stack);
	event_set_functions(event, EVENT_FUNCTIONS, call->user_stack);
	csv_row_set_unsigned(event->row, EVENT_BEGIN, call->first_time);
	csv_row_set_unsigned(event->row, EVENT_DURATION, call->duration);
	csv_row_set_unsigned(event->row, EVENT_COUNT, call->count);
	csv_row_set_signed(event->row, EVENT_RESULT, call->result);
	if (call->header.size >= sizeof *call && call->node) {
		csv_row_set_unsigned(event->row, EVENT_ID, call->node);
		csv_row_set_unsigned(event->row, EVENT_VALUE, call->self_duration);
		event_set_value_type(event, call->time_type);
	}
	return event_end(event, "call");
}

static int write_call_function(const struct event *event)
{
	static const char *const kinds[] = { CALL_KIND_NAMES };
	const struct iaprof_record_call_function *function = (const void *)event->record;
	csv_row_set_unsigned(event->row, EVENT_ID, function->id);
	SET_CHOICE(event, EVENT_KIND, kinds, function->kind);
	event_set_string(event, EVENT_NAME, function->name);
	event_set_string(event, EVENT_TEXT, function->family);
	return event_end(event, "call-function");
}

static int write_call_node(const struct event *event)
{
	const struct iaprof_record_call_node *node = (const void *)event->record;
	const struct iaprof_record_call_function *function =
		definitions_find(event->definitions, IAPROF_RECORD_CALL_FUNCTION, node->header.source, node->function);
	csv_row_set_unsigned(event->row, EVENT_ID, node->id);
	event_set_known(event, EVENT_PARENT, node->parent);
	if (function) {
		event_set_string(event, EVENT_NAME, function->name);
		event_set_string(event, EVENT_TEXT, function->family);
	}
	return event_end(event, "call-node");
}

/* Writes one row per non-empty bucket. */
static int write_histogram(const struct event *event)
{
	const struct iaprof_record_histogram *histogram = (const void *)event->record;
	const uint64_t *buckets = iaprof_record_histogram_buckets(histogram);
	int result = 0;
	for (uint32_t i = 0; i < histogram->bucket_count && result == 0; i++) {
		if (!buckets[i])
			continue;
		event_set_string(event, EVENT_NAME, histogram->name);
		csv_row_set_unsigned(event->row, EVENT_BEGIN, histogram->begin);
		csv_row_set_unsigned(event->row, EVENT_COUNT, buckets[i]);
		csv_row_set_unsigned(event->row, EVENT_VALUE, i ? UINT64_C(1) << i : 0);
		event_set_string(event, EVENT_UNIT, histogram->unit);
		result = event_end(event, "histogram");
	}
	return result;
}

/* Sets the kernel that a job executes, and the value type of its time. */
static void set_execution(const struct event *event, const struct iaprof_record_job *job)
{
	const struct iaprof_record_kernel *kernel =
		definitions_find(event->definitions, IAPROF_RECORD_KERNEL, job->header.source, job->kernel);
	const struct iaprof_record_code_function *function =
		kernel ? definitions_find_function(event->definitions, job->header.source, kernel->code_object,
						   kernel->name)
		       : NULL;
	if (kernel)
		event_set_string(event, EVENT_TEXT, function ? function->shown_name : kernel->name);
	event_set_value_type(event, job->time_type);
}

static int write_job(const struct event *event)
{
	static const char *const kinds[] = { JOB_STATE_NAMES };
	const struct iaprof_record_job *job = (const void *)event->record;
	csv_row_set_unsigned(event->row, EVENT_ID, job->id);
	csv_row_set_unsigned(event->row, EVENT_PARENT, job->context);
	event_set_known(event, EVENT_PID, job->pid);
	event_set_known(event, EVENT_TID, job->tid);
	event_set_string(event, EVENT_THREAD, iaprof_record_job_thread_name(job));
	event_set_device(event, job->device);
	SET_CHOICE(event, EVENT_KIND, kinds, job->state);
	event_set_string(event, EVENT_NAME, job->engine);
	event_set_known(event, EVENT_BEGIN, job->submitted);
	if (job->submitted && job->header.time >= job->submitted)
		csv_row_set_unsigned(event->row, EVENT_DURATION, job->header.time - job->submitted);
	if (job->started && job->header.time >= job->started) {
		csv_row_set_unsigned(event->row, EVENT_VALUE, job->header.time - job->started);
		csv_row_set_name(event->row, EVENT_UNIT, "nanoseconds");
	}
	if (iaprof_record_job_has_kernel(job))
		set_execution(event, job);
	csv_row_set_unsigned(event->row, EVENT_RESULT, job->status);
	return event_end(event, "job");
}

static int write_counter(const struct event *event)
{
	static const char *const kinds[] = { COUNTER_KIND_NAMES };
	const struct iaprof_record_counter *counter = (const void *)event->record;
	csv_row_set_unsigned(event->row, EVENT_ID, counter->id);
	event_set_string(event, EVENT_NAME, counter->name);
	event_set_string(event, EVENT_UNIT, counter->unit);
	SET_CHOICE(event, EVENT_KIND, kinds, counter->kind);
	event_set_device(event, counter->device);
	event_set_known(event, EVENT_PID, counter->header.size >= sizeof *counter ? counter->pid : 0);
	return event_end(event, "counter");
}

static int write_counter_value(const struct event *event)
{
	const struct iaprof_record_counter_value *value = (const void *)event->record;
	const struct iaprof_record_counter *counter =
		definitions_find(event->definitions, IAPROF_RECORD_COUNTER, value->header.source, value->counter);
	csv_row_set_unsigned(event->row, EVENT_ID, value->counter);
	if (counter) {
		event_set_string(event, EVENT_NAME, counter->name);
		event_set_string(event, EVENT_UNIT, counter->unit);
		event_set_device(event, counter->device);
		event_set_known(event, EVENT_PID, counter->header.size >= sizeof *counter ? counter->pid : 0);
	}
	csv_row_set_double(event->row, EVENT_VALUE, value->value);
	return event_end(event, "counter-value");
}

static int write_finding(const struct event *event)
{
	static const char *const kinds[] = { FINDING_SEVERITY_NAMES };
	const struct iaprof_record_finding *finding = (const void *)event->record;
	SET_CHOICE(event, EVENT_KIND, kinds, finding->severity);
	event_set_string(event, EVENT_NAME, finding->name);
	event_set_string(event, EVENT_TEXT, finding->text);
	event_set_known(event, EVENT_PID, finding->pid);
	csv_row_set_double(event->row, EVENT_VALUE, finding->value);
	csv_row_set_double(event->row, EVENT_THRESHOLD, finding->threshold);
	return event_end(event, "finding");
}

static int write_lost(const struct event *event)
{
	const struct iaprof_record_lost *lost = (const void *)event->record;
	event_set_string(event, EVENT_NAME, lost->reason);
	csv_row_set_unsigned(event->row, EVENT_BEGIN, lost->begin);
	if (lost->count == IAPROF_COUNT_UNKNOWN)
		csv_row_set_name(event->row, EVENT_TEXT, "count not known");
	else
		csv_row_set_unsigned(event->row, EVENT_COUNT, lost->count);
	event_set_known(event, EVENT_VALUE, lost->value);
	event_set_value_type(event, lost->value_type);
	return event_end(event, "lost");
}

/* Writes one row per frame. */
static int write_frames(const struct event *event)
{
	static const char *const kinds[] = { NULL,
					     "process",
					     "user",
					     "linux-kernel",
					     "jit",
					     "separator",
					     "device-source",
					     "device-function",
					     "device-instruction",
					     "stall-reason",
					     "device-offset",
					     "call",
					     "lost" };
	static const char *const flags[] = { "inlined", "unknown", "producer" };
	const struct iaprof_record_frames *frames = (const void *)event->record;
	int result = 0;
	for (uint32_t i = 0; i < frames->frame_count && result == 0; i++) {
		const struct iaprof_record_frame *frame = iaprof_record_frames_frame(frames, i);
		event_set_known(event, EVENT_ID, frames->mapping);
		event_set_known(event, EVENT_PARENT, frames->process);
		SET_CHOICE(event, EVENT_KIND, kinds, frame->kind);
		event_set_string(event, EVENT_NAME, frame->name);
		csv_row_set_unsigned(event->row, EVENT_DEPTH, i);
		SET_FLAGS(event, flags, frame->flags);
		csv_row_set_hexadecimal(event->row, EVENT_ADDRESS, frames->address);
		csv_row_set_unsigned(event->row, EVENT_OFFSET, frame->offset);
		event_set_string(event, EVENT_MODULE, frame->module);
		csv_row_set_hexadecimal(event->row, EVENT_MODULE_ADDRESS, frame->address);
		event_set_string(event, EVENT_FILE, frame->file);
		event_set_known(event, EVENT_LINE, frame->line);
		result = event_end(event, "frames");
	}
	return result;
}

/* Writes a record with only an ID and a name, or a key and its text. */
static int write_named(const struct event *event, const char *record, uint32_t id, uint32_t name)
{
	csv_row_set_unsigned(event->row, EVENT_ID, id);
	event_set_string(event, EVENT_NAME, name);
	return event_end(event, record);
}

static int write_metadata(const struct event *event)
{
	const struct iaprof_record_metadata *metadata = (const void *)event->record;
	event_set_string(event, EVENT_NAME, metadata->key);
	event_set_string(event, EVENT_TEXT, metadata->value);
	return event_end(event, "metadata");
}

int event_write(const struct event *event)
{
	static int (*const writers[IAPROF_RECORD_TYPE_COUNT])(const struct event *) = {
		[IAPROF_RECORD_METADATA] = write_metadata,
		[IAPROF_RECORD_VALUE_TYPE] = write_value_type,
		[IAPROF_RECORD_PROCESS] = write_process,
		[IAPROF_RECORD_MAPPING] = write_mapping,
		[IAPROF_RECORD_MODULE] = write_module,
		[IAPROF_RECORD_SAMPLE] = write_sample,
		[IAPROF_RECORD_DEVICE] = write_device,
		[IAPROF_RECORD_CODE_OBJECT] = write_code_object,
		[IAPROF_RECORD_CODE_OBJECT_UNLOAD] = write_code_object_unload,
		[IAPROF_RECORD_KERNEL] = write_kernel,
		[IAPROF_RECORD_LAUNCH] = write_launch,
		[IAPROF_RECORD_STALL_SAMPLE] = write_stall_sample,
		[IAPROF_RECORD_CALL] = write_call,
		[IAPROF_RECORD_CALL_FUNCTION] = write_call_function,
		[IAPROF_RECORD_CALL_NODE] = write_call_node,
		[IAPROF_RECORD_HISTOGRAM] = write_histogram,
		[IAPROF_RECORD_JOB] = write_job,
		[IAPROF_RECORD_COUNTER] = write_counter,
		[IAPROF_RECORD_COUNTER_VALUE] = write_counter_value,
		[IAPROF_RECORD_FINDING] = write_finding,
		[IAPROF_RECORD_LOST] = write_lost,
		[IAPROF_RECORD_FRAMES] = write_frames,
		[IAPROF_RECORD_CODE_FUNCTION] = write_code_function,
		[IAPROF_RECORD_DEVICE_ACTIVITY] = write_device_activity,
		[IAPROF_RECORD_PROFILE_STACK] = write_profile_stack,
		[IAPROF_RECORD_PROFILE_VALUE] = write_profile_value,
	};
	const struct iaprof_record *record = event->record;
	if (record->type == IAPROF_RECORD_SOURCE) {
		const struct iaprof_record_source *source = (const void *)record;
		return write_named(event, "source", source->number, source->name);
	}
	if (record->type == IAPROF_RECORD_STALL_REASON) {
		static const char *const flags[] = { "waits" };
		const struct iaprof_record_stall_reason *reason = (const void *)record;
		if (record->size >= sizeof *reason)
			SET_FLAGS(event, flags, reason->flags);
		return write_named(event, "stall-reason", reason->id, reason->name);
	}
	return record->type < IAPROF_RECORD_TYPE_COUNT && writers[record->type] ? writers[record->type](event) : 0;
}
