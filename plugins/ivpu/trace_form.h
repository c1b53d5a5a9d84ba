/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the lines of a text trace in any of its forms: bpftrace's lines, columns, maps and histograms, uniq -c,
 * ftrace, function_graph, trace-cmd report and perf script. iaprof-ivpu(7) has a table of what each form contains.
 * Bounded memory, no output: one thread.
 */
#pragma once

#include "trace_task.h"
#include "trace_text.h"

enum trace_column {
	TRACE_COLUMN_SKIPPED,
	TRACE_COLUMN_TIME,
	TRACE_COLUMN_PID,
	TRACE_COLUMN_COMM,
	TRACE_COLUMN_FUNCTION
};
#define TRACE_COLUMNS_MAX 8u

/* Initialise with {0}. */
struct trace_form {
	/* The heading of the columns, such as "TIME(ms) PID COMM FUNCTION"; column_count is 0 if there is none. */
	enum trace_column columns[TRACE_COLUMNS_MAX];
	uint32_t column_count;
	uint64_t unit; /* ns, from the heading; 0: none */
	/* The histogram whose buckets follow. Its unit is from its name or the line before it, "" if unknown. */
	char histogram[TRACE_NAME_SIZE_MAX + 1];
	const char *histogram_unit, *title_unit;
	uint64_t histogram_prints; /* histograms so far */
	struct trace_tasks tasks;
};

/* text: one line without its newline. */
void trace_form_parse(struct trace_form *form, const char *text, size_t size, struct trace_line *line);

/* Returns the nanoseconds of "ms", for example, or 0 if it is not a unit of time. */
uint64_t trace_unit_find(struct text_span name);
