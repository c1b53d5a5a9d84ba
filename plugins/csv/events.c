/* SPDX-License-Identifier: Apache-2.0 */
/* rows=events: see events.h. */
#include "events.h"

#include <inttypes.h>

enum event_column {
	TIME,
	SOURCE,
	RECORD,
	ID,
	PARENT,
	PID,
	TID,
	CPU,
	DEVICE,
	KIND,
	NAME,
	TEXT,
	STACK,
	KERNEL_STACK,
	BEGIN,
	DURATION,
	COUNT,
	VALUE,
	VALUE_TYPE,
	UNIT,
	THRESHOLD,
	RESULT,
	DEPTH,
	FLAGS,
	ADDRESS,
	SIZE,
	OFFSET,
	MODULE,
	MODULE_ADDRESS,
	FILE_NAME,
	LINE,
	MACHINE,
	BUILD_ID,
	INODE,
	GENERATION,
	COLUMN_COUNT
};
_Static_assert(COLUMN_COUNT <= CSV_COLUMN_MAX, "a row has room for every column");

const char *const event_columns[] = {
	[TIME] = "time",
	[SOURCE] = "source",
	[RECORD] = "record",
	[ID] = "id",
	[PARENT] = "parent",
	[PID] = "pid",
	[TID] = "tid",
	[CPU] = "cpu",
	[DEVICE] = "device",
	[KIND] = "kind",
	[NAME] = "name",
	[TEXT] = "text",
	[STACK] = "stack",
	[KERNEL_STACK] = "kernel_stack",
	[BEGIN] = "begin",
	[DURATION] = "duration",
	[COUNT] = "count",
	[VALUE] = "value",
	[VALUE_TYPE] = "value_type",
	[UNIT] = "unit",
	[THRESHOLD] = "threshold",
	[RESULT] = "result",
	[DEPTH] = "depth",
	[FLAGS] = "flags",
	[ADDRESS] = "address",
	[SIZE] = "size",
	[OFFSET] = "offset",
	[MODULE] = "module",
	[MODULE_ADDRESS] = "module_address",
	[FILE_NAME] = "file",
	[LINE] = "line",
	[MACHINE] = "machine",
	[BUILD_ID] = "build_id",
	[INODE] = "inode",
	[GENERATION] = "generation",
};
const size_t event_column_count = COLUMN_COUNT;

/* One row that is being made, and what it is made from. */
struct event {
	const struct iaprof_record *record;
	const struct definitions *definitions;
	struct csv_row *row;
	const struct iaprof_host *host;
	struct iaprof_output *output;
};

static void set_string(const struct event *event, enum event_column column, uint32_t id)
{
	csv_row_set_name(event->row, column, definitions_text(event->definitions, id));
}

/* A number that is 0 when it is not known. */
static void set_known(const struct event *event, enum event_column column, uint64_t value)
{
	if (value)
		csv_row_set_unsigned(event->row, column, value);
}

/* The name of a number, or the number when it has none here. */
static void set_choice(const struct event *event, enum event_column column, const char *const *names, size_t count,
		       uint32_t value)
{
	if (value < count && names[value])
		csv_row_set_name(event->row, column, names[value]);
	else
		csv_row_set_unsigned(event->row, column, value);
}
#define SET_CHOICE(event, column, names, value) set_choice(event, column, names, sizeof(names) / sizeof *(names), value)

/* The names of the bits that are set, "a|b". */
static void set_flags(const struct event *event, const char *const *names, size_t count, uint32_t flags)
{
	struct text *text = csv_row_begin_text(event->row, FLAGS);
	const char *between = "";
	for (uint32_t bit = 0; bit < 32; bit++) {
		if (!(flags & 1u << bit))
			continue;
		text_append_string(text, between);
		if (bit < count)
			text_append_string(text, names[bit]);
		else
			text_append_format(text, "bit %" PRIu32, bit);
		between = "|";
	}
	csv_row_end_text(event->row, FLAGS);
}
#define SET_FLAGS(event, names, flags) set_flags(event, names, sizeof(names) / sizeof *(names), flags)

/* Addresses, the root first, as stacks are everywhere in text. */
static void set_stack(const struct event *event, enum event_column column, uint32_t id)
{
	if (!id)
		return;
	const struct iaprof_record_stack *stack = definitions_find(event->definitions, IAPROF_RECORD_STACK, 0, id);
	struct text *text = csv_row_begin_text(event->row, column);
	if (!stack)
		text_append_string(text, "[unknown]");
	for (uint32_t i = stack ? stack->count : 0; i-- > 0;)
		text_append_format(text, "0x%" PRIx64 "%s", iaprof_record_stack_addresses(stack)[i], i ? ";" : "");
	csv_row_end_text(event->row, column);
}

static void set_value_type(const struct event *event, uint32_t id)
{
	const struct iaprof_record_value_type *type =
		id ? definitions_find(event->definitions, IAPROF_RECORD_VALUE_TYPE, 0, id) : NULL;
	if (!type)
		return;
	set_string(event, VALUE_TYPE, type->name);
	set_string(event, UNIT, type->unit);
}

static void set_device(const struct event *event, uint32_t id)
{
	const struct iaprof_record_device *device =
		definitions_find(event->definitions, IAPROF_RECORD_DEVICE, event->record->source, id);
	if (device)
		set_string(event, DEVICE, device->name);
	else
		set_known(event, DEVICE, id);
}

/* Writes the row, with the columns that every record has. */
static int event_end(const struct event *event, const char *record)
{
	const struct iaprof_record_source *source =
		definitions_find(event->definitions, IAPROF_RECORD_SOURCE, 0, event->record->source);
	csv_row_set_unsigned(event->row, TIME, event->record->time);
	if (source)
		set_string(event, SOURCE, source->name);
	else if (event->record->source)
		csv_row_set_unsigned(event->row, SOURCE, event->record->source);
	else
		csv_row_set_name(event->row, SOURCE, "iaprof"); /* the core */
	csv_row_set_name(event->row, RECORD, record);
	return csv_row_write(event->row, event->host, event->output);
}

static int write_value_type(const struct event *event)
{
	const struct iaprof_record_value_type *type = (const void *)event->record;
	csv_row_set_unsigned(event->row, ID, type->id);
	set_string(event, NAME, type->name);
	set_string(event, UNIT, type->unit);
	set_known(event, VALUE, type->period);
	return event_end(event, "value-type");
}

static int write_process(const struct event *event)
{
	static const char *const kinds[] = { NULL, "existing", "fork", "exec", "name", "exit" };
	const struct iaprof_record_process *process = (const void *)event->record;
	csv_row_set_unsigned(event->row, PID, process->pid);
	set_known(event, PARENT, process->parent_pid);
	SET_CHOICE(event, KIND, kinds, process->event);
	set_string(event, NAME, process->name);
	return event_end(event, "process");
}

static int write_mapping(const struct event *event)
{
	static const char *const flags[] = { "deleted", "existing" };
	const struct iaprof_record_mapping *mapping = (const void *)event->record;
	csv_row_set_unsigned(event->row, PID, mapping->pid);
	set_string(event, NAME, mapping->path);
	csv_row_set_hexadecimal(event->row, ADDRESS, mapping->start);
	csv_row_set_unsigned(event->row, SIZE, mapping->size);
	csv_row_set_unsigned(event->row, OFFSET, mapping->file_offset);
	if (mapping->inode) {
		struct text *text = csv_row_begin_text(event->row, DEVICE);
		text_append_format(text, "%" PRIu32 ":%" PRIu32, mapping->device_major, mapping->device_minor);
		csv_row_end_text(event->row, DEVICE);
		csv_row_set_unsigned(event->row, INODE, mapping->inode);
	}
	set_known(event, GENERATION, mapping->inode_generation);
	SET_FLAGS(event, flags, mapping->flags);
	csv_row_set_bytes(event->row, BUILD_ID, mapping->build_id, mapping->build_id_size);
	return event_end(event, "mapping");
}

static int write_sample(const struct event *event)
{
	static const char *const flags[] = { "user-stack-missing", "kernel-stack-missing", "truncated" };
	const struct iaprof_record_sample *sample = (const void *)event->record;
	csv_row_set_unsigned(event->row, PID, sample->pid);
	set_known(event, TID, sample->tid);
	if (sample->cpu != UINT32_MAX)
		csv_row_set_unsigned(event->row, CPU, sample->cpu);
	set_string(event, NAME, sample->name);
	set_stack(event, STACK, sample->user_stack);
	set_stack(event, KERNEL_STACK, sample->kernel_stack);
	set_value_type(event, sample->value_type);
	csv_row_set_unsigned(event->row, BEGIN, sample->first_time);
	csv_row_set_unsigned(event->row, COUNT, sample->count);
	csv_row_set_unsigned(event->row, VALUE, sample->value);
	SET_FLAGS(event, flags, sample->flags);
	return event_end(event, "sample");
}

static int write_device(const struct event *event)
{
	const struct iaprof_record_device *device = (const void *)event->record;
	csv_row_set_unsigned(event->row, ID, device->id);
	set_string(event, NAME, device->name);
	set_string(event, TEXT, device->address);
	set_known(event, MACHINE, device->machine);
	return event_end(event, "device");
}

static int write_code_object(const struct event *event)
{
	const struct iaprof_record_code_object *object = (const void *)event->record;
	csv_row_set_unsigned(event->row, ID, object->id);
	csv_row_set_unsigned(event->row, PID, object->pid);
	set_device(event, object->device);
	csv_row_set_unsigned(event->row, MACHINE, object->machine);
	csv_row_set_hexadecimal(event->row, ADDRESS, object->address);
	set_known(event, SIZE, object->size);
	csv_row_set_hexadecimal(event->row, OFFSET, object->instruction_base);
	set_string(event, NAME, object->path);
	csv_row_set_bytes(event->row, BUILD_ID, object->build_id, object->build_id_size);
	return event_end(event, "code-object");
}

static int write_code_object_unload(const struct event *event)
{
	const struct iaprof_record_code_object_unload *unload = (const void *)event->record;
	csv_row_set_unsigned(event->row, ID, unload->id);
	csv_row_set_unsigned(event->row, PID, unload->pid);
	return event_end(event, "code-object-unload");
}

static int write_kernel(const struct event *event)
{
	const struct iaprof_record_kernel *kernel = (const void *)event->record;
	csv_row_set_unsigned(event->row, ID, kernel->id);
	set_known(event, PARENT, kernel->code_object);
	csv_row_set_unsigned(event->row, PID, kernel->pid);
	set_string(event, NAME, kernel->name);
	csv_row_set_hexadecimal(event->row, ADDRESS, kernel->address);
	set_known(event, SIZE, kernel->size);
	return event_end(event, "kernel");
}

static int write_launch(const struct event *event)
{
	const struct iaprof_record_launch *launch = (const void *)event->record;
	const struct iaprof_record_kernel *kernel =
		definitions_find(event->definitions, IAPROF_RECORD_KERNEL, launch->header.source, launch->kernel);
	csv_row_set_unsigned(event->row, ID, launch->kernel);
	csv_row_set_unsigned(event->row, PID, launch->pid);
	set_known(event, TID, launch->tid);
	set_device(event, launch->device);
	if (kernel)
		set_string(event, NAME, kernel->name);
	set_stack(event, STACK, launch->user_stack);
	set_stack(event, KERNEL_STACK, launch->kernel_stack);
	csv_row_set_unsigned(event->row, BEGIN, launch->first_time);
	csv_row_set_unsigned(event->row, COUNT, launch->count);
	return event_end(event, "launch");
}

/* A row for each reason that was counted; one without a reason when none was. */
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
		set_known(event, PID, sample->pid);
		set_device(event, sample->device);
		SET_CHOICE(event, KIND, kinds, sample->address_space);
		csv_row_set_hexadecimal(event->row, ADDRESS, sample->address);
		csv_row_set_unsigned(event->row, BEGIN, sample->begin);
		csv_row_set_unsigned(event->row, COUNT, is_reason ? counts[i] : 0);
		if (is_reason) {
			const struct iaprof_record_stall_reason *reason = definitions_find(
				event->definitions, IAPROF_RECORD_STALL_REASON, sample->header.source, i);
			csv_row_set_unsigned(event->row, ID, i);
			if (reason)
				set_string(event, NAME, reason->name);
		}
		result = event_end(event, "stall-sample");
	}
	return result;
}

static int write_call(const struct event *event)
{
	const struct iaprof_record_call *call = (const void *)event->record;
	set_string(event, NAME, call->name);
	set_string(event, PARENT, call->parent);
	set_known(event, PID, call->pid);
	set_known(event, TID, call->tid);
	csv_row_set_unsigned(event->row, DEPTH, call->depth);
	set_stack(event, STACK, call->user_stack);
	csv_row_set_unsigned(event->row, BEGIN, call->first_time);
	csv_row_set_unsigned(event->row, DURATION, call->duration);
	csv_row_set_unsigned(event->row, COUNT, call->count);
	csv_row_set_signed(event->row, RESULT, call->result);
	return event_end(event, "call");
}

static int write_counter(const struct event *event)
{
	static const char *const kinds[] = { NULL, "gauge", "cumulative" };
	const struct iaprof_record_counter *counter = (const void *)event->record;
	csv_row_set_unsigned(event->row, ID, counter->id);
	set_string(event, NAME, counter->name);
	set_string(event, UNIT, counter->unit);
	SET_CHOICE(event, KIND, kinds, counter->kind);
	set_device(event, counter->device);
	return event_end(event, "counter");
}

static int write_counter_value(const struct event *event)
{
	const struct iaprof_record_counter_value *value = (const void *)event->record;
	const struct iaprof_record_counter *counter =
		definitions_find(event->definitions, IAPROF_RECORD_COUNTER, value->header.source, value->counter);
	csv_row_set_unsigned(event->row, ID, value->counter);
	if (counter) {
		set_string(event, NAME, counter->name);
		set_string(event, UNIT, counter->unit);
		set_device(event, counter->device);
	}
	csv_row_set_double(event->row, VALUE, value->value);
	return event_end(event, "counter-value");
}

static int write_finding(const struct event *event)
{
	static const char *const kinds[] = { NULL, "note", "warning", "problem" };
	const struct iaprof_record_finding *finding = (const void *)event->record;
	SET_CHOICE(event, KIND, kinds, finding->severity);
	set_string(event, NAME, finding->name);
	set_string(event, TEXT, finding->text);
	set_known(event, PID, finding->pid);
	csv_row_set_double(event->row, VALUE, finding->value);
	csv_row_set_double(event->row, THRESHOLD, finding->threshold);
	return event_end(event, "finding");
}

static int write_lost(const struct event *event)
{
	const struct iaprof_record_lost *lost = (const void *)event->record;
	set_string(event, NAME, lost->reason);
	csv_row_set_unsigned(event->row, BEGIN, lost->begin);
	if (lost->count == IAPROF_COUNT_UNKNOWN)
		csv_row_set_name(event->row, TEXT, "count not known");
	else
		csv_row_set_unsigned(event->row, COUNT, lost->count);
	set_known(event, VALUE, lost->value);
	set_value_type(event, lost->value_type);
	return event_end(event, "lost");
}

/* A row for each frame. */
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
	static const char *const flags[] = { "inlined", "unknown" };
	const struct iaprof_record_frames *frames = (const void *)event->record;
	int result = 0;
	for (uint32_t i = 0; i < frames->frame_count && result == 0; i++) {
		const struct iaprof_record_frame *frame = &iaprof_record_frames_frames(frames)[i];
		set_known(event, ID, frames->mapping);
		set_known(event, PARENT, frames->process);
		SET_CHOICE(event, KIND, kinds, frame->kind);
		set_string(event, NAME, frame->name);
		csv_row_set_unsigned(event->row, DEPTH, i);
		SET_FLAGS(event, flags, frame->flags);
		csv_row_set_hexadecimal(event->row, ADDRESS, frames->address);
		csv_row_set_unsigned(event->row, OFFSET, frame->offset);
		set_string(event, MODULE, frame->module);
		csv_row_set_hexadecimal(event->row, MODULE_ADDRESS, frame->address);
		set_string(event, FILE_NAME, frame->file);
		set_known(event, LINE, frame->line);
		result = event_end(event, "frames");
	}
	return result;
}

/* A record that is only an id and a name, or a key and its text. */
static int write_named(const struct event *event, const char *record, uint32_t id, uint32_t name)
{
	csv_row_set_unsigned(event->row, ID, id);
	set_string(event, NAME, name);
	return event_end(event, record);
}

static int write_metadata(const struct event *event)
{
	const struct iaprof_record_metadata *metadata = (const void *)event->record;
	set_string(event, NAME, metadata->key);
	set_string(event, TEXT, metadata->value);
	return event_end(event, "metadata");
}

int event_write(const struct iaprof_record *record, struct definitions *definitions, struct csv_row *row,
		const struct iaprof_host *host, struct iaprof_output *output)
{
	static int (*const writers[IAPROF_RECORD_TYPE_COUNT])(const struct event *) = {
		[IAPROF_RECORD_METADATA] = write_metadata,
		[IAPROF_RECORD_VALUE_TYPE] = write_value_type,
		[IAPROF_RECORD_PROCESS] = write_process,
		[IAPROF_RECORD_MAPPING] = write_mapping,
		[IAPROF_RECORD_SAMPLE] = write_sample,
		[IAPROF_RECORD_DEVICE] = write_device,
		[IAPROF_RECORD_CODE_OBJECT] = write_code_object,
		[IAPROF_RECORD_CODE_OBJECT_UNLOAD] = write_code_object_unload,
		[IAPROF_RECORD_KERNEL] = write_kernel,
		[IAPROF_RECORD_LAUNCH] = write_launch,
		[IAPROF_RECORD_STALL_SAMPLE] = write_stall_sample,
		[IAPROF_RECORD_CALL] = write_call,
		[IAPROF_RECORD_COUNTER] = write_counter,
		[IAPROF_RECORD_COUNTER_VALUE] = write_counter_value,
		[IAPROF_RECORD_FINDING] = write_finding,
		[IAPROF_RECORD_LOST] = write_lost,
		[IAPROF_RECORD_FRAMES] = write_frames,
	};
	struct event event = { record, definitions, row, host, output };
	int result = definitions_take(definitions, record);
	if (result < 0)
		return host->fail(host, result, "not enough memory for the names of events");
	if (record->type == IAPROF_RECORD_SOURCE) {
		const struct iaprof_record_source *source = (const void *)record;
		return write_named(&event, "source", source->number, source->name);
	}
	if (record->type == IAPROF_RECORD_STALL_REASON) {
		const struct iaprof_record_stall_reason *reason = (const void *)record;
		return write_named(&event, "stall-reason", reason->id, reason->name);
	}
	return record->type < IAPROF_RECORD_TYPE_COUNT && writers[record->type] ? writers[record->type](&event) : 0;
}
