/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlines that exclude run delay: time in which the waiting thread, or the process that it waits for, was runnable
 * but had no CPU does not count, up to twice the duration of the deadline. If the Linux kernel does not measure run
 * delay (CONFIG_SCHEDSTATS), deadlines are wall-clock deadlines.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Maximum wall-clock time until a deadline passes, as a multiple of its duration. */
#define DEADLINE_STRETCH_MAX 3

/*
 * The run delay of a thread and of the processes that it waits for. Initialise with {0}; atomics are for
 * deadline_make() in other threads.
 */
struct run_delay {
	atomic_int file;                  /* descriptor of its schedstat, plus 1; 0: not followed yet, or unknown */
	atomic_uint_least64_t of_helpers; /* ns */
};

/* A process that a thread waits for. Initialise with the pid alone. */
struct delayed_process {
	pid_t pid;     /* 0 if none */
	uint64_t seen; /* ns of its run delay counted so far */
};

/* Initialise with deadline_make() or DEADLINE_NONE. */
struct deadline {
	uint64_t begin;                 /* CLOCK_MONOTONIC ns when it was made */
	uint64_t time;                  /* CLOCK_MONOTONIC ns at which it passes without run delay */
	uint64_t latest;                /* CLOCK_MONOTONIC ns at which it passes in any case; UINT64_MAX: never */
	uint64_t delayed;               /* run delay when it was made, ns */
	struct run_delay *delay;        /* NULL: run delay is not excluded */
	struct delayed_process *helper; /* the process waited for; NULL if none */
};
#define DEADLINE_NONE ((struct deadline){ .time = UINT64_MAX, .latest = UINT64_MAX })

/* Counts the run delay of the calling thread from here on. */
void run_delay_follow(struct run_delay *delay);
void run_delay_release(struct run_delay *delay);

/* Returns a deadline. duration: ns from now; UINT64_MAX: never. delay: of this or another thread; NULL if none. */
struct deadline deadline_make(struct run_delay *delay, uint64_t duration);
/* The same for the calling thread, which waits for a helper: the helper's run delay counts from here on, too. */
struct deadline deadline_make_with(struct run_delay *delay, struct delayed_process *helper, uint64_t duration);
/* Returns whichever of the two passes first; both have the same run delay, or one has none. */
struct deadline deadline_earlier(const struct deadline *a, const struct deadline *b);
/*
 * Returns the time that a thread of this process ran or was runnable, in ns; 0 if the Linux kernel does not measure it.
 */
uint64_t thread_busy_time(pid_t thread);
/* Returns the time until it passes, in ns, given the run delay so far. 0: it has passed; UINT64_MAX: never. */
uint64_t deadline_left(const struct deadline *deadline);
bool deadline_has_passed(const struct deadline *deadline);
/* Returns the ns since it was made, without run delay. */
uint64_t deadline_spent(const struct deadline *deadline);
/* Adds the run delay of the helper since the last call. */
void deadline_note_helper(const struct deadline *deadline);
