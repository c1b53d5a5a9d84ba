/* SPDX-License-Identifier: Apache-2.0 */
/* The profiles of two runs as one, in which each stack has the values of both. */
#ifndef IAPROF_CORE_PROFILE_DIFFERENCE_H
#define IAPROF_CORE_PROFILE_DIFFERENCE_H

#include "base/error.h"
#include "profile/snapshot.h"

/* The profiles outlive the difference, which has texts and metadata of theirs. */
struct difference_input {
	const struct iaprof_profile *before;
	const struct iaprof_profile *after;
	uint32_t normalization; /* enum iaprof_normalization */
	bool lines;             /* source lines tell frames apart */
};

/*
 * IAPROF_PROFILE_DIFFERENCE has what makes two stacks the same; modules and source files are known by the last part of
 * their path, for a program that was built anew may lie elsewhere. NULL after a failure.
 */
struct difference;
struct difference *difference_new(const struct difference_input *input, struct error *error);
/* The profile; whoever keeps it gives it back before difference_free(). */
struct snapshot *difference_snapshot(const struct difference *difference);
void difference_free(struct difference *difference);

/* What all stacks of a value type have together: in both runs, the earlier one as it was. */
struct difference_totals {
	uint64_t before, after;
};
struct difference_totals difference_totals(const struct iaprof_profile *profile, uint32_t value_type);

#endif
