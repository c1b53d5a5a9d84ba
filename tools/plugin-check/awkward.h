/* SPDX-License-Identifier: Apache-2.0 */
/* What a sink has to cope with: a profile with names that would break its format, and records it does not know. */
#pragma once

#include <iaprof/profile.h>

/* No values at all. */
struct iaprof_profile awkward_empty_profile(void);

/* Frames, stacks, types, values and losses of structs that are longer than this version's; static const data. */
struct iaprof_profile awkward_profile(void);
/* The same of two runs. */
struct iaprof_profile awkward_difference(void);

/* A batch: definitions, a record of each kind, one longer than its struct, one of a type of the future. */
struct awkward_batch {
	_Alignas(16) unsigned char records[8192];
	uint32_t count;
	uint32_t size;
};
void awkward_batch_fill(struct awkward_batch *batch);
