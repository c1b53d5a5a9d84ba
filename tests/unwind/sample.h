/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What sample.bpf.c sends. */
#pragma once

#include "bpf/stack.h"
#include "bpf/unwind.h"

struct sample {
	__u32 end; /* enum unwind_end */
	__u32 depth;
	__u64 addresses[STACK_DEPTH_MAX];
	struct unwind_copy copy; /* of the same stack */
};
