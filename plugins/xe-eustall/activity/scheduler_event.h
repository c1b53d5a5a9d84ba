/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What the BPF programs that follow jobs share with user space: who is busy. */
#ifndef IAPROF_XE_EUSTALL_SCHEDULER_EVENT_H
#define IAPROF_XE_EUSTALL_SCHEDULER_EVENT_H

#include <linux/types.h>

/* A PCI address, the key of the map of devices. */
#define SCHEDULER_DEVICE_SIZE 32u

/* A process on a device, the key of the map of those that are busy. */
struct scheduler_process {
	__u32 device;
	__u32 pid;
};

#define SCHEDULER_QUEUES 16384u

/*
 * A queue of a process, by the context of its jobs' fences, which end in the order of their numbers. progress has the
 * low halves of two of them: the newest job that began, and below it the newest that ended. So an end that was not seen
 * is made up for by the next one.
 */
struct scheduler_queue {
	struct scheduler_process process;
	__u64 progress;
	__u64 time; /* of the newest job that was queued, CLOCK_MONOTONIC ns */
};

static inline int scheduler_queue_is_idle(__u64 progress)
{
	return (__s32)((__u32)(progress >> 32) - (__u32)progress) <= 0;
}

/*
 * The state of a process on a device, one number that changes at once: how many of its queues have jobs that run in the
 * low bits, and in the others, of which the highest are cut off, a sum of ns: when the first of them begins, the time
 * is taken off, when the last one ends, it is added. So the sum is the time that it was busy, once the time of now is
 * added for those that run; and the order in which CPUs see beginnings and ends does not matter.
 */
#define SCHEDULER_RUNNING_BITS 16u
#define SCHEDULER_RUNNING_MASK ((1ull << SCHEDULER_RUNNING_BITS) - 1)

/* Counters that only grow. */
struct scheduler_totals {
	__u64 jobs;   /* queued on a device that is looked at */
	__u64 lost;   /* beginnings or ends that there was no room for */
	__u64 missed; /* events at which a program did not run, as it ran already on that CPU; see queue.progress */
	__u64 handler_time; /* ns in the handlers */
};

#endif
