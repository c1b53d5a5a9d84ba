/* SPDX-License-Identifier: Apache-2.0 */
/* Stalls of device instructions in a profile, by function, instruction, reason and value type. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <iaprof/profile.h>

/* Pointers refer to the profile. */
struct code_stall {
	uint32_t listing; /* id of a CODE_LISTING; 0: the function's instructions are unknown */
	uint32_t value_type;
	uint64_t offset;
	const char *reason;
	const char *function;                   /* name of the outermost function frame; NULL if none */
	const struct iaprof_frame *instruction; /* frame of the instruction; NULL if none */
	uint64_t value;
};

/* Sorted by listing, offset, reason and value type; one item for each combination. */
struct code_stalls {
	struct code_stall *items;
	size_t count, capacity;
};

/* Returns 0 or -ENOMEM. Call code_stalls_free() in either case. Valid for the lifetime of the profile. */
int code_stalls_make(struct code_stalls *stalls, const struct iaprof_profile *profile);
void code_stalls_free(struct code_stalls *stalls);
