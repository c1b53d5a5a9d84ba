/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which well-formed records of a source are accepted: not those of an unknown type, of the future, measured
 * before the source was started, or of counters that it has not declared. Rejected records are counted by reason. Not
 * locked: bus_emit() holds the bus's lock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/record.h>

#include "base/keyed_array.h"

/* Limit on declared counters, so that a source cannot exhaust memory; values of further ones are refused. */
#define GATE_COUNTERS_MAX 65536
/* The same for devices, as many as the correlator knows; records of a source with more are not checked. */
#define GATE_DEVICES_MAX 1024

enum gate_reason {
	GATE_UNKNOWN_TYPE,
	GATE_AHEAD,
	GATE_BEFORE_START,
	GATE_COUNTER_UNDECLARED,
	/* Taken, but counted: */
	GATE_LATE,              /* its source had stated that it was past this time */
	GATE_DEVICE_UNDECLARED, /* its device was not declared before */
	GATE_REASON_COUNT
};

struct gate_id {
	uint32_t key;
};

/* Initialise with {0}. */
struct record_gate {
	KEYED_ARRAY(struct gate_id) counters;
	KEYED_ARRAY(struct gate_id) devices;
	uint64_t low_devices; /* bit i: device i was declared */
	uint64_t earliest;    /* as record_gate_start() sets it; 0: any time */
	uint64_t progress;    /* time of the newest PROGRESS record */
	uint64_t begin;       /* CLOCK_MONOTONIC of the first one that was counted; 0: none */
	uint64_t counts[GATE_REASON_COUNT];
};

void record_gate_free(struct record_gate *gate);
/* Refuses what was measured more than IAPROF_TIME_AHEAD_MAX before now, when the source is started. */
void record_gate_start(struct record_gate *gate, uint64_t now);
/*
 * Returns whether a record measures something that ended before earliest. Code, launches and process records may be
 * older than the run: they describe what existed when it began.
 */
bool record_is_before(const struct iaprof_record *record, uint64_t earliest);
/* Returns the reason as LOST records state it. */
const char *gate_reason_text(enum gate_reason reason);
/* Returns whether a record is taken. now: CLOCK_MONOTONIC. */
bool record_gate_takes(struct record_gate *gate, const struct iaprof_record *record, uint64_t now);
