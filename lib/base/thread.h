/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads of the core and its plugins. The event loop's thread handles signals: all others start with every signal
 * blocked except those of their own faults.
 */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stddef.h>

/* Like pthread_create(): returns 0 or a positive errno. */
static inline int thread_start(pthread_t *thread, void *(*run)(void *), void *argument)
{
	sigset_t all, before;
	sigfillset(&all);
	/* A fault while its signal is blocked would end the process without a message. */
	static const int of_faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
	for (size_t i = 0; i < sizeof of_faults / sizeof *of_faults; i++)
		sigdelset(&all, of_faults[i]);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int result = pthread_create(thread, NULL, run, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return result;
}
