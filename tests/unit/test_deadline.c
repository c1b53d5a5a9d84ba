/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlines: run delay extends them, other waiting does not. Linked with --wrap=clock_gettime: time passes when the
 * tests say so. Run delay is that of a file in the format of schedstat, or of a process that is stopped when it is
 * read.
 */
#include <check.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "../run_suite.h"

#define MINUTE (60 * NANOSECONDS_PER_SECOND)

/* Check measures the tests with this clock, too: it does not go back. */
static uint64_t now = MINUTE;
static struct run_delay delay;

int __wrap_clock_gettime(clockid_t clock, struct timespec *time);

int __wrap_clock_gettime(clockid_t clock, struct timespec *time)
{
	ck_assert_int_eq(clock, CLOCK_MONOTONIC);
	*time = (struct timespec){ .tv_sec = (time_t)(now / NANOSECONDS_PER_SECOND),
				   .tv_nsec = (long)(now % NANOSECONDS_PER_SECOND) };
	return 0;
}

static void set_run_delay(uint64_t nanoseconds)
{
	char text[64];
	int length = snprintf(text, sizeof text, "1 %lu 1\n", (unsigned long)nanoseconds);
	ck_assert_int_eq(pwrite(atomic_load(&delay.file) - 1, text, (size_t)length, 0), length);
}

static void set_up(void)
{
	delay = (struct run_delay){ 0 };
	atomic_store(&delay.file, memfd_create("schedstat", MFD_CLOEXEC) + 1);
	set_run_delay(1000);
}

static void tear_down(void)
{
	run_delay_release(&delay);
}

TEST(none_never_passes)
{
	struct deadline none = DEADLINE_NONE, some = deadline_make(&delay, MINUTE),
			never = deadline_make(&delay, UINT64_MAX), long_one = deadline_make(&delay, UINT64_MAX / 2);
	ck_assert(!deadline_has_passed(&none));
	ck_assert_uint_eq(deadline_left(&none), UINT64_MAX);
	ck_assert_uint_eq(deadline_left(&never), UINT64_MAX);
	ck_assert_uint_eq(deadline_left(&long_one), UINT64_MAX / 2);
	ck_assert_uint_eq(long_one.latest, UINT64_MAX);
	struct deadline earlier = deadline_earlier(&none, &some);
	ck_assert_uint_eq(earlier.time, some.time);
	ck_assert_uint_eq(earlier.latest, some.latest);
	ck_assert_ptr_eq(earlier.delay, &delay);
}

TEST(without_run_delay_it_passes_on_time)
{
	struct deadline deadline = deadline_make(&delay, MINUTE), alone = deadline_make(NULL, MINUTE);
	now += MINUTE - 1;
	ck_assert_uint_eq(deadline_left(&deadline), 1);
	ck_assert_uint_eq(deadline_left(&alone), 1);
	ck_assert_uint_eq(deadline_spent(&deadline), MINUTE - 1);
	now++;
	ck_assert(deadline_has_passed(&deadline) && deadline_has_passed(&alone));
}

TEST(run_delay_extends_it)
{
	struct deadline deadline = deadline_make(&delay, MINUTE), alone = deadline_make(NULL, MINUTE);
	set_run_delay(1000 + MINUTE / 2);
	now += MINUTE;
	ck_assert_uint_eq(deadline_left(&deadline), MINUTE / 2);
	ck_assert_uint_eq(deadline_spent(&deadline), MINUTE / 2);
	ck_assert(!deadline_has_passed(&deadline) && deadline_has_passed(&alone));
	ck_assert_uint_eq(deadline_spent(&alone), MINUTE);
	atomic_fetch_add(&delay.of_helpers, MINUTE / 4);
	ck_assert_uint_eq(deadline_left(&deadline), MINUTE / 2 + MINUTE / 4);
	now += MINUTE / 2 + MINUTE / 4;
	ck_assert(deadline_has_passed(&deadline));
}

TEST(run_delay_extends_it_up_to_a_limit)
{
	struct deadline deadline = deadline_make(&delay, MINUTE);
	set_run_delay(100 * MINUTE);
	now += 2 * MINUTE;
	ck_assert_uint_eq(deadline_left(&deadline), (DEADLINE_STRETCH_MAX - 2) * MINUTE);
	ck_assert_uint_eq(deadline_spent(&deadline), 2 * MINUTE / DEADLINE_STRETCH_MAX);
	now += (DEADLINE_STRETCH_MAX - 2) * MINUTE;
	ck_assert(deadline_has_passed(&deadline));
}

TEST(the_earlier_one_has_the_run_delay_of_both)
{
	struct deadline older = deadline_make(&delay, MINUTE);
	set_run_delay(1000 + MINUTE / 4);
	now += MINUTE / 2;
	struct deadline newer = deadline_make(&delay, MINUTE);
	struct deadline earlier = deadline_earlier(&newer, &older);
	ck_assert_uint_eq(earlier.begin, newer.begin);
	ck_assert_uint_eq(earlier.time, older.time + MINUTE / 4);
	ck_assert_uint_eq(earlier.latest, older.latest);
	earlier = deadline_earlier(&older, &newer);
	ck_assert_uint_eq(earlier.time, older.time + MINUTE / 4);
	struct deadline soon = deadline_make(&delay, 1);
	now++;
	newer = deadline_make(&delay, MINUTE);
	earlier = deadline_earlier(&newer, &soon);
	ck_assert_uint_eq(earlier.time, soon.time);
}

struct times {
	uint64_t run, delay;
};

static struct times times_of(pid_t pid)
{
	char path[64];
	struct times times;
	snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", pid, pid);
	FILE *file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%lu %lu", &times.run, &times.delay), 2);
	fclose(file);
	return times;
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

/* Lets a process run until its run delay has grown, and stops it. */
static struct times delay_process(pid_t pid, uint64_t from)
{
	kill(pid, SIGCONT);
	for (struct times times = { 0 }; times.delay <= from || times.delay == times.run;)
		times = times_of(pid);
	kill(pid, SIGSTOP);
	ck_assert_int_eq(waitpid(pid, NULL, WUNTRACED), pid);
	return times_of(pid);
}

TEST(the_run_delay_of_a_helper_counts_once)
{
	if (access("/proc/self/schedstat", R_OK))
		return; /* Linux without CONFIG_SCHEDSTATS */
	share_processor();
	pid_t pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			;
	}
	ck_assert_int_gt(pid, 0);
	struct delayed_process helper = { .pid = pid };
	struct times before = delay_process(pid, 0);
	struct deadline deadline = deadline_make_with(&delay, &helper, MINUTE), alone = DEADLINE_NONE;
	ck_assert_uint_eq(atomic_load(&delay.of_helpers), before.delay);
	ck_assert_uint_eq(deadline_spent(&deadline), 0);
	struct times after = delay_process(pid, before.delay);
	now += MINUTE;
	ck_assert_uint_eq(deadline_left(&deadline), after.delay - before.delay);
	ck_assert_uint_eq(deadline_left(&deadline), after.delay - before.delay);
	ck_assert_uint_eq(atomic_load(&delay.of_helpers), after.delay);
	alone.helper = &helper;
	deadline_note_helper(&alone);
	kill(pid, SIGKILL);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	deadline_note_helper(&deadline);
	ck_assert_uint_eq(atomic_load(&delay.of_helpers), after.delay);
}

TEST(a_thread_is_followed_until_its_release)
{
	if (access("/proc/self/schedstat", R_OK))
		return; /* Linux without CONFIG_SCHEDSTATS */
	struct times before = times_of(getpid());
	uint64_t busy = thread_busy_time(getpid());
	struct times after = times_of(getpid());
	ck_assert_uint_ge(busy, before.run + before.delay);
	ck_assert_uint_le(busy, after.run + after.delay);
	struct run_delay own = { 0 };
	run_delay_follow(&own);
	int file = atomic_load(&own.file) - 1;
	ck_assert_int_ge(file, 0);
	run_delay_follow(&own);
	ck_assert_int_eq(atomic_load(&own.file) - 1, file);
	before = times_of(getpid());
	struct deadline deadline = deadline_make(&own, MINUTE);
	ck_assert_uint_ge(deadline.delayed, before.delay);
	ck_assert_uint_le(deadline.delayed, times_of(getpid()).delay);
	run_delay_release(&own);
	ck_assert_int_eq(atomic_load(&own.file), 0);
	ck_assert_int_eq(fcntl(file, F_GETFD), -1);
}

int main(void)
{
	return run_all_tests(0, set_up, tear_down);
}
