/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What stack_reader.bpf.h counts, in the struct of each CPU, and stack_reader.h reports. */
#pragma once

#include <linux/types.h>
#include "bpf/python.h"
#include "bpf/thread_context.h"
#include "bpf/unwind.h"

struct stack_counts {
	__u64 unwound[UNWIND_TRUNCATED + 1]; /* user stacks by the reason for their end (enum unwind_end) */
	__u64 missing;                       /* stacks that could not be read */
	__u64 lost;                          /* stacks that did not fit into their map */
	struct python_counts python;
	struct thread_context_counts spans;
	__u64 spans_dropped; /* recorded without their span: there were too many */
};
