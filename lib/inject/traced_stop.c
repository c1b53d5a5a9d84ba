/* SPDX-License-Identifier: Apache-2.0 */
/* See traced_stop.h. */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/wait.h>
#include "traced_stop.h"

/* Threads of other tracers in this process are theirs. */
#define WAIT_OPTIONS (WNOHANG | __WALL | __WNOTHREAD)

/* si_status has the signal in its low byte, and PTRACE_EVENT_* above it. */
static bool delivers_signal(const siginfo_t *information)
{
	return information->si_code == CLD_TRAPPED && information->si_status >> 8 == 0 &&
	       information->si_status != SYSTEM_CALL_STOP;
}

pid_t traced_stop_look(pid_t thread, int *status)
{
	siginfo_t information = { 0 };

	if (waitid(thread < 0 ? P_ALL : P_PID, thread < 0 ? 0 : (id_t)thread, &information,
		   WSTOPPED | WEXITED | WNOWAIT | WAIT_OPTIONS) != 0)
		return -1;
	if (information.si_pid == 0 || !delivers_signal(&information))
		return information.si_pid == 0 ? 0 : waitpid(information.si_pid, status, WAIT_OPTIONS);
	*status = W_STOPCODE(information.si_status);
	return information.si_pid;
}

void traced_stop_consume(pid_t thread)
{
	waitpid(thread, NULL, WAIT_OPTIONS);
}
