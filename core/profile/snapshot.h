/* SPDX-License-Identifier: Apache-2.0 */
/* A profile at one moment, copied out of the collector's tables so that sinks can read it on their own threads. */
#ifndef IAPROF_CORE_PROFILE_SNAPSHOT_H
#define IAPROF_CORE_PROFILE_SNAPSHOT_H

#include <stdatomic.h>
#include <iaprof/profile.h>

#include "profile/frame_table.h"
#include "profile/loss.h"
#include "profile/time_table.h"
#include "profile/value_table.h"

/* Immutable once made, apart from its references. profile's arrays belong to it; names to the frame table. */
struct snapshot {
	atomic_uint references;
	size_t size; /* bytes of memory */
	struct iaprof_profile profile;
	struct iaprof_frame *frames;
	struct iaprof_stack *stacks;
	uint32_t *stack_frames;
	struct iaprof_value_type *value_types;
	struct iaprof_value *values;
	struct iaprof_time_value *times, *time_totals;
	struct iaprof_lost *lost;
	struct iaprof_module *modules;
	const char **metadata;
};

/* What a snapshot is made of. */
struct snapshot_content {
	const struct frame_table *frames;
	const struct value_table *values;
	const struct time_table *times; /* of the whole run; NULL: none */
	const struct iaprof_value_type *value_types;
	size_t value_type_count;
	const struct loss *loss;
	const char *const *metadata; /* key, value, ...: texts that outlive the snapshot */
	size_t metadata_count;       /* texts */
	bool total;                  /* of the whole run, not of the interval */
};

/* NULL when out of memory. The caller sets profile.interval, begin, end and flags. */
struct snapshot *snapshot_new(const struct snapshot_content *content);
struct snapshot *snapshot_reference(struct snapshot *snapshot);
void snapshot_release(struct snapshot *snapshot);

#endif
