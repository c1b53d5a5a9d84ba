/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the profile as samples with stacks, from which Perfetto draws flame graphs of processes and times. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/profile.h>

#include "packets.h"
#include "tracks.h"

/* Limit on samples of a value type: each stands for a multiple of the period, a power of 10, if there are more. */
#define SAMPLES_COUNT_MAX 131072u

/*
 * Writes samples for each value type, with a time resolution in ns. Losses are left out, because they are no stacks.
 * Returns false when out of memory.
 */
bool samples_write(struct packets *packets, struct tracks *tracks, const struct iaprof_profile *profile, uint64_t step);
