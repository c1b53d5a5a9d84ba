/* SPDX-License-Identifier: Apache-2.0 */
/* A row of rows=events: its columns, and setters shared by record types. */
#pragma once

#include "stacks/stack_text.h"
#include "csv_row.h"
#include "records/definitions.h"

enum event_column {
	EVENT_TIME,
	EVENT_SOURCE,
	EVENT_RECORD,
	EVENT_ID,
	EVENT_PARENT,
	EVENT_PID,
	EVENT_TID,
	EVENT_CPU,
	EVENT_DEVICE,
	EVENT_KIND,
	EVENT_NAME,
	EVENT_TEXT,
	EVENT_STACK,
	EVENT_FUNCTIONS,
	EVENT_KERNEL_STACK,
	EVENT_BEGIN,
	EVENT_DURATION,
	EVENT_COUNT,
	EVENT_VALUE,
	EVENT_VALUE_TYPE,
	EVENT_UNIT,
	EVENT_THRESHOLD,
	EVENT_RESULT,
	EVENT_DEPTH,
	EVENT_FLAGS,
	EVENT_ADDRESS,
	EVENT_SIZE,
	EVENT_OFFSET,
	EVENT_MODULE,
	EVENT_MODULE_ADDRESS,
	EVENT_FILE,
	EVENT_LINE,
	EVENT_MACHINE,
	EVENT_BUILD_ID,
	EVENT_INODE,
	EVENT_GENERATION,
	EVENT_ATTRIBUTES,
	EVENT_THREAD,
	EVENT_TRACE_ID,
	EVENT_SPAN_ID,
	EVENT_COLUMN_COUNT
};

extern const char *const event_columns[EVENT_COLUMN_COUNT];

/* A row under construction and its input. */
struct event {
	const struct iaprof_record *record;
	const struct definitions *definitions;
	struct csv_row *row;
	const struct iaprof_host *host;
	struct iaprof_output *output;
	const struct stack_text_options *text;
};

void event_set_string(const struct event *event, enum event_column column, uint32_t id);
/* Sets a number; 0 means unknown and leaves the field empty. */
void event_set_known(const struct event *event, enum event_column column, uint64_t value);
#define SET_CHOICE(event, column, names, value)                                                                        \
	csv_row_set_choice((event)->row, column, names, sizeof(names) / sizeof *(names), value)
/* Sets the names of the set bits: "a|b". */
void event_set_flags(const struct event *event, const char *const *names, size_t count, uint32_t flags);
#define SET_FLAGS(event, names, flags) event_set_flags(event, names, sizeof(names) / sizeof *(names), flags)
/* Sets addresses, root first. */
void event_set_stack(const struct event *event, enum event_column column, uint32_t id);
/* Sets frame names, without frames that only another sink requested. */
void event_set_frames(const struct event *event, enum event_column column, const struct iaprof_record_frame *frames,
		      uint8_t element_size, uint32_t count);
/* Sets the functions of a stack, root first, if known. */
void event_set_functions(const struct event *event, enum event_column column, uint32_t stack);
/* Sets the name and unit of a value type. */
void event_set_value_type(const struct event *event, uint32_t id);
/* Sets the name of a device, or its number. */
void event_set_device(const struct event *event, uint32_t id);

/* Sets a function by its display name, with its attributes: "simd_size=32;grf_count=128". */
void event_set_function(const struct event *event, const struct iaprof_record_code_function *function);

/* Writes the row with the common columns. Returns 0, or a negative errno after host->fail(). */
int event_end(const struct event *event, const char *record);
