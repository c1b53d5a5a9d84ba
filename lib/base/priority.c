/* SPDX-License-Identifier: Apache-2.0 */
/* See priority.h. */
#include "base/priority.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Nice value with 9.3 times the weight of 0. */
#define PRIORITY (-10)

static bool raise_priority(void)
{
	errno = 0;
	int own = getpriority(PRIO_PROCESS, 0);
	return !errno && own <= 0 && (own < PRIORITY || !setpriority(PRIO_PROCESS, 0, PRIORITY));
}

void priority_raise_thread(void)
{
	(void)raise_priority();
}

void priority_lower_thread(void)
{
	errno = 0;
	int own = getpriority(PRIO_PROCESS, 0);
	if (!errno && own == PRIORITY)
		setpriority(PRIO_PROCESS, 0, 0);
}

void priority_raise_session(void)
{
	if (!raise_priority())
		return;
	/* Nice values of different sessions are not compared where Linux makes each session an autogroup: sched(7). */
	CLEANUP_CLOSE int descriptor = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
	if (descriptor >= 0)
		dprintf(descriptor, "%d", PRIORITY);
}

void priority_give_up(void)
{
	setsid();
	setpriority(PRIO_PROCESS, 0, 0); /* refused if it is lower */
}
