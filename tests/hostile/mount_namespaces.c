/* SPDX-License-Identifier: Apache-2.0 */
/* COUNT processes, each with a user namespace and a mount namespace of its own, which sleep until this one is killed.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

static void child_run(int ready)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || unshare(CLONE_NEWUSER | CLONE_NEWNS) || write(ready, "", 1) != 1)
		_exit(1);
	close(ready);
	for (;;)
		pause();
}

int main(int count, char **arguments)
{
	long children = count > 1 ? atol(arguments[1]) : 0;
	int ready[2];
	char byte;
	if (pipe(ready))
		return 1;
	for (long i = 0; i < children; i++) {
		pid_t child = fork();
		if (child < 0)
			return 1;
		if (!child)
			child_run(ready[1]);
	}
	close(ready[1]);
	for (long i = 0; i < children; i++)
		if (read(ready[0], &byte, 1) != 1) {
			puts("no user namespace");
			return 1;
		}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
