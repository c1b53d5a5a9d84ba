/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A C program with stacks worth keeping in a capture: inlined and called functions, a callback in the C library,
 * recursion, system calls, a thread, a child and a program that it executes. Runs for about a second.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SHARE 150 /* milliseconds of CPU time for each part */

static long now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static inline unsigned step(unsigned value)
{
	return value * 1664525u + 1013904223u;
}

static inline unsigned inlined_twice(unsigned value)
{
	for (int i = 0; i < 20000; i++)
		value = step(value) ^ value >> 3;
	return value;
}

__attribute__((noinline)) static unsigned called(unsigned value)
{
	return inlined_twice(value) + 1;
}

__attribute__((noinline)) static unsigned recursive(unsigned depth)
{
	return depth ? recursive(depth - 1) + 1 : called(depth);
}

static int compare(const void *left, const void *right)
{
	return (*(const int *)left > *(const int *)right) - (*(const int *)left < *(const int *)right);
}

__attribute__((noinline)) static void sort(unsigned seed)
{
	static _Thread_local int numbers[4096];
	for (int i = 0; i < 4096; i++)
		numbers[i] = (int)(seed = step(seed));
	qsort(numbers, 4096, sizeof numbers[0], compare);
}

__attribute__((noinline)) static void ask_kernel(void)
{
	char byte;
	int ends[2];
	if (pipe(ends))
		exit(1);
	for (int i = 0; i < 200; i++)
		if (write(ends[1], "x", 1) != 1 || read(ends[0], &byte, 1) != 1)
			exit(1);
	close(ends[0]);
	close(ends[1]);
}

static void *work(void *unused)
{
	(void)unused;
	volatile unsigned result = 0;
	for (long begin = now(); now() < begin + SHARE;)
		result += called(result);
	for (long begin = now(); now() < begin + SHARE;)
		result += recursive(12);
	for (long begin = now(); now() < begin + SHARE;)
		sort(result);
	for (long begin = now(); now() < begin + SHARE;)
		ask_kernel();
	return NULL;
}

int main(int count, char **arguments)
{
	(void)arguments;
	pthread_t thread;
	if (count > 1) /* executed by the child */
		return work(NULL) != NULL;
	if (pthread_create(&thread, NULL, work, NULL))
		return 1;
	pthread_join(thread, NULL);
	pid_t child = fork();
	if (child == 0) {
		execl("/proc/self/exe", "stacks-executed", "again", (char *)NULL);
		_exit(1);
	}
	waitpid(child, NULL, 0);
	return 0;
}
