/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines: a process that waits for a processor has more time, one that is blocked has not. */
#include <check.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "../run_suite.h"

#define TIME UINT64_C(200000000)
#define LOOP_COUNT 4

static pid_t start(bool loops)
{
	pid_t pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		if (!loops)
			pause();
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void sleep_until(uint64_t time)
{
	for (uint64_t now; (now = clock_monotonic()) < time;)
		poll(NULL, 0, (int)((time - now) / 1000000 + 1));
}

/* All processes that are started from here on share one processor. */
static void share_processor(void)
{
	cpu_set_t all, one;
	ck_assert_int_eq(sched_getaffinity(0, sizeof all, &all), 0);
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE && !CPU_COUNT(&one); cpu++)
		if (CPU_ISSET(cpu, &all))
			CPU_SET(cpu, &one);
	ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
}

TEST(none_never_passes)
{
	struct run_delay delay = { 0 };
	struct deadline none = DEADLINE_NONE, some = deadline_make(&delay, TIME),
			never = deadline_make(&delay, UINT64_MAX);
	ck_assert(!deadline_has_passed(&none));
	ck_assert_uint_eq(deadline_left(&none), UINT64_MAX);
	ck_assert_uint_eq(deadline_left(&never), UINT64_MAX);
	struct deadline earlier = deadline_earlier(&none, &some);
	ck_assert_uint_eq(earlier.time, some.time);
	ck_assert_uint_eq(earlier.latest, some.latest);
	ck_assert_ptr_eq(earlier.delay, &delay);
}

TEST(a_blocked_process_has_no_more_time)
{
	struct run_delay delay = { 0 };
	struct delayed_process helper = { .pid = start(false) };
	struct deadline deadline = deadline_make(&delay, TIME);
	deadline.helper = &helper;
	sleep_until(deadline.time + TIME);
	ck_assert(deadline_has_passed(&deadline));
	end(helper.pid);
}

TEST(who_waits_for_a_processor_has_more_time)
{
	if (access("/proc/self/schedstat", R_OK))
		return;
	share_processor();
	pid_t loops[LOOP_COUNT];
	for (size_t i = 0; i < LOOP_COUNT; i++)
		loops[i] = start(true);
	struct run_delay delay = { 0 };
	struct delayed_process helper = { .pid = loops[0] };
	struct deadline deadline = deadline_make(&delay, TIME), alone = deadline_make(NULL, TIME);
	deadline.helper = &helper;
	sleep_until(deadline.time);
	ck_assert(deadline_has_passed(&alone));
	/* Unless this process itself came back much too late. */
	ck_assert(!deadline_has_passed(&deadline) || clock_monotonic() >= deadline.time + TIME / 2);
	ck_assert_uint_lt(deadline_spent(&deadline), clock_monotonic() - deadline.begin);
	sleep_until(deadline.latest);
	ck_assert(deadline_has_passed(&deadline));
	for (size_t i = 0; i < LOOP_COUNT; i++)
		end(loops[i]);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
