/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose CPU use is known: its profile can be compared with the truth.
 *
 *     load [--gate] shares MILLISECONDS [THREADS]   burn_50, burn_30, burn_15 and burn_5 use that percentage each
 *     load [--gate] fork MILLISECONDS CHILDREN      burn_50 in short-lived children, MILLISECONDS in each, one by one
 *     load [--gate] exec MILLISECONDS               burn_50, then execs itself and does the same again
 *     load [--gate] deep MILLISECONDS               burn_50 under thousands of different stacks
 *
 * Times are CPU time of the thread. It prints "FUNCTION START END" with the addresses of each burn function, which
 * the linker knows, and "exec TIME" (CLOCK_MONOTONIC ns) before the exec, each a line. With --gate it first waits until
 * it can read a byte from standard input or its end.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MILLISECOND UINT64_C(1000000)

/* One function under its own name; gcc would also make copies of it, under names of its own. */
#if defined(__clang__)
#define NOT_INLINED noinline
#else
#define NOT_INLINED noinline, noclone
#endif

static uint64_t clock_read(clockid_t clock)
{
	struct timespec time;
	clock_gettime(clock, &time);
	return (uint64_t)time.tv_sec * 1000 * MILLISECOND + (uint64_t)time.tv_nsec;
}

/* Each in a section of its own, so that the linker marks where it starts and stops. */
#define BURN(name)                                                                                                     \
	extern const char __start_##name##_code[], __stop_##name##_code[];                                             \
	/* Uses the CPU until the thread has used deadline ns; the clock is read rarely for it costs as well. */       \
	__attribute__((NOT_INLINED, section(#name "_code"))) static void name(uint64_t deadline)                       \
	{                                                                                                              \
		while (clock_read(CLOCK_THREAD_CPUTIME_ID) < deadline)                                                 \
			for (volatile uint32_t work = 0; work < 50000; work = work + 1)                                \
				;                                                                                      \
	}
BURN(burn_50)
BURN(burn_30)
BURN(burn_15)
BURN(burn_5)

#define RANGE_PRINT(name)                                                                                              \
	printf(#name " %#" PRIxPTR " %#" PRIxPTR "\n", (uintptr_t)__start_##name##_code,                               \
	       (uintptr_t)__stop_##name##_code)

static void ranges_print(void)
{
	RANGE_PRINT(burn_50);
	RANGE_PRINT(burn_30);
	RANGE_PRINT(burn_15);
	RANGE_PRINT(burn_5);
	fflush(stdout);
}

/* Deadlines are sums from the start, so a function that is late takes from the next one and nothing adds up. */
static void *shares_run(void *argument)
{
	const uint64_t *duration = argument;
	uint64_t begin = clock_read(CLOCK_THREAD_CPUTIME_ID);
	const uint64_t turn = 20 * MILLISECOND;

	for (uint64_t done = 0; done < *duration; done += turn) {
		burn_50(begin + done + turn * 50 / 100);
		burn_30(begin + done + turn * 80 / 100);
		burn_15(begin + done + turn * 95 / 100);
		burn_5(begin + done + turn);
	}
	return NULL;
}

static int threads_run(uint64_t duration, unsigned count)
{
	pthread_t threads[64];

	if (count > sizeof threads / sizeof threads[0])
		return 2;
	for (unsigned i = 1; i < count; i++)
		if (pthread_create(&threads[i], NULL, shares_run, &duration) != 0)
			return 1;
	shares_run(&duration);
	for (unsigned i = 1; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static int fork_run(uint64_t duration, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		pid_t child = fork();
		if (child < 0)
			return 1;
		if (child == 0) {
			burn_50(duration); /* the clock of the new thread starts at 0 */
			_exit(0);
		}
		if (waitpid(child, NULL, 0) != child)
			return 1;
	}
	return 0;
}

/*
 * Three programs in one process: the first turns address randomisation off, the other two then do the same at the same
 * addresses and under the same name, so that only the exec tells them apart.
 */
static int exec_run(const char *mode, uint64_t duration, char *milliseconds)
{
	const char *next = strcmp(mode, "exec") == 0 ? "exec-1" : "exec-2";

	if (strcmp(mode, "exec") == 0) {
		if (personality(ADDR_NO_RANDOMIZE) < 0)
			return 1;
	} else {
		burn_50(clock_read(CLOCK_THREAD_CPUTIME_ID) + duration);
		if (strcmp(mode, "exec-2") == 0)
			return 0;
		printf("exec %" PRIu64 "\n", clock_read(CLOCK_MONOTONIC));
		fflush(stdout);
	}
	execl("/proc/self/exe", "load", next, milliseconds, (char *)NULL);
	return 1;
}

static void deep_right(uint32_t path, unsigned depth, uint64_t deadline);

/* What follows each call keeps the compiler from making a jump of it. */
__attribute__((NOT_INLINED)) static void deep_left(uint32_t path, unsigned depth, uint64_t deadline)
{
	if (depth == 0)
		burn_50(deadline);
	else
		(path & 1 ? deep_right : deep_left)(path >> 1, depth - 1, deadline);
	__asm__ volatile("" ::: "memory");
}

__attribute__((NOT_INLINED)) static void deep_right(uint32_t path, unsigned depth, uint64_t deadline)
{
	if (depth == 0)
		burn_50(deadline);
	else
		(path & 1 ? deep_right : deep_left)(path >> 1, depth - 1, deadline);
	__asm__ volatile("" ::: "memory");
}

/* Every 200 us another path of 16 calls, in the order of a linear congruential generator: 65,536 stacks. */
static int deep_run(uint64_t duration)
{
	uint64_t begin = clock_read(CLOCK_THREAD_CPUTIME_ID);
	uint32_t path = 1;

	for (uint64_t done = 0; done < duration; done += MILLISECOND / 5) {
		path = path * 1664525 + 1013904223;
		deep_left(path >> 16, 16, begin + done);
	}
	return 0;
}

int main(int argc, char **argv)
{
	int first = argc > 1 && strcmp(argv[1], "--gate") == 0 ? 2 : 1;
	if (argc < first + 2) {
		fprintf(stderr, "usage: load [--gate] shares|fork|exec|deep MILLISECONDS [THREADS|CHILDREN]\n");
		return 2;
	}
	const char *mode = argv[first];
	uint64_t duration = strtoull(argv[first + 1], NULL, 10) * MILLISECOND;
	unsigned count = argc > first + 2 ? (unsigned)strtoul(argv[first + 2], NULL, 10) : 1;

	if (strncmp(mode, "exec-", 5) == 0)
		return exec_run(mode, duration, argv[first + 1]);
	ranges_print();
	char byte;
	if (first == 2 && read(STDIN_FILENO, &byte, 1) < 0)
		return 1;
	if (strcmp(mode, "shares") == 0)
		return threads_run(duration, count);
	if (strcmp(mode, "fork") == 0)
		return fork_run(duration, count);
	if (strcmp(mode, "exec") == 0)
		return exec_run(mode, duration, argv[first + 1]);
	if (strcmp(mode, "deep") == 0)
		return deep_run(duration);
	fprintf(stderr, "load: what is %s?\n", mode);
	return 2;
}
