/* SPDX-License-Identifier: Apache-2.0 */
/* How a callback ends the whole process or never returns, by the choices of option ends=. */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum ending {
	NOT,
	SEGV,
	BUS,
	FPE,
	ILL,
	ABORT,
	OVERFLOW,
	EXIT,
	QUICK_EXIT,
	THREAD_EXIT,
	CHILD_EXIT,
	AT_ONCE,
	HANG,
	LOOP
};
static const char *const endings[] = { "not",        "segv",     "bus",  "fpe",        "ill",
				       "abort",      "overflow", "exit", "quick-exit", "thread-exit",
				       "child-exit", "at-once",  "hang", "loop",       NULL };

/* More calls of 4 KiB each than any stack has room for. */
#define CALLS_TOO_MANY (1 << 20)
static int overflow_stack(volatile char *above, int calls)
{
	volatile char room[4096];
	memset((char *)room, *above, sizeof room);
	return (calls ? overflow_stack(room, calls - 1) : 0) + room[sizeof room / 2];
}

static void *exit_in_thread(void *argument)
{
	exit(*(int *)argument);
}

/* What a plugin's own child does is no affair of the run's. */
static void exit_in_child(void)
{
	pid_t child = fork();
	if (!child)
		exit(7);
	int status;
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
		abort();
}

static void never_return(bool sleeps)
{
	for (volatile bool forever = true; forever;)
		if (sleeps)
			pause();
}

static void end_process(enum ending ending)
{
	static const int numbers[] = { [SEGV] = SIGSEGV, [BUS] = SIGBUS, [FPE] = SIGFPE, [ILL] = SIGILL };
	volatile char begin = 0;
	int status = 0;
	pthread_t thread;
	if (ending == SEGV)
		*(volatile int *)(uintptr_t)begin = 1;
	else if (ending > NOT && ending < ABORT)
		raise(numbers[ending]);
	else if (ending == ABORT)
		abort();
	else if (ending == OVERFLOW)
		overflow_stack(&begin, CALLS_TOO_MANY);
	else if (ending == EXIT)
		exit(0);
	else if (ending == AT_ONCE)
		_exit(0);
	else if (ending == QUICK_EXIT)
		quick_exit(0);
	else if (ending == HANG || ending == LOOP)
		never_return(ending == HANG);
	else if (ending == CHILD_EXIT)
		exit_in_child();
	else if (ending == THREAD_EXIT && !pthread_create(&thread, NULL, exit_in_thread, &status))
		pthread_join(thread, NULL);
}
