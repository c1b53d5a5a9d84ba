/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Structs shared by the BPF programs and user space of off-cpu. Times are CLOCK_MONOTONIC nanoseconds. */
#pragma once

#include <linux/types.h>
#include "bpf/stack_counts.h"

#define OFF_CPU_NAME_SIZE 16   /* TASK_COMM_LEN, include/linux/sched.h */
#define OFF_CPU_DRIVER_SIZE 16 /* names of accelerator drivers are shorter */

enum off_cpu_state {
	OFF_CPU_INTERRUPTIBLE = 0,
	OFF_CPU_UNINTERRUPTIBLE = 1,
	OFF_CPU_STOPPED = 2, /* by a signal or a debugger */
	/* Ready to run, but not running: */
	OFF_CPU_WOKEN = 3,    /* since a wake-up */
	OFF_CPU_PREEMPTED = 4 /* since it lost the CPU */
};

/* Beside enum stack_flag. */
enum off_cpu_flag {
	OFF_CPU_BEFORE = 1u << 5,     /* asleep since before the run: user space has its stacks */
	OFF_CPU_OVER_SHARE = 1u << 6, /* no stacks: the programs had used their share of the CPU */
	OFF_CPU_NOT_TAKEN = 1u << 7,  /* no user stack: the wait was expected to be short */
	OFF_CPU_DROPPED = 1u << 8     /* not recorded: the programs had used twice their share of the CPU */
};

/* Key of a sum of waits. */
struct off_cpu_key {
	__u32 process;
	__u32 thread;
	__u64 execution;    /* number of programs the process has executed: each has its own mappings */
	__u64 user_stack;   /* hash of the addresses; 0: no stack */
	__u64 kernel_stack; /* as user_stack */
	__u64 waker_user;   /* as user_stack, of the thread that woke it */
	__u64 waker_kernel;
	__u64 slot; /* number of the time interval in which the waits ended; 0 if they are not separated by time */
	__u32 waker;
	__u32 flags; /* enum stack_flag and enum off_cpu_flag */
	__u32 state; /* enum off_cpu_state */
	__u32 pad;
	char name[OFF_CPU_NAME_SIZE]; /* name of the process (its first thread); undefined after a NUL */
	char thread_name[OFF_CPU_NAME_SIZE];
	char waker_name[OFF_CPU_NAME_SIZE];
	char driver[OFF_CPU_DRIVER_SIZE];      /* kernel module of the file that an ioctl in progress uses; or empty */
	__u64 span[THREAD_CONTEXT_SPAN_WORDS]; /* that the thread works on */
};

struct off_cpu_sum {
	__u64 count;
	__u64 value; /* ns */
	__u64 first_time, last_time;
};

/* A place from which a thread waits, and how long its waits lasted. */
struct off_cpu_site {
	__u32 id;   /* hash of the program counter and the stack pointer */
	__u32 time; /* us: that of the longest wait, which every later wait lowers */
};
#define OFF_CPU_SITES 8u

/* A thread that is a target. */
struct off_cpu_thread {
	__u64 start;            /* when it left the CPU; 0: it has not */
	__u64 woken;            /* 0: not yet */
	__u64 ran;              /* its time on CPUs when it left, ns */
	__u64 wait;             /* what is recorded of the time until the wake-up, if that is known by then */
	__u32 chance;           /* 2^32 times the probability with which its stacks were taken, less 1 */
	__u32 site;             /* that it waits at */
	struct off_cpu_key key; /* with the stacks, if they were taken */
	struct off_cpu_site sites[OFF_CPU_SITES];
};

/*
 * A thread whose waits of late were all shorter than the minimum. For the budget, most of its waits are passed: only
 * their times are noted, here. An element belongs to its thread, on whose CPU alone it is released, while left is 0.
 */
struct off_cpu_quiet {
	__u32 thread; /* 0: the element is free */
	__u32 chance; /* 2^32 times the probability with which a wait is handled, less 1 */
	__u64 left;   /* of the wait that is passed, as in struct off_cpu_thread; 0: there is none */
	__u64 woken;
	__u64 ran;
	__u32 state; /* enum off_cpu_state */
	__u32 pad;
};
/* A power of two. Of threads that share an element, one is quiet. */
#define OFF_CPU_QUIET_THREADS 4096u

/* Lost: the programs had used twice their share of the CPU. */
struct off_cpu_dropped {
	__u64 count;
	__u64 value; /* ns */
};

/* One per CPU; written by its CPU only, read by user space at any time. */
struct off_cpu_processor {
	__u64 active;            /* a program may be using the maps */
	__u64 switches;          /* times that a target left the CPU */
	__u64 threads_full;      /* lost: the threads map was full */
	__u64 waits_full;        /* lost: the waits map was full */
	__u64 waits_busy;        /* lost: the waits map was locked */
	__u64 value_lost;        /* ns of the last two */
	__u64 stacks_refused;    /* waits without stacks: the programs had used their share of the CPU */
	__u64 stacks_skipped;    /* waits without a user stack: they were expected to be short */
	__u64 short_sampled;     /* waits shorter than the minimum that were recorded */
	__u64 short_skipped;     /* those that were not */
	__u64 wakeups_unmatched; /* waits whose wake-up was not seen */
	__u64 switches_unseen;   /* waits whose end no tracepoint reported: it was derived */
	__u64 handler_time;      /* ns in the programs */
	__u64 window_begin;      /* of the share of the CPU */
	__u64 window_time;
	struct off_cpu_dropped dropped;
	struct off_cpu_dropped dropped_ready; /* after the wake-up */
	struct stack_counts stacks;
} __attribute__((aligned(128))); /* keeps CPUs on separate pairs of cache lines */

/* The time over which the share of the CPU is measured. */
#define OFF_CPU_WINDOW 100000000ull

/* What the iterator sends of a thread that is asleep before the run: this, and a struct unwind_copy without the pages
 * it lacks. */
#define OFF_CPU_KERNEL_DEPTH 64u
/* An object of an iterator is at most 32 KiB. */
#define OFF_CPU_COPY_PAGES 6u
struct off_cpu_sleeper {
	__u64 size; /* of all */
	struct off_cpu_key key;
	__u64 kernel_depth;
	__u64 kernel[OFF_CPU_KERNEL_DEPTH];
};
