/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A busy machine for tests/beside_load.py:
 *
 *     machine_load LOOPS RATE
 *
 * LOOPS processes that use CPU time and do nothing else, and RATE times per second a process that executes this file
 * and exits. Ends with its standard input; then prints the number of processes started and the seconds that it ran. A
 * start that is late is made up for, so that the rate is kept on average. The parent process has a high priority, as it
 * would otherwise get no processor 500 times per second.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000L
#define MOST_MISSED 100 /* starts; after a longer pause of the machine the rest are dropped */
#define MOST_AT_ONCE 32 /* processes that have not ended; more of them would leave others no processor at all */

static long now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * SECOND + time.tv_nsec;
}

static int start_loop(pid_t parent)
{
	pid_t child = fork();
	if (child)
		return child < 0;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent)
		for (volatile int turn = 0; turn < 100000000; turn++)
			;
	_exit(0);
}

/* A process that ends at once: without arguments, this program does nothing. */
static int start_process(void)
{
	pid_t child = fork(); /* vfork() would wait until the child has run */
	if (child == 0) {
		execl("/proc/self/exe", "machine_load", (char *)NULL);
		_exit(1);
	}
	return child < 0;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return argc != 1;
	long loops = strtol(argv[1], NULL, 10), rate = strtol(argv[2], NULL, 10);
	if (loops < 0 || rate <= 0)
		return 2;
	for (long k = 0; k < loops; k++)
		if (start_loop(getpid()))
			return 1;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	/* root only; the rate of others is lower, and printed */
	sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &(struct sched_param){ .sched_priority = 1 });

	long started = 0, ended = 0, begin = now(), due = begin;
	for (struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };;) {
		long wait = due - now();
		struct timespec timeout = { .tv_sec = wait > 0 ? wait / SECOND : 0,
					    .tv_nsec = wait > 0 ? wait % SECOND : 0 };
		int ready = ppoll(&input, 1, &timeout, NULL);
		if (ready > 0 || (ready < 0 && errno != EINTR))
			break;
		if (now() < due)
			continue;
		while (waitpid(-1, NULL, started - ended < MOST_AT_ONCE ? WNOHANG : 0) > 0)
			ended++;
		started += !start_process();
		due += SECOND / rate;
		if (now() - due > MOST_MISSED * (SECOND / rate))
			due = now();
	}
	printf("%ld %.1f\n", started, (double)(now() - begin) / SECOND);
	fflush(stdout);
	kill(0, SIGKILL); /* of its own process group */
	return 0;
}
