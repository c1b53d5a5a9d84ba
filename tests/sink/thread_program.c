/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread_program SECONDS NAME...: a thread of each name uses so much CPU time, under that name, after a line "NAME
 * TID". The main thread only waits.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 64

static double seconds;

static __attribute__((noinline)) void burn(void)
{
	static atomic_uint count;
	struct timespec used;
	do {
		for (int i = 0; i < 10000; i++)
			atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	} while ((double)used.tv_sec + 1e-9 * (double)used.tv_nsec < seconds);
}

static void *run(void *name)
{
	pthread_setname_np(pthread_self(), name);
	printf("%s %ld\n", (const char *)name, (long)syscall(SYS_gettid));
	burn();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];
	int count = argc - 2 < THREADS_MAX ? argc - 2 : THREADS_MAX;
	seconds = argc > 1 ? strtod(argv[1], NULL) : 0;
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, run, argv[i + 2]))
			return 1;
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
