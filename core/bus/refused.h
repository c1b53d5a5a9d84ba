/* SPDX-License-Identifier: Apache-2.0 */
/* What a queue without room refused, added up until it becomes LOST records. */
#ifndef IAPROF_CORE_BUS_REFUSED_H
#define IAPROF_CORE_BUS_REFUSED_H

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/record.h>

/* A source has one or two value types; samples of more than these are counted as records when they are refused. */
#define REFUSED_VALUE_TYPES_MAX 4

/* Initialise with {0}. */
struct refused {
	uint64_t begin;    /* CLOCK_MONOTONIC of the first, 0: nothing was refused */
	uint64_t launches; /* as counted by their sources */
	uint64_t records;  /* all others that are no samples */
	struct refused_samples {
		uint32_t value_type;
		uint64_t count, value;
	} samples[REFUSED_VALUE_TYPES_MAX]; /* count 0: not used */
};

/* Whether a record is of what happens many times; all others give these their meaning. */
bool refused_may_be(const struct iaprof_record *record);
/* Counts a record. */
void refused_add(struct refused *refused, const struct iaprof_record *record);

#endif
