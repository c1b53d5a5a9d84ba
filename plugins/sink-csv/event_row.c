/* SPDX-License-Identifier: Apache-2.0 */
/* One row of rows=events: see event_row.h. */
#include "event_row.h"

#include <inttypes.h>

_Static_assert(EVENT_COLUMN_COUNT <= CSV_COLUMN_MAX, "a row has room for every column");

const char *const event_columns[EVENT_COLUMN_COUNT] = {
	[EVENT_TIME] = "time",
	[EVENT_SOURCE] = "source",
	[EVENT_RECORD] = "record",
	[EVENT_ID] = "id",
	[EVENT_PARENT] = "parent",
	[EVENT_PID] = "pid",
	[EVENT_TID] = "tid",
	[EVENT_CPU] = "cpu",
	[EVENT_DEVICE] = "device",
	[EVENT_KIND] = "kind",
	[EVENT_NAME] = "name",
	[EVENT_TEXT] = "text",
	[EVENT_STACK] = "stack",
	[EVENT_FUNCTIONS] = "functions",
	[EVENT_KERNEL_STACK] = "kernel_stack",
	[EVENT_BEGIN] = "begin",
	[EVENT_DURATION] = "duration",
	[EVENT_COUNT] = "count",
	[EVENT_VALUE] = "value",
	[EVENT_VALUE_TYPE] = "value_type",
	[EVENT_UNIT] = "unit",
	[EVENT_THRESHOLD] = "threshold",
	[EVENT_RESULT] = "result",
	[EVENT_DEPTH] = "depth",
	[EVENT_FLAGS] = "flags",
	[EVENT_ADDRESS] = "address",
	[EVENT_SIZE] = "size",
	[EVENT_OFFSET] = "offset",
	[EVENT_MODULE] = "module",
	[EVENT_MODULE_ADDRESS] = "module_address",
	[EVENT_FILE] = "file",
	[EVENT_LINE] = "line",
	[EVENT_MACHINE] = "machine",
	[EVENT_BUILD_ID] = "build_id",
	[EVENT_INODE] = "inode",
	[EVENT_GENERATION] = "generation",
	[EVENT_ATTRIBUTES] = "attributes",
	[EVENT_THREAD] = "thread",
	[EVENT_TRACE_ID] = "trace_id",
	[EVENT_SPAN_ID] = "span_id",
};

void event_set_string(const struct event *event, enum event_column column, uint32_t id)
{
	csv_row_set_name(event->row, column, definitions_text(event->definitions, id));
}

void event_set_known(const struct event *event, enum event_column column, uint64_t value)
{
	if (value)
		csv_row_set_unsigned(event->row, column, value);
}

void event_set_flags(const struct event *event, const char *const *names, size_t count, uint32_t flags)
{
	struct text *text = csv_row_begin_text(event->row, EVENT_FLAGS);
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
	csv_row_end_text(event->row, EVENT_FLAGS);
}

/* Appends an element of a stack: an address, or the name of a frame that has none. */
static void append_element(const struct event *event, struct text *text, uint64_t element)
{
	const struct iaprof_record_named_frame *named =
		element >> 32 == IAPROF_STACK_NAMED_FRAME >> 32
			? definitions_find(event->definitions, IAPROF_RECORD_NAMED_FRAME, 0, (uint32_t)element)
			: NULL;
	if (!named) {
		text_append_format(text, "0x%" PRIx64, element);
		return;
	}
	const struct iaprof_frame frame = { .name = definitions_text(event->definitions, named->name),
					    .file = named->file ? definitions_text(event->definitions, named->file)
								: NULL,
					    .line = named->line,
					    .kind = named->kind,
					    .flags = named->flags };
	stack_text_append_frame(text, &frame, event->text);
}

void event_set_stack(const struct event *event, enum event_column column, uint32_t id)
{
	if (!id)
		return;
	const struct iaprof_record_stack *stack = definitions_find(event->definitions, IAPROF_RECORD_STACK, 0, id);
	struct text *text = csv_row_begin_text(event->row, column);
	if (!stack)
		text_append_string(text, "[unknown]");
	for (uint32_t i = stack ? stack->count : 0; i-- > 0;) {
		append_element(event, text, iaprof_record_stack_addresses(stack)[i]);
		text_append_string(text, i ? ";" : "");
	}
	csv_row_end_text(event->row, column);
}

void event_set_frames(const struct event *event, enum event_column column, const struct iaprof_record_frame *frames,
		      uint8_t element_size, uint32_t count)
{
	struct text *text = csv_row_begin_text(event->row, column);
	const char *between = "";
	for (uint32_t i = 0; i < count; i++) {
		const struct iaprof_record_frame *recorded = iaprof_record_frame_at(frames, element_size, i);
		struct iaprof_frame frame = {
			.name = definitions_text(event->definitions, recorded->name),
			.module = recorded->module ? definitions_text(event->definitions, recorded->module) : NULL,
			.file = recorded->file ? definitions_text(event->definitions, recorded->file) : NULL,
			.line = recorded->line,
			.kind = recorded->kind,
			.flags = recorded->flags
		};
		if (stack_text_frame_is_hidden(&frame, event->text))
			continue;
		text_append_string(text, between);
		stack_text_append_frame(text, &frame, event->text);
		between = ";";
	}
	csv_row_end_text(event->row, column);
}

void event_set_functions(const struct event *event, enum event_column column, uint32_t stack)
{
	const struct iaprof_record_stack_frames *found =
		stack ? definitions_find(event->definitions, IAPROF_RECORD_STACK_FRAMES, 0, stack) : NULL;
	if (found)
		event_set_frames(event, column, iaprof_record_stack_frames_frame(found, 0), found->element_size,
				 found->frame_count);
}

void event_set_value_type(const struct event *event, uint32_t id)
{
	const struct iaprof_record_value_type *type =
		id ? definitions_find(event->definitions, IAPROF_RECORD_VALUE_TYPE, 0, id) : NULL;
	if (!type)
		return;
	event_set_string(event, EVENT_VALUE_TYPE, type->name);
	event_set_string(event, EVENT_UNIT, type->unit);
}

void event_set_device(const struct event *event, uint32_t id)
{
	const struct iaprof_record_device *device =
		definitions_find(event->definitions, IAPROF_RECORD_DEVICE, event->record->source, id);
	if (device)
		event_set_string(event, EVENT_DEVICE, device->name);
	else
		event_set_known(event, EVENT_DEVICE, id);
}

void event_set_function(const struct event *event, const struct iaprof_record_code_function *function)
{
	event_set_string(event, EVENT_NAME, function->shown_name);
	if (!function->attribute_count)
		return;
	const struct iaprof_attribute *attributes = iaprof_record_code_function_attributes(function);
	struct text *text = csv_row_begin_text(event->row, EVENT_ATTRIBUTES);
	for (uint32_t i = 0; i < function->attribute_count; i++) {
		text_append_string(text, definitions_text(event->definitions, attributes[i].name));
		text_append_format(text, "=%" PRId64 "%s", attributes[i].value,
				   i + 1 < function->attribute_count ? ";" : "");
	}
	csv_row_end_text(event->row, EVENT_ATTRIBUTES);
}

int event_end(const struct event *event, const char *record)
{
	const struct iaprof_record_source *source =
		definitions_find(event->definitions, IAPROF_RECORD_SOURCE, 0, event->record->source);
	csv_row_set_unsigned(event->row, EVENT_TIME, event->record->time);
	if (source)
		event_set_string(event, EVENT_SOURCE, source->name);
	else if (event->record->source)
		csv_row_set_unsigned(event->row, EVENT_SOURCE, event->record->source);
	else
		csv_row_set_name(event->row, EVENT_SOURCE, "iaprof"); /* source 0: the core */
	csv_row_set_name(event->row, EVENT_RECORD, record);
	return csv_row_write(event->row, event->host, event->output);
}
