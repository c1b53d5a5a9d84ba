/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* A launch, as cuda.bpf.c sends it. */
#pragma once

#include <linux/types.h>

#include "bpf/stack_counts.h"
#include "thread_ranges.h"

/* Deeper stacks are truncated at their root. */
#define CUDA_STACK_DEPTH 1024

struct cuda_launch_event {
	__u64 time;
	__u64 kernel, count, correlation; /* arguments of iaprof_cuda_launched() */
	__u32 pid, tid;
	char thread_name[16];
	struct thread_ranges ranges;
	__u64 depth;
	__u64 addresses[CUDA_STACK_DEPTH]; /* the leaf first, and then Python frames (bpf/python.h) */
};

/* By CPU. */
struct cuda_processor {
	__u64 slots;
	__u64 lost;                 /* launches: no room */
	struct stack_counts stacks; /* launches count without those that are missing */
};
