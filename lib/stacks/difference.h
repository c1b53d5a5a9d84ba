/* SPDX-License-Identifier: Apache-2.0 */
/* Differential profile: the profiles of two runs combined, with the values of both for each stack. */
#pragma once

#include <stdbool.h>
#include <iaprof/profile.h>

#include "base/error.h"

/* The profiles must outlive the difference, which refers to their strings and metadata. */
struct difference_input {
	const struct iaprof_profile *before;
	const struct iaprof_profile *after;
	uint32_t normalization; /* enum iaprof_normalization */
	bool lines;             /* frames with different source lines are distinct */
	bool device_lines;      /* device instructions with different source lines are distinct */
};

/*
 * IAPROF_PROFILE_DIFFERENCE defines when two stacks are the same; modules and source files are compared by the last
 * component of their path, because a rebuilt program may be in a different folder. Returns NULL on failure.
 */
struct difference;
struct difference *difference_new(const struct difference_input *input, struct error *error);
/* Returns the profile, which is valid until difference_free(). */
const struct iaprof_profile *difference_profile(const struct difference *difference);
void difference_free(struct difference *difference);

/* Totals of a value type over all stacks, in both runs; that of the earlier run is not scaled. */
struct difference_totals {
	uint64_t before, after;
};
struct difference_totals difference_totals(const struct iaprof_profile *profile, uint32_t value_type);
