/* SPDX-License-Identifier: Apache-2.0 */
/* What device instructions stalled for, out of a profile: by function, instruction, reason and value type. */
#ifndef IAPROF_PLUGINS_FLAMEGRAPH_CODE_STALLS_H
#define IAPROF_PLUGINS_FLAMEGRAPH_CODE_STALLS_H

#include <stddef.h>
#include <stdint.h>
#include <iaprof/profile.h>

/* Pointers are into the profile. */
struct code_stall {
	uint32_t listing; /* id of a CODE_LISTING; 0: the function's instructions are not known */
	uint32_t value_type;
	uint64_t offset;
	const char *reason;
	const char *function;                   /* the outermost function frame's name; NULL none */
	const struct iaprof_frame *instruction; /* its frame; NULL none */
	uint64_t value;
};

/* Sorted by listing, offset, reason, value type: each combination once, values added up. */
struct code_stalls {
	struct code_stall *items;
	size_t count;
};

/* 0 or -ENOMEM; free it in any case. Valid as long as the profile. */
int code_stalls_make(struct code_stalls *stalls, const struct iaprof_profile *profile);
void code_stalls_free(struct code_stalls *stalls);

#endif
