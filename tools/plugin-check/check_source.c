/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a source while iaprof accepts no records. See check_records.c for the records that it sends. */
#include "subject.h"

#include <errno.h>

#define RUN_MILLISECONDS 300

struct test_host *source_new(void)
{
	struct test_host *host = subject_new();
	subject_configure(host);
	subject_prepare(host);
	return host;
}

void source_run(struct test_host *host)
{
	int result = test_host_begin(host);
	subject_expect_reason(host, "start", result);
	ck_assert_msg(result == 0, "start: %s", host->failure);
	ck_assert_msg(test_host_run(host, RUN_MILLISECONDS) == 0, "a callback failed: %s", host->failure);
}

START_TEST(refusal_is_survived)
{
	struct test_host *host = source_new();
	host->emit_error = -EINVAL;
	if (test_host_begin(host) == 0)
		test_host_run(host, RUN_MILLISECONDS); /* it may fail: iaprof has reported the reason */
	test_host_free(host);
}
END_TEST

void checks_add_source(struct check_list *checks, uint32_t flags)
{
	checks_add_records(checks, flags);
	check_add(checks, "it can be destroyed when its records are refused", refusal_is_survived);
}
