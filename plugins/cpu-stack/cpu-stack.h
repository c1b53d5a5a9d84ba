/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Structs shared by the BPF program and user space of cpu-stack. Times are CLOCK_MONOTONIC nanoseconds. */
#pragma once

#include <linux/types.h>
#include "bpf/stack_counts.h"

#define CPU_STACK_NAME_SIZE 16 /* TASK_COMM_LEN, include/linux/sched.h */

/* Key of a sample count. */
struct cpu_stack_key {
	__u32 process;
	__u32 flags;                    /* enum stack_flag */
	__u64 execution;                /* number of programs the process has executed: each has its own mappings */
	__u64 user_stack;               /* hash of the addresses; 0: no stack */
	__u64 kernel_stack;             /* as user_stack */
	__u64 copy;                     /* struct unwind_copy of its user stack; 0: none */
	__u64 slot;                     /* time interval number; 0 if samples are not separated by time */
	char name[CPU_STACK_NAME_SIZE]; /* name of the process (its first thread); bytes after a NUL are undefined */
	char thread_name[CPU_STACK_NAME_SIZE];
	__u32 thread;
	__u32 pad;
	__u64 span[THREAD_CONTEXT_SPAN_WORDS]; /* that the thread works on */
};

/*
 * Limits on copies of the stacks of a process whose tables are not ready: CPU_STACK_COPIES within CPU_STACK_COPY_TIME
 * of the first copy. They start anew CPU_STACK_COPY_PAUSE after it.
 */
#define CPU_STACK_COPIES 1024u
#define CPU_STACK_COPY_TIME 5000000000ull
#define CPU_STACK_COPY_PAUSE 30000000000ull
/* Number of budgets. Processes that share one reset each other. */
#define CPU_STACK_COPY_BUDGETS 4096u

struct cpu_stack_copy_budget {
	__u64 execution;
	__u64 begin; /* time of the first copy */
	__u32 process;
	__u32 count;
};

struct cpu_stack_count {
	__u64 count; /* ticks: each sample counts for those of its block */
	__u64 samples;
	__u64 first_time;
	__u64 last_time;
};

/*
 * Ticks are divided into blocks, of which one tick, chosen at random, is handled; it counts for all of its block in
 * each of the numbers of ticks below. Blocks have one tick, unless a budget makes them longer.
 */
struct cpu_stack_block {
	__u32 size; /* ticks of the current block; 0: as 1, at the beginning */
	__u32 skip; /* ticks to skip up to the one that is handled */
	__u32 rest; /* ticks of the block after it */
	__u32 pad;
};

/* One per CPU; written by its CPU only, read by user space at any time. */
struct cpu_stack_processor {
	__u64 active; /* a handler may be using the maps */
	__u64 ticks;  /* calls of the handler by the clock */
	struct cpu_stack_block block;
	__u64 ticks_idle;     /* ticks not recorded because the CPU was idle */
	__u64 ticks_filtered; /* ticks not recorded because the process is not a target */
	__u64 ticks_full;     /* lost: the samples map was full */
	__u64 ticks_busy;     /* lost: the samples map was locked (the handler interrupted its update) */
	__u64 handler_time;   /* ns in the programs */
	__u64 copies;         /* user stacks that were copied */
	__u64 copies_refused; /* copies that their process had no budget for */
	__u64 copies_lost;    /* copies that did not fit into the ring buffer */
	struct stack_counts stacks;
} __attribute__((aligned(128))); /* keeps CPUs on separate pairs of cache lines (prefetched together) */
