/* SPDX-License-Identifier: Apache-2.0 */
/* Records rejected by a full queue, summed until they are reported as LOST records. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/record.h>

/* A source has one or two value types; rejected samples of further value types are counted as records. */
#define REFUSED_VALUE_TYPES_MAX 4

/* Initialise with {0}. */
struct refused {
	uint64_t begin;    /* CLOCK_MONOTONIC of the first one; 0: nothing was rejected */
	uint64_t launches; /* as counted by their sources */
	uint64_t records;  /* all other records except samples */
	struct refused_samples {
		uint32_t value_type;
		uint64_t count, value;
	} samples[REFUSED_VALUE_TYPES_MAX]; /* count 0: not used */
};

/* Returns whether a record may be rejected: frequent events may, the records that they refer to may not. */
bool refused_may_be(const struct iaprof_record *record);
/* Counts a record. */
void refused_add(struct refused *refused, const struct iaprof_record *record);
