/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the lines of a text trace in any of its forms: bpftrace's lines, columns, maps and histograms, uniq -c,
 * ftrace, function_graph, trace-cmd report and perf script. iaprof-ivpu-trace(7) has a table of what each form
 * contains. Histograms are collected, other data is in the line. Bounded memory, no output: one thread.
 */
#pragma once

#include "ftrace.h"
#include "histograms.h"
#include "line.h"

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
	struct trace_histograms histograms;
	struct trace_tasks tasks;
	/* A key of a map that continues on the next lines, with a stack: "@calls[". */
	struct {
		bool is_open;
		char map[TRACE_NAME_SIZE_MAX + 1];
		char function[TRACE_NAME_SIZE_MAX + 1]; /* the innermost; empty: not read yet */
	} key;
};

/* text: one line without its newline. */
void trace_form_parse(struct trace_form *form, const char *text, size_t size, struct trace_line *line);
