/* SPDX-License-Identifier: Apache-2.0 */
/* Gives a sample's counts to the stacks of its suspects, or to nobody, all of them. Belongs to the collector's thread.
 */
#ifndef IAPROF_CORE_CORRELATOR_MATCHING_H
#define IAPROF_CORE_CORRELATOR_MATCHING_H

#include "correlator/devices.h"
#include "correlator/division.h"
#include "correlator/places.h"
#include "correlator/prefixes.h"
#include "correlator/stacks.h"
#include "correlator/suspects.h"

/* What a match is made with. Initialise with {0} and all but the last. */
struct matching {
	struct suspects *suspects; /* of the sample: suspects_find() */
	struct prefixes *prefixes;
	struct places *places;
	struct stacks *stacks;
	struct division division;
};

void matching_free(struct matching *matching);

/* The sum of a sample's counts. */
uint64_t matching_total(const struct iaprof_record_stall_sample *sample);
/* False when out of memory: nothing was given or counted. became: adds what became of it. */
bool matching_give(struct matching *matching, const struct iaprof_record_stall_sample *sample,
		   struct device_samples *became);

#endif
