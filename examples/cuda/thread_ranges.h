/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The NVTX ranges that a thread is in. The injected library keeps them in the thread's memory (ranges.c), and a BPF
 * program copies them when it takes the stack of a launch.
 */
#pragma once

#include <linux/types.h>

/* Inner ranges have no name. */
#define THREAD_RANGES_MAX 8
/* Longer names are cut off. */
#define RANGE_NAME_SIZE 64

struct thread_ranges {
	__u32 depth; /* may be larger than THREAD_RANGES_MAX */
	__u32 pad;
	char names[THREAD_RANGES_MAX][RANGE_NAME_SIZE]; /* the outermost first, each with a NUL */
};
