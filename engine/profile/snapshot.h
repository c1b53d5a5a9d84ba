/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of the profile at one point in time, so that sinks can read it on their own threads. */
#pragma once

#include <stdatomic.h>
#include <iaprof/profile.h>

#include "profile/run_activity.h"
#include "symbolizer/frame_table.h"
#include "profile/loss.h"
#include "profile/time_table.h"
#include "profile/value_table.h"

/* Immutable except for its reference count. Owns profile's arrays, and shares the texts of frames. */
struct snapshot {
	atomic_uint references;
	size_t size; /* bytes of memory */
	struct snapshot_memory memory;
	struct frame_texts *texts;
	struct iaprof_profile profile;
	struct iaprof_activity activity;       /* belongs to profile, if requested */
	struct iaprof_value_type *value_types; /* belongs to profile */
};

/* Inputs of a snapshot. */
struct snapshot_content {
	const struct frame_table *frames;
	const struct sampled_devices *devices; /* NULL: stacks have no origin */
	const struct value_table *values;
	const struct time_table *times; /* times of the whole run; NULL: none */
	const struct iaprof_value_type *value_types;
	size_t value_type_count;
	const struct loss *loss;
	const char *const *metadata;         /* key, value, ...: strings that must outlive the snapshot */
	size_t metadata_count;               /* texts */
	const struct run_activity *activity; /* NULL: not requested */
	bool timeline;                       /* include the timeline in the activity */
	bool total;                          /* values of the whole run, not of the interval */
};

/* Returns NULL when out of memory. The caller sets profile.interval, begin, end and flags. */
struct snapshot *snapshot_new(const struct snapshot_content *content);
struct snapshot *snapshot_reference(struct snapshot *snapshot);
void snapshot_release(struct snapshot *snapshot);
