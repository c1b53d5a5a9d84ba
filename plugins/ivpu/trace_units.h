/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Determines the unit of timestamps that are plain numbers, from known facts: how far calls of the driver that call
 * each other are apart, how many calls a second can be traced, and how long a machine runs. Bounded memory; one thread.
 */
#pragma once

#include "trace_text.h"

#define TRACE_UNIT_COUNT 4u

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

const char *trace_unit_name(uint64_t unit);
