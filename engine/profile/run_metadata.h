/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data about a run as a whole: its sources, value types, metadata, and the overhead of its sources in the Linux kernel.
 * Strings are interned and valid for the whole run. Owned by the collector thread.
 */
#pragma once

#include <iaprof/profile.h>
#include <iaprof/record.h>

#include "base/array.h"
#include "bus/intern.h"
#include "bus/result_stream.h"
#include "profile/loss.h"

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

/* The key that a source sent, and the name of the source. */
struct metadata_owner {
	const char *key, *source;
};

/* Initialise with {0} and intern. */
struct run_metadata {
	struct intern *intern;
	ARRAY(struct source_name) sources;
	ARRAY(struct kernel_side_counter) kernel_side_counters;
	ARRAY(uint32_t) value_type_ids; /* beside value_types */
	ARRAY(struct iaprof_value_type) value_types;
	ARRAY(const char *) metadata;                 /* key, value, ... */
	ARRAY(struct metadata_owner) metadata_owners; /* of each key */
	uint64_t kernel_side_time;                    /* ns: sum of the counters */
};

void run_metadata_free(struct run_metadata *facts);

/* Returns false when out of memory. */
bool run_metadata_take_source(struct run_metadata *facts, const struct iaprof_record_source *record);
/*
 * Adds a value type, or completes one whose role was not known. Measured on devices of several kinds, it has none.
 * Returns whether that changed anything.
 */
bool run_metadata_take_value_type(struct run_metadata *facts, const struct iaprof_record_value_type *record);
/* Sets the role of a value type by the samples that use it, unless it has one. */
static inline void run_metadata_note_role(struct run_metadata *facts, uint32_t value_type, uint32_t role)
{
	struct iaprof_value_type *type = &facts->value_types.items[value_type];
	if (type->role == IAPROF_VALUE_UNKNOWN)
		type->role = role;
}
/*
 * A source's value of a key replaces its earlier one, and that of the core. The key of a second source is followed by
 * its name: "KEY (NAME)". source: number, 0 for the core.
 */
void run_metadata_take_metadata(struct run_metadata *facts, uint16_t source, const char *key, const char *value);
/* Adds metadata determined by the core to the profile and to the result stream. */
void run_metadata_note(struct run_metadata *facts, struct result_stream *results, const char *key, const char *value);
void run_metadata_take_counter(struct run_metadata *facts, const struct iaprof_record_counter *record);
void run_metadata_take_counter_value(struct run_metadata *facts, const struct iaprof_record_counter_value *record);

/* Returns the name of a source: "iaprof" for 0, the core; "[unknown source]" for an unknown number. */
const char *run_metadata_source_name(const struct run_metadata *facts, uint16_t number);
/* Returns the index of a value type by its id, or LOSS_NO_VALUE_TYPE. */
static inline uint32_t run_metadata_find_value_type(const struct run_metadata *facts, uint32_t id)
{
	for (size_t i = 0; i < facts->value_type_ids.count; i++)
		if (facts->value_type_ids.items[i] == id)
			return (uint32_t)i;
	return LOSS_NO_VALUE_TYPE;
}
/* Returns the value of a key, or NULL. */
const char *run_metadata_find_metadata(const struct run_metadata *facts, const char *key);
