/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides the device time of kernels among their samples. The time of an execution is known for its kernel as a whole;
 * the samples of the same kernel and launch stack show in which instructions, waiting for what. Time of a kernel that
 * has no sample there stays with the kernel. Sums do not change.
 */
#pragma once

#include <iaprof/profile.h>

#include "profile/snapshot_memory.h"

/* Replaces the values and times of a profile. When out of memory, memory->failed is set. */
void sampled_time_divide(struct iaprof_profile *profile, struct snapshot_memory *memory);
