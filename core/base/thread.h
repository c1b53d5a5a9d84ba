/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of the core. Signals are for the thread of the loop, so every other one starts with all of them blocked, but
 * for those of its own faults. */
#ifndef IAPROF_CORE_BASE_THREAD_H
#define IAPROF_CORE_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

/* As pthread_create(): returns 0 or a positive errno. */
static inline int thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
	sigset_t all, before;
	sigfillset(&all);
	/* A fault while its signal is blocked would end the process without a word. */
	static const int of_faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
	for (size_t i = 0; i < sizeof of_faults / sizeof *of_faults; i++)
		sigdelset(&all, of_faults[i]);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int result = pthread_create(thread, NULL, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return result;
}

#endif
