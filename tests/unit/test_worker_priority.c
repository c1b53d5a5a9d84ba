/* SPDX-License-Identifier: Apache-2.0 */
/* The priority of threads, and of the worker's children: high for trusted files, and that of any other process for
 * files of others. */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/priority.h"
#include "symbolizer/budget.h"
#include "symbolizer/worker/worker_message.h"
#include "symbolizer/worker_pool.h"
#include "../run_suite.h"

#define PATIENCE (100 * NANOSECONDS_PER_SECOND)

static struct worker_pool *pool;

static void set_up(void)
{
	static char *const worker[] = { WORKER_PROGRAM, NULL };
	pool = worker_pool_new(worker, NULL);
	ck_assert_ptr_nonnull(pool);
}

static void tear_down(void)
{
	worker_pool_free(pool);
}

static struct worker_child start(uint64_t data_limit)
{
	struct worker_child child;
	ck_assert_int_eq(worker_child_start(pool, &child, data_limit), 0);
	return child;
}

static int priority_of(const struct worker_child *child)
{
	return getpriority(PRIO_PROCESS, (id_t)child->process.pid);
}

/* Returns its nice value in *pointer. */
static void *raise_own(void *pointer)
{
	priority_raise_thread();
	*(int *)pointer = getpriority(PRIO_PROCESS, (id_t)gettid());
	return NULL;
}

static int value_of_thread(void)
{
	pthread_t thread;
	int value = 0;
	ck_assert_int_eq(pthread_create(&thread, NULL, raise_own, &value), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	return value;
}

TEST(a_thread_is_raised_and_others_are_not)
{
	ck_assert_int_eq(value_of_thread(), -10);
	ck_assert_int_eq(getpriority(PRIO_PROCESS, 0), 0);
}

TEST(a_value_that_the_caller_has_chosen_stays)
{
	ck_assert_int_eq(setpriority(PRIO_PROCESS, 0, 3), 0);
	ck_assert_int_eq(value_of_thread(), 3);
	ck_assert_int_eq(setpriority(PRIO_PROCESS, 0, -15), 0);
	ck_assert_int_eq(value_of_thread(), -15);
}

TEST(files_of_others_have_no_priority)
{
	struct worker_child trusted = start(BUDGET_DATA_TRUSTED), other = start(BUDGET_DATA_OTHER);
	uint64_t end = clock_monotonic() + PATIENCE;
	/* A child changes it after its start. */
	while ((priority_of(&other) != 0 || getsid(other.process.pid) != other.process.pid) && clock_monotonic() < end)
		usleep(1000);
	ck_assert_int_eq(priority_of(&other), 0);
	ck_assert_int_eq(getsid(other.process.pid), other.process.pid);
	ck_assert_int_eq(priority_of(&trusted), -10);
	ck_assert_int_ne(getsid(trusted.process.pid), trusted.process.pid);
	worker_child_end(pool, &trusted);
	worker_child_end(pool, &other);
}

int main(void)
{
	if (geteuid() || setpriority(PRIO_PROCESS, 0, -1) || setpriority(PRIO_PROCESS, 0, 0)) {
		printf("1..0 # SKIP requires root with CAP_SYS_NICE\n");
		return 0;
	}
	return run_all_tests(0, set_up, tear_down);
}
