/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes all of a sample's counts to the stacks of its launch candidates, or to unknown code. Owned by the
 * collector thread.
 */
#pragma once

#include "correlator/sampled_devices.h"
#include "correlator/proportional_split.h"
#include "correlator/code_locations.h"
#include "correlator/launch_stacks.h"
#include "correlator/device_stacks.h"
#include "correlator/launch_candidates.h"
#include "correlator/numbered_launches.h"

/* Context of the attribution. Initialise with {0} and the first five members. */
struct attribution {
	struct launch_candidates *candidates; /* the sample's candidates: launch_candidates_find() */
	struct launch_stacks *launch_stacks;
	struct code_locations *locations;
	struct frame_table *frames;
	struct device_stacks *stacks;
	struct proportional_split split;
	uint64_t spans_dropped; /* samples of spans beyond FRAME_TABLE_SPANS_MAX */
	/* Of the current sample: */
	uint32_t value_type; /* position in the value types of the stacks */
	uint32_t device;     /* as in struct stack_origin */
	uint32_t span;       /* as in struct stack_origin */
	uint32_t is_job;     /* as in struct device_stack_key */
	uint64_t value;      /* of all counts together; 0: period for each */
	uint64_t period;
	const struct numbered_launch *launch; /* that the sample names; NULL: it names none, or it is not known */
};

void attribution_free(struct attribution *attribution);

/* Returns the sum of a sample's counts. */
uint64_t attribution_total(const struct iaprof_record_stall_sample *sample);
/* Returns false when out of memory, with nothing attributed or counted. Adds the outcome to *became. */
bool attribution_add(struct attribution *attribution, const struct iaprof_record_stall_sample *sample,
		     struct device_samples *became);
