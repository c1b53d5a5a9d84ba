/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Structs shared by the BPF programs that trace the scheduler and user space. */
#pragma once

#include <linux/types.h>

/* A PCI address, the key of the device map, and the number of devices. */
#define SCHEDULER_DEVICE_SIZE 32u
#define SCHEDULER_DEVICES 64u

/* A process on a device, the key of the map of busy processes. */
struct scheduler_process {
	__u32 device;
	__u32 pid;
};

#define SCHEDULER_QUEUES 16384u

/*
 * A process's queue, by the fence context of its jobs, which end in the order of their numbers. progress holds the low
 * halves of two numbers: the newest job that started, and below it the newest that ended. The next end therefore
 * corrects a missed one.
 */
struct scheduler_queue {
	struct scheduler_process process;
	__u64 progress;
	__u64 time;  /* time of the newest queued job, CLOCK_MONOTONIC ns */
	__u64 ended; /* when the newest recorded job ended */
};

static inline int scheduler_queue_is_idle(__u64 progress)
{
	return (__s32)((__u32)(progress >> 32) - (__u32)progress) <= 0;
}

/*
 * The state of a process on a device, updated atomically: the low bits count its queues with running jobs, the high
 * bits, truncated, are a sum of ns. The start time is subtracted when the first queue becomes busy, and the end time is
 * added when the last one becomes idle. The sum is thus the busy time, plus the current time while any queue is busy,
 * and does not depend on the order in which CPUs update it.
 */
#define SCHEDULER_RUNNING_BITS 16u
#define SCHEDULER_RUNNING_MASK ((1ull << SCHEDULER_RUNNING_BITS) - 1)

/* Jobs that are queued or running, and bytes of completed jobs that user space has not read. */
#define SCHEDULER_JOBS 16384u
#define SCHEDULER_JOB_RING (1u << 20)

/* The key of the map of jobs, and a job, which is sent when it has completed. Times are CLOCK_MONOTONIC ns. */
struct scheduler_job_key {
	__u64 context; /* fence context of its queue */
	__u64 seqno;
};
enum { SCHEDULER_ENGINE_COMPUTE, SCHEDULER_ENGINE_RENDER };
struct scheduler_job {
	struct scheduler_process process;
	struct scheduler_job_key key;
	__u64 submitted; /* by the process */
	__u64 queued;    /* passed to the device; 0: not yet, or not seen */
	__u64 started;   /* after the previous job of its queue; set when it has ended */
	__u64 ended;     /* 0: the driver does not report when */
	__u32 thread;
	__u32 engine;
	__s32 error; /* 0: success, or a negative errno */
	__u32 pad;
};

/* Streams of EU stalls, of all GTs. */
#define SCHEDULER_STREAMS 16u

/* The last two polls of a stream by the driver, by its work item. Times are CLOCK_MONOTONIC ns. */
struct stream_polls {
	__u64 work; /* 0: a free entry */
	__u64 last;
	__u64 before; /* has ended, because a work item does not run twice at once */
};

/* Monotonic counters. */
struct scheduler_totals {
	__u64 jobs;         /* queued on a sampled device */
	__u64 jobs_lost;    /* completed, but not sent: their submission was not seen, or no room */
	__u64 lost;         /* starts or ends that did not fit */
	__u64 missed;       /* events missed because the program was already running on the CPU; see queue.progress */
	__u64 handler_time; /* ns in the handlers */
};
