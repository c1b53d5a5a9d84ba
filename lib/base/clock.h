/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks in nanoseconds. */
#pragma once

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define NANOSECONDS_PER_SECOND UINT64_C(1000000000)

static inline int64_t timespec_nanoseconds(const struct timespec *time)
{
	return time->tv_sec * (int64_t)NANOSECONDS_PER_SECOND + time->tv_nsec;
}

static inline uint64_t clock_read(clockid_t clock)
{
	struct timespec time;
	clock_gettime(clock, &time);
	return (uint64_t)timespec_nanoseconds(&time);
}

/* Returns the CPU time of a process, exactly; 0 if it has ended. proc_pid_stat(5) has ticks of 10 ms only. */
static inline uint64_t clock_of_process(pid_t pid)
{
	clockid_t clock;
	struct timespec time;
	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &time))
		return 0;
	return (uint64_t)timespec_nanoseconds(&time);
}

/* The clock of all records. */
static inline uint64_t clock_monotonic(void)
{
	return clock_read(CLOCK_MONOTONIC);
}
