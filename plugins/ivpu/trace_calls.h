/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls of a text trace as records: gives each the place that the names prove. Text has no nesting and no threads,
 * so a call is put below the function entered last that the driver's source lets call it, what the driver does to boot
 * below "[boot]", and what has no such function below "[order not known]". Calls of one place are summed until they are
 * sent: however long the trace is, what is sent is as much as there are places. Belongs to one thread.
 */
#ifndef IAPROF_PLUGINS_IVPU_TRACE_CALLS_H
#define IAPROF_PLUGINS_IVPU_TRACE_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include "call_records.h"
#include "callers.h"
#include "tally.h"
#include "trace_text.h"

/* The deepest stack in the driver is some ten functions. */
#define TRACE_DEPTH_MAX 32u

struct trace_function;

struct trace_frame {
	const struct trace_function *function;
	uint32_t node;
	bool in_boot;
	bool is_over; /* it has ended, though nothing came that shows it by its place */
};

struct trace_lane {
	struct trace_frame frames[TRACE_DEPTH_MAX];
	uint32_t depth;
	uint64_t used; /* the number of the call that last came into it */
};

/* Calls of one node that were not sent yet. */
struct trace_sum {
	uint64_t count, first_time, last_time;
};

struct trace_calls {
	const struct iaprof_host *host;
	struct call_records records;
	struct ivpu_running running;
	uint64_t begin;               /* the run's: where the times of the trace are put */
	bool each_call;               /* calls of lines are sent one by one, not summed */
	bool is_summed;               /* the calls are from maps */
	uint64_t call_count, counted; /* calls of lines, and of maps */
	uint64_t headline_counts[IVPU_HEADLINE_COUNT];
	uint64_t boot_polls, order_unknown;
	uint64_t other_map_lines;  /* of maps other than the first one with names of functions */
	uint64_t functions_differ; /* whose count in the map is another one than in lines */
	/* its own */
	void *index; /* tree of struct trace_function, by name */
	struct trace_function **functions;
	uint32_t function_count;
	char map[TRACE_NAME_SIZE_MAX + 1];
	bool has_map;
	struct trace_lane lanes[CALL_LANE_COUNT];
	struct trace_sum *sums; /* by node */
	uint32_t *changed;      /* nodes with a sum */
	uint32_t changed_count;
	enum trace_time time_kind;
	uint64_t first_time, last_time; /* of the trace, ns; days are added to times of day */
	uint64_t now;                   /* of the last line, on the machine's clock */
	bool has_time, saw_interrupt;
};

/* 0, or a negative errno after host->fail(). */
int trace_calls_init(struct trace_calls *calls, const struct iaprof_host *host, bool each_call);
void trace_calls_free(struct trace_calls *calls);

/* A line of kind CALL or COUNT, and its number. 0, or -ENOMEM after host->fail(). */
int trace_calls_add(struct trace_calls *calls, const struct trace_line *line, uint64_t number);

/* Sends what was summed since the last time. 0, or a negative errno. */
int trace_calls_flush(struct trace_calls *calls);

/*
 * The trace is at its end. With calls in it, maps are held against them, and what differs is told; without, the maps
 * are the calls. Sends it all.
 */
int trace_calls_finish(struct trace_calls *calls);

#endif
