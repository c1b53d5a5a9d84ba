/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses one line of ftrace (function, function_graph, events), trace-cmd report or perf script. Events are those of
 * vpu, gpu_scheduler and kprobes. Pure; what one line reveals about others is in struct trace_tasks.
 */
#pragma once

#include "line.h"

#define TRACE_CPUS_MAX 1024u
#define TRACE_CALLERS_MAX 32u

/* Initialise with {0}. */
struct trace_tasks {
	/* The task that function_graph has on each CPU since its last switch; pid 0: not known. */
	struct {
		uint32_t pid;
		char comm[TRACE_COMM_SIZE_MAX + 1];
	} cpus[TRACE_CPUS_MAX];
	/* The functions that trace-cmd report indents its next lines below. */
	char callers[TRACE_CALLERS_MAX][TRACE_NAME_SIZE_MAX + 1];
};

/* text: trimmed. Returns false if the line has another form. */
bool trace_task_parse(struct trace_tasks *tasks, struct text_span text, struct trace_line *line);
/* text: not trimmed. Returns false if the line is not of function_graph. */
bool trace_graph_parse(struct trace_tasks *tasks, struct text_span text, struct trace_line *line);
