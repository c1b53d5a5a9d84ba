/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text trace from a file, a pipe or standard input: read in one go, line by line, in memory that does not grow with
 * it, and sent as calls, findings and facts about it.
 */
#ifndef IAPROF_PLUGINS_IVPU_TRACE_INPUT_H
#define IAPROF_PLUGINS_IVPU_TRACE_INPUT_H

#include <stdbool.h>
#include <stdint.h>
#include "findings.h"
#include "trace_calls.h"

struct trace_input {
	const struct iaprof_host *host;
	const char *path; /* "-": standard input */
	const struct ivpu_limits *limits;
	int descriptor; /* -1 none */
	struct trace_calls calls;
	char line[TRACE_LINE_SIZE_MAX + 1]; /* one byte more says that a line is too long */
	uint32_t line_size;
	uint64_t line_number;
	bool has_header; /* bpftrace wrote it, whatever it saw */
	uint64_t refused, first_refused, lost;
	char first_refused_text[81]; /* printable */
	const char *first_refused_why;
	uint64_t flush_time;
};

/* Opens it. each_call: calls are sent one by one. path and limits stay the caller's. 0, or a negative errno after
 * host->fail(). */
int trace_input_open(struct trace_input *input, const struct iaprof_host *host, const char *path,
		     const struct ivpu_limits *limits, bool each_call);

/* Reads until its end, or until *stopping (iaprof/plugin.h). 0, or a negative errno after host->fail(). */
int trace_input_run(struct trace_input *input, const volatile int *stopping);

void trace_input_close(struct trace_input *input);

#endif
