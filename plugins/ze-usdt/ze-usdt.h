/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Structs that ze-usdt's BPF programs and its user space share. Times are CLOCK_MONOTONIC nanoseconds. */
#ifndef IAPROF_ZE_USDT_H
#define IAPROF_ZE_USDT_H

#include <linux/types.h>

/* Longer names are cut; a multiple of 8. C++ names of real kernels have some hundred bytes. */
#define ZE_NAME_SIZE 512u
/* Longer paths are refused. $TMPDIR, a slash and 30 bytes in our tracer's case. */
#define ZE_PATH_SIZE 1024u

/*
 * One program in one process: the process id is used again by others, and by the same process after an exec. program is
 * the time that the process began, plus how many programs it has executed.
 */
struct ze_process {
	__u64 program;
	__u32 id;
	__u32 pad;
};

/* A kernel; the key of its map is a hash of all of this but the time. */
struct ze_kernel {
	struct ze_process process;
	__u64 first_time;
	__u64 instruction_base;
	__u64 address;
	__u64 size;
	__u64 module;     /* 0 not known */
	__u64 name_bytes; /* with the NUL; 0: the name could not be read */
	char name[ZE_NAME_SIZE];
};

/* Launches that are counted together. */
struct ze_launch_key {
	struct ze_process process;
	__u64 kernel;     /* its hash */
	__u64 list;       /* 0: executes now; else a number of the command list's recording */
	__u64 user_stack; /* hash of the addresses, 0 none */
	__u64 kernel_stack;
};

struct ze_execution_key {
	struct ze_process process;
	__u64 list;
	__u64 kernel_stack;
};

/* The Linux kernel's stack is not deeper where a job is queued: system call, DRM, driver. */
#define ZE_SUBMISSION_DEPTH 32u

/* The newest job that a thread queued on a GPU; depth and addresses are a struct stack_addresses. */
struct ze_submission {
	__u64 hash;
	__u64 used; /* a launch has it */
	__u64 depth;
	__u64 addresses[ZE_SUBMISSION_DEPTH];
};

struct ze_count {
	__u64 count;
	__u64 first_time;
	__u64 last_time;
};

enum ze_event_type { ZE_EVENT_COMPILE = 1, ZE_EVENT_UNLOAD = 2, ZE_EVENT_EXIT = 3 };

/* What comes one by one, through the ring buffer. A COMPILE event is a struct ze_event_compile. */
struct ze_event {
	__u32 type; /* enum ze_event_type */
	__u32 user; /* COMPILE: the user id that the process makes files with, in the initial user namespace */
	__u64 time;
	struct ze_process process;
	__u64 module; /* 0 not known */
};

struct ze_event_compile {
	struct ze_event event;
	__s64 path_bytes; /* with the NUL; ZE_PATH_SIZE: cut off; negative: could not be read */
	char path[ZE_PATH_SIZE];
};

/* One for each CPU, read by user space at any time. Tasks on a CPU preempt each other: every change is atomic. */
struct ze_processor {
	__u64 active[2];         /* handlers that may be using that set of maps */
	__u64 slots;             /* bits of the scratch slots that are in use */
	__u64 launches;          /* fired by processes that are targets */
	__u64 launches_filtered; /* fired by others */
	__u64 launches_full;     /* lost: a map was full */
	__u64 launches_busy;     /* lost: no scratch slot was free, or the maps changed too often meanwhile */
	__u64 launches_bad;      /* lost: the probe's arguments could not be read */
	__u64 stacks_lost;       /* no room in the stacks map; the launches count, without the stack */
	__u64 stacks_missing;    /* could not be taken; the launches count, without the stack */
	__u64 executions;        /* of lists, fired by processes that are targets */
	__u64 executions_lost;   /* the map was full, or busy, or the arguments could not be read */
	__u64 modules;           /* compile_kernel, fired by processes that are targets */
	__u64 modules_lost;      /* the ring buffer was full, or the arguments could not be read */
	__u64 unloads_lost;
	__u64 exits_lost;
	__u64 handler_time; /* ns in the handlers */
	__u64 pad[15];      /* CPUs do not share cache lines, nor the pair that is prefetched together */
};

#endif
