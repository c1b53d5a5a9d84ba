/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a text trace from a file, pipe or standard input line by line, in bounded memory, and emits calls, findings and
 * metadata.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "npu/findings.h"
#include "text/input_file.h"
#include "text/text_lines.h"
#include "calls.h"
#include "form.h"
#include "clock.h"

/*
 * Lines that wait until the unit of their times is known, and until they are in order: bpftrace writes those of one CPU
 * after those of another.
 */
#define TRACE_PENDING_MAX 4096u

struct trace_input {
	const struct iaprof_host *host;
	const struct ivpu_limits *limits;
	struct input_file file;
	struct trace_calls calls;
	struct text_lines lines;
	struct trace_form form;
	struct trace_units units;
	struct trace_line *pending; /* NULL if no line waits */
	uint32_t pending_count;
	bool is_disordered; /* of those that wait, one is earlier than its predecessor */
	bool is_pipe;
	uint32_t settled; /* of a pipe: lines that have waited since the last flush */
	bool is_sorted;   /* times are numbers, so that lines wait to be sorted */
	bool is_decided;  /* the unit of times, and whether numbers are counts */
	bool are_counts;  /* numbers before functions are counts of uniq -c */
	uint64_t unit;    /* of times, set by the user, ns; 0: automatic */
	bool has_header;  /* bpftrace wrote it, even if it has no calls */
	struct text_refused refused;
	uint64_t lost;
	uint64_t flush_time;
	char device[TRACE_DEVICE_SIZE_MAX + 1]; /* of the last job with a device, and whether it is an NPU */
	bool is_npu;
};

/*
 * Opens the input. unit: of times whose unit the text does not state, ns; 0: automatic. each_call: emit calls
 * individually. path and limits are borrowed. Returns 0, or a negative errno after host->fail().
 */
int trace_input_open(struct trace_input *input, const struct iaprof_host *host, const char *path,
		     const struct ivpu_limits *limits, uint64_t unit, bool each_call);

/*
 * Reads until the end of the input, or until *stopping (iaprof/plugin.h). Returns 0, or a negative errno after
 * host->fail().
 */
int trace_input_run(struct trace_input *input, const volatile int *stopping);

void trace_input_close(struct trace_input *input);
