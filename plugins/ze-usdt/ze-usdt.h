/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Structs shared by ze-usdt's BPF programs and user space. Times are CLOCK_MONOTONIC nanoseconds. */
#pragma once

#include <linux/types.h>
#include "bpf/stack_counts.h"

/*
 * Values of active_set (state.bpf.h) above those of the two sets: modules are recorded, and launches are not; nothing
 * is.
 */
#define ZE_MODULES_ONLY 2u
#define ZE_HANDLERS_OFF 3u

/* Cookie of a launch_kernel whose arguments are in ZE_LAUNCH_REGISTERS (probes.h). */
#define ZE_COOKIE_REGISTERS 1
/* Of new_launch, whose arguments are in ZE_NEW_LAUNCH_REGISTERS. */
#define ZE_COOKIE_NEW_LAUNCH 2

/* Longer names are truncated; a multiple of 8. C++ names of real kernels have a few hundred bytes. */
#define ZE_NAME_SIZE 512u
#define ZE_THREAD_NAME_SIZE 16 /* TASK_COMM_LEN, include/linux/sched.h */
/* Longer paths are rejected. The tracer's: $TMPDIR, a slash and 30 bytes. */
#define ZE_PATH_SIZE 1024u

/*
 * One program in one process: process ids are reused, and execve() keeps them. program is the process's start time plus
 * the number of programs that it has executed.
 */
struct ze_process {
	__u64 program;
	__u32 id;
	__u32 pad;
};

/* A kernel; the key of its map is a hash of all members except the time. */
struct ze_kernel {
	struct ze_process process;
	__u64 first_time;
	__u64 instruction_base;
	__u64 address;
	__u64 size;
	__u64 module;     /* 0 if unknown */
	__u64 name_bytes; /* including the NUL; 0: the name could not be read */
	char name[ZE_NAME_SIZE];
};

/* Launches with the same key are aggregated. */
struct ze_launch_key {
	struct ze_process process;
	__u64 kernel;     /* its hash */
	__u64 list;       /* 0: executes immediately; else number of the command list's recording */
	__u64 user_stack; /* hash of the addresses, 0 if none */
	__u64 kernel_stack;
	__u32 thread; /* 0: recorded in a command list, which any thread may execute */
	__u32 cell;   /* tag of the cell that counts further launches (count_area.h); 0: none */
	char thread_name[ZE_THREAD_NAME_SIZE];
	__u64 span[THREAD_CONTEXT_SPAN_WORDS]; /* that the thread works on; zeros if recorded in a command list */
};

/* The arguments of execute_list (probes.h). */
struct ze_execution_key {
	struct ze_process process;
	__u64 list;
	__u64 parent;
	__u64 launches;
	__u64 kernel_stack;
	__u64 span[THREAD_CONTEXT_SPAN_WORDS]; /* that the executing thread works on */
};

/* Linux kernel stacks where a job is queued are not deeper than this: system call, DRM, driver. */
#define ZE_SUBMISSION_DEPTH 32u

/* The most recent GPU job of a thread; depth and addresses form a struct stack_addresses. */
struct ze_submission {
	__u64 hash;
	__u64 used; /* attributed to a launch */
	__u64 depth;
	__u64 addresses[ZE_SUBMISSION_DEPTH];
};

struct ze_count {
	__u64 count;
	__u64 first_time;
	__u64 last_time;
};

enum ze_event_type { ZE_EVENT_COMPILE = 1, ZE_EVENT_UNLOAD = 2, ZE_EVENT_EXIT = 3, ZE_EVENT_COUNTS = 4 };

/* An event in the ring buffer. A COMPILE event is a struct ze_event_compile. */
struct ze_event {
	__u32 type; /* enum ze_event_type */
	__u32 user; /* COMPILE: the process's file system user id in the initial user namespace */
	__u64 time;
	struct ze_process process;
	union {
		__u64 module; /* 0 if unknown */
		__u64 area;   /* COUNTS: address of the process's struct ze_count_area */
	};
};

struct ze_event_compile {
	struct ze_event event;
	__s64 path_bytes; /* including the NUL; ZE_PATH_SIZE: truncated; negative: could not be read */
	char path[ZE_PATH_SIZE];
};

/* In the ring of times: a launch that is being timed was counted, or has ended on the device. */
enum ze_time_type { ZE_TIMED_LAUNCH = 1, ZE_KERNEL_TIME = 2 };

struct ze_time {
	__u32 type; /* enum ze_time_type */
	__u32 pad;
	struct ze_process process;
	__u64 number; /* of the launch in its process */
	__u64 begin;  /* TIMED_LAUNCH: when it was counted; KERNEL_TIME: see probes.h */
	__u64 end;
	__u64 device;
};

struct ze_timed_launch {
	struct ze_time time;
	struct ze_launch_key key;
};

/* Per-CPU state, read by user space at any time. Tasks preempt each other on a CPU: every change is atomic. */
struct ze_processor {
	__u64 active[2];         /* handlers that may be using the set of maps */
	__u64 slots;             /* bitmap of scratch slots in use */
	__u64 launches;          /* by profiled processes */
	__u64 launches_filtered; /* fired by others */
	__u64 launches_full;     /* lost: a map was full */
	__u64 launches_busy;     /* lost: no free scratch slot, or active_set changed too often */
	__u64 launches_bad;      /* lost: the probe's arguments could not be read */
	__u64 executions;        /* executions of lists, by profiled processes */
	__u64 executions_lost;   /* the map was full, or busy, or the arguments could not be read */
	__u64 modules;           /* compile_kernel, by profiled processes */
	__u64 modules_lost;      /* the ring buffer was full, or the arguments could not be read */
	__u64 module_calls;      /* attempts to create a module */
	__u64 unloads_lost;
	__u64 exits_lost;
	__u64 times_lost;           /* the ring of times was full */
	__u64 handler_time;         /* ns in the handlers */
	struct stack_counts stacks; /* launches count without those that are missing or lost */
} __attribute__((aligned(128)));    /* CPUs share neither cache lines nor adjacent-line prefetch pairs */
