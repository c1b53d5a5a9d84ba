/* SPDX-License-Identifier: Apache-2.0 */
/* One row of rows=events: its columns, and what several types of record set in the same way. */
#ifndef IAPROF_PLUGINS_CSV_EVENT_ROW_H
#define IAPROF_PLUGINS_CSV_EVENT_ROW_H

#include "common/stack_text.h"
#include "csv_row.h"
#include "common/definitions.h"

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
	EVENT_COLUMN_COUNT
};

extern const char *const event_columns[EVENT_COLUMN_COUNT];

/* One row that is being made, and what it is made from. */
struct event {
	const struct iaprof_record *record;
	const struct definitions *definitions;
	struct csv_row *row;
	const struct iaprof_host *host;
	struct iaprof_output *output;
	const struct stack_text_options *text;
};

void event_set_string(const struct event *event, enum event_column column, uint32_t id);
/* A number that is 0 when it is not known: the field stays empty then. */
void event_set_known(const struct event *event, enum event_column column, uint64_t value);
/* The name of a number, or the number when it has none here. */
void event_set_choice(const struct event *event, enum event_column column, const char *const *names, size_t count,
		      uint32_t value);
#define SET_CHOICE(event, column, names, value)                                                                        \
	event_set_choice(event, column, names, sizeof(names) / sizeof *(names), value)
/* The names of the bits that are set, "a|b". */
void event_set_flags(const struct event *event, const char *const *names, size_t count, uint32_t flags);
#define SET_FLAGS(event, names, flags) event_set_flags(event, names, sizeof(names) / sizeof *(names), flags)
/* Addresses, the root first, as stacks are everywhere in text. */
void event_set_stack(const struct event *event, enum event_column column, uint32_t id);
/* The texts of frames, those that another sink asked for left out. */
void event_set_frames(const struct event *event, enum event_column column, const struct iaprof_record_frame *frames,
		      uint32_t count);
/* The functions of a stack, the root first, when they are known. */
void event_set_functions(const struct event *event, enum event_column column, uint32_t stack);
/* The name and unit of a value type. */
void event_set_value_type(const struct event *event, uint32_t id);
/* The name of a device, or its number when it has none. */
void event_set_device(const struct event *event, uint32_t id);

/* A function by its shown name, with its attributes, "simd_size=32;grf_count=128". */
void event_set_function(const struct event *event, const struct iaprof_record_code_function *function);

/* Writes the row, with the columns that every record has. 0, or a negative errno after host->fail(). */
int event_end(const struct event *event, const char *record);

#endif
