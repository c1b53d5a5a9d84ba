/* SPDX-License-Identifier: Apache-2.0 */
/* ze-usdt on the running Linux kernel, compared with a program that fires the probes a given number of times. */
#include <check.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "live_source.h"
#include "test_host.h"
#include "ze_fire.h"
#include "ze_records.h"
#include "../run_suite.h"

/* A source that will be attached to copy 1 of the library, and profiles fire. */
static struct test_host *host_new(const struct ze_fire *fire)
{
	struct test_host *host = test_host_new("ze-usdt", "tracer=no", NULL);
	static uint32_t pid;

	pid = (uint32_t)fire->pid;
	ck_assert_int_eq(test_host_set(host, "library", ze_fire_library('1')), 0);
	host->target.scope = IAPROF_SCOPE_PIDS;
	host->target.pids = &pid;
	host->target.pid_count = 1;
	return host;
}

static struct test_host *host_start(const struct ze_fire *fire)
{
	struct test_host *host = host_new(fire);

	test_host_start(host);
	return host;
}

/* The tracer's own frame is left out, the runtime's is not: of both the application's site is known. */
TEST(counts_and_stacks_are_exact)
{
	struct ze_fire fire = ze_fire_start('1');
	struct test_host *host = host_start(&fire);

	ze_fire_do(&fire, "launch a 1000 0x800000001000 64 one 1 0");
	ze_fire_do(&fire, "launch b 500 0x800000001000 64 one 1 0");
	ze_fire_do(&fire, "launch b 70 0x800000002000 128 two 1 0");
	test_host_run(host, 300);
	ze_fire_do(&fire, "launch a 33 0x800000001000 64 one 1 0");
	ze_fire_do(&fire, "launch a 12 0xffff800000003000 64 short");
	test_host_stop(host);
	ck_assert_uint_eq(ze_launches(host, &fire, "one", 'a', 0), 1033);
	ck_assert_uint_eq(ze_launches(host, &fire, "one", 'b', 0), 500);
	ck_assert_uint_eq(ze_launches(host, &fire, "two", 'b', 0), 70);
	ck_assert_uint_eq(ze_launches(host, &fire, "short", 'a', 1), 12);
	ck_assert_uint_eq(ze_launches(host, &fire, NULL, 0, 0), 1000 + 500 + 70 + 33 + 12);
	ck_assert_uint_eq(ze_kernels(host), 3);
	ck_assert_uint_eq(ze_counter(host, "launches"), 1000 + 500 + 70 + 33 + 12);
	ck_assert_uint_gt(ze_counter(host, "kernel-side-time"), 0);
	ck_assert_uint_eq(test_host_lost(host, NULL), 0);
	FOR_EACH_ZE_LAUNCH(launch, host)
	{
		const struct iaprof_record_kernel *kernel = ze_kernel(host, launch->kernel);
		const char *name = test_host_string(host, kernel->name);
		if (strcmp(name, "two") == 0)
			ck_assert(kernel->address == 0x800000002000 && kernel->size == 128);
		if (strcmp(name, "short") == 0)
			ck_assert(kernel->address == 0x800000003000 && kernel->size == 64);
	}
	test_host_free(host);
	ze_fire_stop(&fire);
}

static void threads_check(const char *line, uint64_t fired)
{
	struct ze_fire fire = ze_fire_start('1');
	struct test_host *host = host_start(&fire);

	ze_fire_do(&fire, "%s", line);
	test_host_stop(host);
	uint64_t counted = ze_launches(host, &fire, NULL, 0, 0), lost = test_host_lost(host, NULL);
	ck_assert_msg(counted + lost == fired, "%" PRIu64 " + %" PRIu64 " of %" PRIu64, counted, lost, fired);
	ck_assert_uint_eq(ze_counter(host, "launches"), fired);
	ck_assert_uint_eq(ze_kernels(host), 4);
	/* Sites take turns, and the kernels within them. */
	if (!lost) {
		ck_assert_uint_eq(ze_launches(host, &fire, NULL, 'a', 0), fired / 2);
		ck_assert_uint_eq(ze_launches(host, &fire, "third", 'b', 0), fired / 8);
	}
	test_host_free(host);
	ze_fire_stop(&fire);
}

TEST(threads_lose_nothing)
{
	threads_check("threads 8 25000 12500", 200000);
}

TEST(what_is_too_fast_is_counted)
{
	threads_check("threads 8 40000 0", 320000);
}

struct firing {
	struct ze_fire fire;
	uint64_t fired;
	bool is_over; /* atomic */
};

static void *fire_run(void *context)
{
	struct firing *firing = context;

	for (; !__atomic_load_n(&firing->is_over, __ATOMIC_ACQUIRE); firing->fired += 40000)
		ze_fire_do(&firing->fire, "threads 4 10000 0");
	return NULL;
}

/* Prepares a source while another one runs, and starts it when that has stopped, as the core does in a reload. */
static struct test_host *host_succeed(const struct ze_fire *fire, struct test_host *earlier)
{
	struct test_host *host = host_new(fire);

	ck_assert_int_eq(test_host_configure(host), 0);
	ck_assert_msg(test_host_prepare(host) == 0, "prepare: %s", host->failure);
	test_host_stop(earlier);
	return host;
}

/* Threads launch as fast as they can while sources follow each other: at any time, some are in a launch. */
TEST(no_launch_is_in_two_runs)
{
	struct firing firing = { .fire = ze_fire_start('1') };
	struct test_host *host = host_start(&firing.fire);
	uint64_t found = 0, counted = 0;
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, fire_run, &firing), 0);
	for (unsigned i = 0; i < 4; i++) {
		test_host_run(host, 300);
		struct test_host *next = host_succeed(&firing.fire, host);
		ck_assert_msg(test_host_begin(next) == 0, "start: %s", next->failure);
		found += ze_launches(host, &firing.fire, NULL, 0, 0) + test_host_lost(host, NULL);
		ck_assert_uint_gt(ze_counter(host, "launches"), 0);
		counted += ze_counter(host, "launches");
		test_host_free(host);
		host = next;
	}
	__atomic_store_n(&firing.is_over, true, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	test_host_stop(host);
	counted += ze_counter(host, "launches");
	found += ze_launches(host, &firing.fire, NULL, 0, 0) + test_host_lost(host, NULL);
	ck_assert_uint_eq(found, counted);
	ck_assert_uint_le(counted, firing.fired);
	test_host_free(host);
	ze_fire_stop(&firing.fire);
}

TEST(launches_between_two_runs_are_in_neither)
{
	struct ze_fire fire = ze_fire_start('1');
	struct test_host *earlier = host_start(&fire);

	ze_fire_do(&fire, "launch a 1000 0x800000001000 64 one 1 0");
	struct test_host *later = host_succeed(&fire, earlier);
	ze_fire_do(&fire, "launch a 300 0x800000001000 64 one 1 0");
	ck_assert_msg(test_host_begin(later) == 0, "start: %s", later->failure);
	ze_fire_do(&fire, "launch a 70 0x800000001000 64 one 1 0");
	test_host_stop(later);
	ck_assert_uint_eq(ze_launches(earlier, &fire, NULL, 0, 0), 1000);
	ck_assert_uint_eq(ze_launches(later, &fire, NULL, 0, 0), 70);
	test_host_free(earlier);
	test_host_free(later);
	ze_fire_stop(&fire);
}

TEST(lists_count_when_they_execute)
{
	struct ze_fire fire = ze_fire_start('1');
	struct test_host *host = host_start(&fire);

	ze_fire_do(&fire, "launch a 3 0x800000001000 64 one 1 7");
	ze_fire_do(&fire, "launch b 2 0x800000002000 64 two 1 7");
	ze_fire_do(&fire, "launch b 9 0x800000002000 64 two 1 8"); /* never executed */
	test_host_run(host, 300);
	test_host_freeze(host);
	ck_assert_uint_eq(ze_launches(host, &fire, NULL, 0, 0), 0);
	test_host_thaw(host);
	ze_fire_do(&fire, "execute 7 10");
	test_host_run(host, 300);
	ze_fire_do(&fire, "execute 7 1");
	ze_fire_do(&fire, "execute 99 5");                         /* a list without kernels */
	ze_fire_do(&fire, "launch a 1 0x800000001000 64 one 1 9"); /* recorded again, executed in the same interval */
	ze_fire_do(&fire, "execute 9 2");
	test_host_stop(host);
	ck_assert_uint_eq(ze_launches(host, &fire, "one", 'a', 0), 3 * 11 + 2);
	ck_assert_uint_eq(ze_launches(host, &fire, "two", 'b', 0), 2 * 11);
	ck_assert_uint_eq(ze_launches(host, &fire, NULL, 0, 0), 5 * 11 + 2);
	ck_assert_uint_eq(ze_counter(host, "list-executions"), 10 + 1 + 5 + 2);
	ck_assert_uint_eq(test_host_lost(host, NULL), 0);
	test_host_free(host);
	ze_fire_stop(&fire);
}

/* Graphs in graphs and in lists: in one interval and over several, in an order that no hash table has. */
TEST(recordings_are_parts_of_others)
{
	struct ze_fire fire = ze_fire_start('1');
	struct test_host *host = host_start(&fire);

	ze_fire_do(&fire, "launch a 3 0x800000001000 64 one 1 7");
	ze_fire_do(&fire, "append 7 2 60");
	ze_fire_do(&fire, "launch b 1 0x800000002000 64 two 1 60");
	ze_fire_do(&fire, "append 60 1 5");
	ze_fire_do(&fire, "append 5 4 90");
	ze_fire_do(&fire, "execute 90 10 28"); /* 4 * (2 * 3 + 1) */
	test_host_run(host, 300);
	ze_fire_do(&fire, "append 90 1 91");
	test_host_run(host, 300);
	ze_fire_do(&fire, "execute 91 1 28");
	ze_fire_do(&fire, "execute 7 1 3");
	test_host_stop(host);
	ck_assert_uint_eq(ze_launches(host, &fire, "one", 'a', 0), 11 * 24 + 3);
	ck_assert_uint_eq(ze_launches(host, &fire, "two", 'b', 0), 11 * 4);
	ck_assert_uint_eq(ze_counter(host, "list-executions"), 12);
	ck_assert_uint_eq(test_host_lost(host, NULL), 0);
	test_host_free(host);
	ze_fire_stop(&fire);
}

/* The tracer knows how many launches a recording has: those that were not seen are lost at each execution. */
TEST(launches_from_before_are_lost)
{
	struct ze_fire fire = ze_fire_start('1');
	struct test_host *host = host_start(&fire);

	ze_fire_do(&fire, "launch a 3 0x800000001000 64 one 1 7");
	ze_fire_do(&fire, "execute 7 10 5"); /* two launches before */
	ze_fire_do(&fire, "execute 8 2 6");  /* all */
	ze_fire_do(&fire, "append 8 1 7");
	ze_fire_do(&fire, "execute 7 1 11");
	test_host_stop(host);
	ck_assert_uint_eq(ze_launches(host, &fire, "one", 'a', 0), 3 * 11);
	ck_assert_uint_eq(
		test_host_lost(host, "launches of a command list or graph from before the profiler was attached"),
		2 * 10 + 6 * 2 + (11 - 3));
	test_host_free(host);
	ze_fire_stop(&fire);
}

/* Code that comes to the address of code that went has its own name, even if the unload of the other one was not
 * reported. */
TEST(reload_has_its_own_name)
{
	struct ze_fire fire = ze_fire_start('1');
	struct test_host *host = host_start(&fire);

	ze_fire_do(&fire, "launch a 5 0x800000001000 64 old 1 0");
	ze_fire_do(&fire, "unload 1");
	ze_fire_do(&fire, "launch a 6 0x800000001000 64 new 2 0");
	ze_fire_do(&fire, "launch a 7 0x800000005000 64 earlier");
	ze_fire_do(&fire, "launch a 8 0x800000005000 64 later");
	test_host_run(host, 300);
	ze_fire_do(&fire, "launch a 9 0x800000005000 64 latest");
	test_host_stop(host);
	ck_assert_uint_eq(ze_launches(host, &fire, "old", 'a', 0), 5);
	ck_assert_uint_eq(ze_launches(host, &fire, "new", 'a', 0), 6);
	ck_assert_uint_eq(ze_launches(host, &fire, "earlier", 'a', 1), 7);
	ck_assert_uint_eq(ze_launches(host, &fire, "later", 'a', 1), 8);
	ck_assert_uint_eq(ze_launches(host, &fire, "latest", 'a', 1), 9);
	ck_assert_uint_eq(ze_kernels(host), 5);
	test_host_free(host);
	ze_fire_stop(&fire);
}

TEST(others_are_filtered)
{
	struct ze_fire target = ze_fire_start('1'), other = ze_fire_start('1');
	struct test_host *host = host_start(&target);

	ze_fire_do(&target, "launch a 3 0x800000001000 64 one 1 0");
	ze_fire_do(&other, "launch a 40 0x800000001000 64 one 1 0");
	test_host_stop(host);
	ck_assert_uint_eq(ze_launches(host, &target, "one", 'a', 0), 3);
	ck_assert_uint_eq(ze_launches(host, &other, NULL, 0, 0), 0);
	ck_assert_uint_eq(ze_counter(host, "launches"), 3);
	ck_assert_uint_eq(ze_counter(host, "launches-filtered"), 40);
	test_host_free(host);
	ze_fire_stop(&target);
	ze_fire_stop(&other);
}

int main(void)
{
	if (!ze_fire_program('1')) {
		puts("1..0 # SKIP there is no sys/sdt.h to build the program that fires");
		return 0;
	}
	if (!live_source_can_run_with("ze-usdt", "tracer=yes"))
		return 0;
	return run_all_tests(600, NULL, NULL);
}
