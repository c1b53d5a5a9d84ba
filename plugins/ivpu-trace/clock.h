/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time of a trace: converts its timestamps to the machine's clock, and determines the unit of those that are plain
 * numbers from known facts: how far calls of the driver that call each other are apart, how many calls a second can be
 * traced, and how long a machine runs. Bounded memory; one thread.
 */
#pragma once

#include "line.h"

#define TRACE_UNIT_COUNT 4u

/* Returns the nanoseconds of a unit: 0 is "ns", 1 "us", 2 "ms", 3 "s"; 0 for other numbers. */
uint64_t trace_unit_at(uint32_t index);
/* Returns the nanoseconds of "ms" or "milliseconds", for example, or 0 if it is not a unit of time. */
uint64_t trace_unit_find(struct text_span name);
/* Returns "ms" or "milliseconds", for example, "" for 0. */
const char *trace_unit_name(uint64_t unit, bool is_long);

/* Initialise with {0} and begin. */
struct trace_clock {
	uint64_t begin; /* start of the run, which the trace's timestamps are relative to */
	uint64_t unit;  /* of times whose unit the text does not contain, ns; 0: not determined */
	bool has_time;  /* a line had a timestamp */
	enum trace_time kind;
	uint64_t first_time, last_time; /* time range of the trace, ns; days are added to times of day */
	uint64_t now;                   /* time of the last line, on the machine's clock */
};

/*
 * Returns the time of the next line on the machine's clock. Threads write slightly out of order: time never goes back.
 */
uint64_t trace_clock_advance(struct trace_clock *clock, const struct trace_line *line);

/* Initialise with {0}. */
struct trace_units {
	uint64_t lines, nested; /* with a time; of these, calls by the call before them */
	double first, last, nested_sum;
	bool is_decimal;
	uint64_t columns, wide;               /* lines that may be of uniq -c */
	uint64_t lone;                        /* lines with a number and a function only */
	double sum;                           /* of these numbers */
	uint64_t repeated, descents;          /* of functions and numbers */
	char before[TRACE_NAME_SIZE_MAX + 1]; /* the previous call, in the form of call_graph.h */
};

/* Adds a line whose unit is not known. is_new: its function was not in an earlier line. */
void trace_units_add(struct trace_units *units, const struct trace_line *line, bool is_new);

/* Returns whether the numbers are counts, as uniq -c writes them (1), times (0), or may be both (-1). */
int trace_units_are_counts(const struct trace_units *units);

/* Returns whether the times can be in a unit (ns). */
bool trace_unit_is_plausible(const struct trace_units *units, uint64_t unit);

/* Returns the unit in ns if exactly one is plausible, otherwise 0. */
uint64_t trace_units_decide(const struct trace_units *units);

/* Writes what the numbers mean in each plausible unit, "in ns, 12 calls in 3e-06 s; in us, ...", and as counts. */
void trace_units_describe(const struct trace_units *units, char *text, size_t size);
