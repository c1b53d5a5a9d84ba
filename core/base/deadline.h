/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlines that are fair on a busy machine: time in which the thread that waits, or the process that it waits for, was
 * ready to run but had no processor does not count, up to twice the time that was given. Where the Linux kernel does
 * not count that time (CONFIG_SCHEDSTATS), deadlines are those of the wall clock.
 */
#ifndef IAPROF_CORE_BASE_DEADLINE_H
#define IAPROF_CORE_BASE_DEADLINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A deadline passes after this many times its time at the latest. */
#define DEADLINE_STRETCH_MAX 3

/* The run delay of a thread and of the processes that it waits for. Initialise with {0}; atomics are for
 * deadline_make() in other threads. */
struct run_delay {
	atomic_int file;                  /* its schedstat, plus 1; 0: not followed yet, or not known */
	atomic_uint_least64_t of_helpers; /* ns */
};

/* A process that a thread waits for. Initialise with the pid alone. */
struct delayed_process {
	pid_t pid;     /* 0 none */
	uint64_t seen; /* ns of its run delay that have been counted */
};

/* Initialise with deadline_make() or DEADLINE_NONE. */
struct deadline {
	uint64_t begin;                 /* CLOCK_MONOTONIC ns when it was made */
	uint64_t time;                  /* CLOCK_MONOTONIC ns at which it passes when nobody waits for a processor */
	uint64_t latest;                /* CLOCK_MONOTONIC ns at which it passes in any case; UINT64_MAX never */
	uint64_t delayed;               /* run delay when it was made, ns */
	struct run_delay *delay;        /* NULL: none counts */
	struct delayed_process *helper; /* that is waited for; NULL none */
};
#define DEADLINE_NONE ((struct deadline){ .time = UINT64_MAX, .latest = UINT64_MAX })

/* Counts the run delay of the calling thread from here on. */
void run_delay_follow(struct run_delay *delay);
void run_delay_release(struct run_delay *delay);

/* duration: ns from now; UINT64_MAX never. delay: of this or another thread; NULL none. */
struct deadline deadline_make(struct run_delay *delay, uint64_t duration);
/* Returns whichever of the two passes first; both have the same run delay, or one has none. */
struct deadline deadline_earlier(const struct deadline *a, const struct deadline *b);
/* ns that a thread of this process ran or was ready to; 0 where the Linux kernel does not count that. */
uint64_t thread_busy_time(pid_t thread);
/* ns until it passes, as far as is known now: 0 has passed, UINT64_MAX never. */
uint64_t deadline_left(const struct deadline *deadline);
bool deadline_has_passed(const struct deadline *deadline);
/* ns since it was made, without those that do not count. */
uint64_t deadline_spent(const struct deadline *deadline);
/* Counts the run delay of the helper that was waited for. */
void deadline_note_helper(const struct deadline *deadline);

#endif
