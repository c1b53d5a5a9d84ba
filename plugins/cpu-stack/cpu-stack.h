/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Structs that cpu-stack's BPF program and its user space share. Times are CLOCK_MONOTONIC nanoseconds. */
#ifndef IAPROF_CPU_STACK_H
#define IAPROF_CPU_STACK_H

#include <linux/types.h>

#define CPU_STACK_NAME_SIZE 16 /* TASK_COMM_LEN, include/linux/sched.h */

enum cpu_stack_flag {
	CPU_STACK_USER_MISSING = 1u << 0,
	CPU_STACK_KERNEL_MISSING = 1u << 1,
	CPU_STACK_TRUNCATED = 1u << 2
};

/* What samples have in common that are counted together. */
struct cpu_stack_key {
	__u32 process;
	__u32 flags;        /* enum cpu_stack_flag */
	__u64 execution;    /* how many programs the process has executed: its mappings differ between them */
	__u64 user_stack;   /* hash of the addresses, 0 none */
	__u64 kernel_stack; /* as user_stack */
	__u64 slot;         /* of time: its number; 0 where nobody asks for it */
	char name[CPU_STACK_NAME_SIZE]; /* of the process (its first thread); bytes after a NUL mean nothing */
};

struct cpu_stack_count {
	__u64 count;
	__u64 first_time;
	__u64 last_time;
};

/* One for each CPU, written by that CPU only, read by user space at any time. */
struct cpu_stack_processor {
	__u64 active;         /* a handler may be using the maps */
	__u64 ticks;          /* times that the clock called the handler */
	__u64 ticks_idle;     /* of those: not recorded because the CPU was idle */
	__u64 ticks_filtered; /* not recorded because the process is not a target */
	__u64 ticks_full;     /* lost: the samples map was full */
	__u64 ticks_busy;     /* lost: the kernel could not lock the samples map (interrupted while it had it) */
	__u64 stacks_lost;    /* stacks for which the stacks map had no room; their samples count, without the stack */
	__u64 handler_time;   /* ns in the handler */
	__u64 fork_time;      /* ns in the fork program */
	__u64 pad[7];         /* CPUs do not share cache lines, nor the pair that is prefetched together */
};

#endif
