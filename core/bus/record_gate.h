/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which well-formed records of a source are accepted: not those of an unknown type, of the future, or of
 * counters that it has not declared. Rejected records are counted by reason. Not locked: bus_emit() holds the bus's
 * lock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/record.h>

#include "base/keyed_array.h"

/* Limit on declared counters, so that a source cannot exhaust memory; values of further ones are refused. */
#define GATE_COUNTERS_MAX 65536

enum gate_reason {
	GATE_UNKNOWN_TYPE,
	GATE_AHEAD,
	GATE_COUNTER_UNDECLARED,
	GATE_LATE, /* taken, but counted: its source had stated that it was past this time */
	GATE_REASON_COUNT
};

struct gate_counter {
	uint32_t key; /* id */
};

/* Initialise with {0}. */
struct record_gate {
	KEYED_ARRAY(struct gate_counter) counters;
	uint64_t progress; /* time of the newest PROGRESS record */
	uint64_t begin;    /* CLOCK_MONOTONIC of the first one that was counted; 0: none */
	uint64_t counts[GATE_REASON_COUNT];
};

void record_gate_free(struct record_gate *gate);
/* Returns the reason as LOST records state it. */
const char *gate_reason_text(enum gate_reason reason);
/* Returns whether a record is taken. now: CLOCK_MONOTONIC. */
bool record_gate_takes(struct record_gate *gate, const struct iaprof_record *record, uint64_t now);
