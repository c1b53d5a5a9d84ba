/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting without the C library: its functions have no frame pointers, so a CPU sample in them would not have their
 * callers.
 */
#pragma once

#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

static inline long system_call(long number, long first, long second, const void *third, const void *fourth)
{
	register const void *in_r10 __asm__("r10") = fourth;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(first), "S"(second), "d"(third), "r"(in_r10)
			 : "rcx", "r11", "memory");
	return result;
}

static inline uint64_t now(void)
{
	struct timespec time;

	system_call(SYS_clock_gettime, CLOCK_MONOTONIC, (long)&time, NULL, NULL);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static inline void sleep_until(uint64_t moment)
{
	struct timespec time = { (time_t)(moment / 1000000000), (long)(moment % 1000000000) };

	while (system_call(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL))
		;
}

/* What is on standard input, at most size - 1 bytes; 0 at its end. */
static inline long read_input(char *text, uintptr_t size)
{
	long length = system_call(SYS_read, 0, (long)text, (const void *)(size - 1), NULL);

	text[length > 0 ? length : 0] = '\0';
	return length;
}
