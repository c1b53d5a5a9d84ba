/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces the NPU driver's functions live: calls by process and call path, with their durations, and the NPU's counters.
 * Each function below implements one of the plugin's callbacks and runs on its thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/host.h>
#include "bpf/python_stacks.h"
#include "findings.h"
#include "function_links.h"

struct live;

/* The text and the limits are borrowed. */
struct live_options {
	const char *functions; /* name patterns, separated by commas */
	enum attach_method attach;
	bool hot;          /* include functions called for each page */
	bool api;          /* include Level Zero functions */
	bool stacks;       /* record the stacks of Level Zero calls */
	bool only_entries; /* count calls alone, without times and nesting */
	enum python_choice python;
	uint32_t ring_size; /* bytes of the ring buffer for individual calls; 0: calls are aggregated in the Linux
			       kernel */
	const struct ivpu_limits *limits;
};

/* Checks the requirements. These return 0 or a negative errno after host->fail(). */
int live_probe(const struct iaprof_host *host, const struct live_options *options);
/* Sets *live, to be freed with live_free() in either case. */
int live_prepare(struct live **live, const struct iaprof_host *host, const struct live_options *options);
int live_start(struct live *live);
/* The plugin's thread: emits calls at least every drain_period ns, until *stopping (iaprof/plugin.h). */
int live_run(struct live *live, uint64_t drain_period, const volatile int *stopping);
/* After live_prepare(): on_question calls live_ask_unwinding(), on_answer live_take_unwinding(). */
int live_watch_unwinding(struct live *live, iaprof_fd_callback *on_question, iaprof_unwind_callback *on_answer);
void live_ask_unwinding(struct live *live);
int live_take_unwinding(struct live *live, const struct iaprof_unwind_table *table,
			const struct iaprof_unwind_process *process);
/* For host->watch_mapped_files(). */
void live_file_mapped(struct live *live, const struct iaprof_mapped_file *file);
int live_stop(struct live *live);
int live_finish(struct live *live);
void live_free(struct live *live); /* accepts NULL */

/* For --check. */
void live_check(const struct iaprof_host *host, const char *functions);
