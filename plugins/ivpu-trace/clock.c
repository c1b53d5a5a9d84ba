/* SPDX-License-Identifier: Apache-2.0 */
/* See clock.h. */
#include <stdio.h>
#include "clock.h"
#include "npu/call_graph.h"

#define DAY 86400000000000u
#define SECOND 1000000000u
/* Timestamps of a trace are limited to 146 years, so that adding a time of the machine does not overflow. */
#define TIME_MAX (UINT64_MAX >> 2)

/* By name, the shortest first, the longest last. */
static const struct {
	uint64_t nanoseconds;
	const char *names[4];
} known_units[TRACE_UNIT_COUNT] = {
	{ 1, { "ns", "nsecs", "nanoseconds" } },
	{ 1000, { "us", "usecs", "microseconds" } },
	{ 1000000, { "ms", "msecs", "milliseconds" } },
	{ SECOND, { "s", "sec", "secs", "seconds" } },
};

uint64_t trace_unit_at(uint32_t index)
{
	return index < TRACE_UNIT_COUNT ? known_units[index].nanoseconds : 0;
}

uint64_t trace_unit_find(struct text_span name)
{
	for (size_t i = 0; i < TRACE_UNIT_COUNT; i++)
		for (size_t k = 0; k < 4 && known_units[i].names[k]; k++)
			if (span_is(name, known_units[i].names[k]))
				return known_units[i].nanoseconds;
	return 0;
}

const char *trace_unit_name(uint64_t unit, bool is_long)
{
	for (size_t i = 0; i < TRACE_UNIT_COUNT; i++)
		if (known_units[i].nanoseconds == unit)
			return known_units[i].names[!is_long ? 0 : unit == SECOND ? 3 : 2];
	return "";
}

/*
 * Mean time, in seconds, between a function of the driver and one that it calls next, in a trace. Measured: 0.3 us
 * (function tracer) to 20 us (bpftrace); an emulated processor is ten times slower. The limits of two neighbouring
 * units overlap where both are possible.
 */
#define NESTED_MIN 200e-9
#define NESTED_MAX 500e-6
/* Minimum number of values for a comparison of their mean. */
#define NESTED_COUNT_MIN 16
/* A probe and its output take longer than this. */
#define LINE_MIN 100e-9
/* Times are since boot, and a trace fits into a file. */
#define UPTIME_MAX (20 * 365.25 * 86400)
#define LENGTH_MAX (30 * 86400.0)
/* Fewer lines of uniq -c in which a function is repeated can be an accident. */
#define COUNTS_MIN 8

void trace_units_add(struct trace_units *units, const struct trace_line *line, bool is_new)
{
	double time = (double)line->time;
	char name[TRACE_NAME_SIZE_MAX + 1];
	if (line->time_kind == TRACE_TIME_SECONDS) {
		units->is_decimal = true;
		time /= 1e9;
	}
	call_name_shorten(line->name, name, sizeof name);
	units->columns += line->is_column;
	units->wide += line->is_wide;
	units->lone += line->is_lone;
	units->sum += line->is_lone ? time : 0;
	units->repeated += !is_new;
	if (!units->lines++)
		units->first = units->last = time;
	else if (time < units->last)
		units->descents++;
	if (time >= units->last && call_graph_allows(call_graph_callers(name), units->before)) {
		units->nested++;
		units->nested_sum += time - units->last;
	}
	units->last = time > units->last ? time : units->last;
	memcpy(units->before, name, sizeof name);
}

/* Each function once, with a number: counts, if these are not in order. */
static bool is_table(const struct trace_units *units)
{
	return units->lines && units->lone == units->lines && !units->repeated && !units->is_decimal;
}

int trace_units_are_counts(const struct trace_units *units)
{
	/* Lines of several CPUs are out of order, too, but not each fourth one. */
	if (is_table(units) && units->lines >= COUNTS_MIN && 4 * units->descents >= units->lines)
		return 1;
	if (!units->columns || units->columns + units->wide < units->lines)
		return 0;
	if (units->repeated && !units->descents && units->lines >= COUNTS_MIN)
		return -1;
	return 1;
}

bool trace_unit_is_plausible(const struct trace_units *units, uint64_t unit)
{
	double seconds = (double)unit / 1e9, length = (units->last - units->first) * seconds;
	if (units->last * seconds > UPTIME_MAX || length > LENGTH_MAX)
		return false;
	if (units->lines >= NESTED_COUNT_MIN && length < LINE_MIN * (double)(units->lines - 1) &&
	    length + seconds < LINE_MIN * (double)(units->lines - 1))
		return false;
	if (units->nested < NESTED_COUNT_MIN)
		return true;
	double mean = units->nested_sum / (double)units->nested * seconds;
	/* Times are rounded down to a unit, so the true mean can exceed the limit where the measured one does not. */
	return mean <= NESTED_MAX && mean + seconds / (double)units->nested >= NESTED_MIN;
}

uint64_t trace_units_decide(const struct trace_units *units)
{
	uint64_t found = 0;
	/* A number with a decimal point is in seconds wherever the Linux kernel prints one. */
	if (units->is_decimal && trace_unit_is_plausible(units, SECOND))
		return SECOND;
	for (size_t i = 0; i < TRACE_UNIT_COUNT; i++) {
		if (!trace_unit_is_plausible(units, known_units[i].nanoseconds))
			continue;
		if (found)
			return 0;
		found = known_units[i].nanoseconds;
	}
	return found;
}

void trace_units_describe(const struct trace_units *units, char *text, size_t size)
{
	size_t length = 0;
	bool is_any = false;
	*text = '\0';
	for (size_t i = 0; i < TRACE_UNIT_COUNT; i++)
		is_any |= trace_unit_is_plausible(units, known_units[i].nanoseconds);
	for (size_t i = 0; i < TRACE_UNIT_COUNT && length < size; i++) {
		double seconds = (units->last - units->first) * (double)known_units[i].nanoseconds / 1e9;
		if (is_any && !trace_unit_is_plausible(units, known_units[i].nanoseconds))
			continue;
		length += (size_t)snprintf(text + length, size - length, "%sin %s, %llu calls in %.3g s",
					   length ? "; " : "", known_units[i].names[0],
					   (unsigned long long)units->lines, seconds);
	}
	if (is_table(units) && length < size)
		snprintf(text + length, size - length, "%sas counts of uniq -c, %.0f calls of %llu functions",
			 length ? "; " : "", units->sum, (unsigned long long)units->lines);
}

uint64_t trace_clock_advance(struct trace_clock *clock, const struct trace_line *line)
{
	uint64_t time = line->time;
	bool is_scaled = clock->unit && !line->is_unit_known;
	if (is_scaled && line->time_kind == TRACE_TIME_NANOSECONDS)
		time = __builtin_mul_overflow(time, clock->unit, &time) ? TIME_MAX : time;
	else if (is_scaled && line->time_kind == TRACE_TIME_SECONDS && clock->unit != SECOND)
		time = (uint64_t)((double)time / SECOND * (double)clock->unit);
	time = time < TIME_MAX ? time : TIME_MAX;
	if (line->time_kind != TRACE_TIME_NONE && !clock->has_time) {
		clock->has_time = true;
		clock->kind = line->time_kind;
		clock->first_time = clock->last_time = time;
	}
	if (line->time_kind != TRACE_TIME_NONE && line->time_kind == clock->kind) {
		if (line->time_kind == TRACE_TIME_OF_DAY) {
			time += clock->last_time / DAY * DAY;
			if (time + DAY / 2 < clock->last_time)
				time += DAY;
		}
		if (time > clock->last_time)
			clock->last_time = time;
	}
	/* Lines before the first timestamp, and those of a trace without any, have the time at which the run began. */
	uint64_t now = clock->begin + (clock->has_time ? clock->last_time - clock->first_time : 0);
	clock->now = now > clock->now ? now : clock->now;
	return clock->now;
}
