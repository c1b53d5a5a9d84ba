/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order in which records reach the stages of a profile. Definitions, process and code events pass at once. What
 * depends on them waits until those of its time are complete; its time is that of its end. Each kind of wait is limited
 * to RECORD_STORE_SIZE_MAX bytes: beyond it, the older half passes early, and is counted. CPU samples wait under
 * compressed keys (waiting_samples.h), and device samples of unknown code in the correlator, until the code is
 * announced. Owned by the collector thread.
 */
#pragma once

#include "correlator/record_store.h"

enum record_wait {
	WAIT_NONE,
	WAIT_PROCESSES, /* for process events: a SYNC of this time */
	WAIT_DEVICES,   /* moreover for all sources of code and launches (PROGRESS), but no longer than hold */
	WAIT_COUNT
};

/* Limit on sources that are waited for. */
#define RECORD_ORDER_SOURCES_MAX 64

/* A source that announces code or launches. */
struct code_source {
	uint16_t number;
	bool advances;           /* it sends PROGRESS records; otherwise, the times of its counter values count */
	uint64_t complete_until; /* its records up to this time are complete */
};

/* Initialise with {0} and the first three. */
struct record_order {
	uint64_t hold; /* ns */
	void (*pass)(void *context, enum record_wait wait, const struct iaprof_record *record);
	void *context;
	ARRAY(struct code_source) sources;
	struct record_store stores[WAIT_COUNT];
	uint64_t early; /* records that passed early */
	uint64_t late;  /* code objects, kernels and launches that came after the PROGRESS record of their time */
};

void record_order_free(struct record_order *order);
/*
 * Notes how far a source has come: a PROGRESS record, a counter value, or another, which shows that it announces code
 * or launches.
 */
void record_order_note(struct record_order *order, const struct iaprof_record *record);
/* Adds a record that waits. */
void record_order_add(struct record_order *order, enum record_wait wait, const struct iaprof_record *record);
/* Passes the records that have waited, in order of arrival. time: of the SYNC; UINT64_MAX: end of the input. */
void record_order_release(struct record_order *order, enum record_wait wait, uint64_t time);
