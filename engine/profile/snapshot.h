/* SPDX-License-Identifier: Apache-2.0 */
/* Copies the profile out of the collector's tables. */
#pragma once

#include "bus/snapshot.h"
#include "profile/run_activity.h"
#include "symbolizer/frame_table.h"
#include "profile/loss.h"
#include "profile/time_table.h"
#include "profile/value_table.h"

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
