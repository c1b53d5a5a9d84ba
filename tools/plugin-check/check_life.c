/* SPDX-License-Identifier: Apache-2.0 */
/* The life cycle of an instance: destroy() after each stage, including failed ones, releases everything. */
#include "subject.h"

#include <sys/resource.h>

#define RUN_MILLISECONDS 300 /* of a source: several turns of its timers */

/* Ends an instance whose prepare() succeeded as the core does when a run is given up. */
static void give_up(struct test_host *host)
{
	if (host->plugin.kind == IAPROF_PLUGIN_SOURCE)
		subject_expect_reason(host, "stop", host->operations.stop(&host->host, host->instance));
}

static void expect_descriptors(unsigned before)
{
	unsigned after = subject_descriptors();
	ck_assert_msg(after == before, "%d file descriptors are open that were not before: close them in destroy()",
		      (int)after - (int)before);
}

START_TEST(destroyed_after_configure)
{
	unsigned before = subject_descriptors();
	struct test_host *host = subject_new();
	subject_expect_configured(host);
	test_host_free(host);
	expect_descriptors(before);
}
END_TEST

START_TEST(destroyed_after_probe)
{
	unsigned before = subject_descriptors();
	struct test_host *host = subject_new();
	subject_configure(host);
	subject_expect_reason(host, "probe", test_host_probe(host));
	test_host_free(host);
	expect_descriptors(before);
}
END_TEST

START_TEST(check_has_no_side_effects)
{
	struct test_host *host = subject_new();
	subject_configure(host);
	subject_expect_reason(host, "probe", test_host_probe(host));
	unsigned before = subject_descriptors();
	test_host_check(host); /* whatever probe() returned */
	ck_assert_msg(subject_descriptors() == before, "check() leaves file descriptors open");
	ck_assert_msg(host->record_size == 0, "check() sends records");
	test_host_free(host);
}
END_TEST

START_TEST(destroyed_after_prepare)
{
	unsigned before = subject_descriptors();
	struct test_host *host = subject_new();
	subject_configure(host);
	subject_prepare(host);
	give_up(host);
	test_host_free(host);
	expect_descriptors(before);
}
END_TEST

START_TEST(destroyed_after_a_failure)
{
	unsigned before = subject_descriptors();
	struct test_host *host = subject_new();
	subject_configure(host);
	/* The lowest free descriptor number becomes the limit: every open() of the plugin fails with EMFILE. */
	struct rlimit usual, none;
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &usual), 0);
	none = usual;
	none.rlim_cur = 3;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	int result = test_host_prepare(host);
	subject_expect_reason(host, "prepare", result);
	if (result == 0) {
		subject_expect_reason(host, "start", test_host_begin(host));
		give_up(host);
	}
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &usual), 0);
	test_host_free(host);
	expect_descriptors(before);
}
END_TEST

START_TEST(lives_a_whole_run)
{
	unsigned before = subject_descriptors();
	struct test_host *host = subject_new();
	subject_configure(host);
	subject_prepare(host);
	int result = test_host_begin(host);
	subject_expect_reason(host, "start", result);
	ck_assert_msg(result == 0, "start: %s", host->failure);
	ck_assert_msg(test_host_run(host, RUN_MILLISECONDS) == 0, "a callback failed: %s", host->failure);
	test_host_stop(host);
	subject_expect_thread(host);
	test_host_free(host);
	expect_descriptors(before);
}
END_TEST

void checks_add_life(struct check_list *checks, uint32_t kind)
{
	check_add(checks, "destroy() after configure()", destroyed_after_configure);
	if (kind == IAPROF_PLUGIN_DECODER)
		return;
	if (kind == IAPROF_PLUGIN_SOURCE)
		check_add(checks, "destroy() after probe()", destroyed_after_probe);
	check_add(checks, "check() reports items of one line and leaves nothing open", check_has_no_side_effects);
	check_add(checks, "destroy() after prepare()", destroyed_after_prepare);
	check_add(checks, "destroy() after a prepare() that could open nothing", destroyed_after_a_failure);
	if (kind == IAPROF_PLUGIN_SOURCE)
		check_add(checks, "a whole run: start(), callbacks, stop(), finish(), destroy()", lives_a_whole_run);
}
