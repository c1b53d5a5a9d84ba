/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns the lines of a text trace into records. Calls are aggregated by node and process until they are emitted, so the
 * output does not depend on the length of the trace. Owned by one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include "base/keyed_array.h"
#include "base/string_table.h"
#include "npu/call_records.h"
#include "npu/statistics.h"
#include "clock.h"
#include "line.h"
#include "place.h"
#include "use.h"

/* Calls of one node and process that were not emitted yet. */
struct trace_sum {
	struct {
		uint32_t node, pid;
	} key;
	uint64_t count, first_time, last_time, duration, self_duration;
};

/* Emitted early if there are more. */
#define TRACE_SUMS_MAX 65536u

struct trace_calls {
	const struct iaprof_host *host;
	struct call_records records;
	struct ivpu_running running;
	struct trace_clock clock;
	bool each_call; /* emit calls individually */
	bool is_summed; /* the calls are from maps */
	struct ivpu_overview overview;
	uint64_t order_unknown;
	uint64_t other_map_lines;  /* from maps other than the first one with function names */
	uint64_t functions_differ; /* functions whose counts in map and lines differ */
	uint64_t other_functions;  /* calls of other parts of the Linux kernel, which are skipped */
	bool has_durations;
	uint64_t returns_expected; /* calls that are emitted one by one when they return */
	struct trace_use use;
	struct trace_places places;
	/* Private members. */
	struct string_table names;         /* of functions */
	struct trace_function **functions; /* by id of the name - 1 */
	char map[TRACE_NAME_SIZE_MAX + 1];
	bool has_map;
	KEYED_ARRAY(struct trace_sum) sums;
	uint32_t pids[TRACE_TASKS_MAX]; /* processes whose name was emitted, a hash table */
	bool after_handler;
};

/* Returns 0, or a negative errno after host->fail(). */
int trace_calls_init(struct trace_calls *calls, const struct iaprof_host *host, bool each_call);
void trace_calls_free(struct trace_calls *calls);

/* Returns whether a function was not in an earlier line. */
bool trace_calls_is_new(const struct trace_calls *calls, const char *function);

/*
 * Adds a line of kind CALL, COUNT, RETURN, OTHER, JOB, MESSAGE or POWER. Returns 0, or -ENOMEM after host->fail().
 */
int trace_calls_add(struct trace_calls *calls, const struct trace_line *line);

/* Emits what was aggregated since the last call. Returns 0 or a negative errno. */
int trace_calls_flush(struct trace_calls *calls);

/*
 * Ends the trace. If the trace has individual calls, the maps are compared with them and differences are reported;
 * otherwise, the maps are used as the calls. Emits everything.
 */
int trace_calls_finish(struct trace_calls *calls);
