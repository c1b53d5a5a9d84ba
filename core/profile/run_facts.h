/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of a run as a whole: its sources, value types, metadata, and what its sources cost in the Linux kernel.
 * Texts are interned, and live as long as the run. Belongs to the collector's thread.
 */
#ifndef IAPROF_CORE_PROFILE_RUN_FACTS_H
#define IAPROF_CORE_PROFILE_RUN_FACTS_H

#include <iaprof/profile.h>
#include <iaprof/record.h>

#include "base/array.h"
#include "bus/bus.h"
#include "bus/intern.h"

struct source_name {
	uint16_t number;
	const char *name;
};

/* The value of a counter named COUNTER_KERNEL_SIDE_TIME. */
struct kernel_side_counter {
	uint16_t source;
	uint32_t id;
	double value;
};
#define COUNTER_KERNEL_SIDE_TIME "kernel-side-time"

/* Initialise with {0} and intern. */
struct run_facts {
	struct intern *intern;
	ARRAY(struct source_name) sources;
	ARRAY(struct kernel_side_counter) kernel_side_counters;
	ARRAY(uint32_t) value_type_ids; /* beside value_types */
	ARRAY(struct iaprof_value_type) value_types;
	ARRAY(const char *) metadata; /* key, value, ... */
	uint64_t kernel_side_time;    /* ns: sum of the counters */
};

void run_facts_free(struct run_facts *facts);

/* False when out of memory. */
bool run_facts_take_source(struct run_facts *facts, const struct iaprof_record_source *record);
void run_facts_take_value_type(struct run_facts *facts, const struct iaprof_record_value_type *record);
void run_facts_take_metadata(struct run_facts *facts, const char *key, const char *value);
/* A fact that the core itself found: for the profile, and, where there is a bus, as a METADATA record. */
void run_facts_note(struct run_facts *facts, struct bus *bus, const char *key, const char *value);
void run_facts_take_counter(struct run_facts *facts, const struct iaprof_record_counter *record);
void run_facts_take_counter_value(struct run_facts *facts, const struct iaprof_record_counter_value *record);

/* "iaprof" for 0, the core; "[unknown source]" for a number that was not told. */
const char *run_facts_source_name(const struct run_facts *facts, uint16_t number);
/* The index of a value type by its id, LOSS_NO_VALUE_TYPE (profile/loss.h) when there is none. */
uint32_t run_facts_find_value_type(const struct run_facts *facts, uint32_t id);
/* NULL when there is none. */
const char *run_facts_find_metadata(const struct run_facts *facts, const char *key);

#endif
