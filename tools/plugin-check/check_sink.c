/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a sink without values, with awkward data, and with outputs that cannot be written. */
#include "subject.h"

#include <stdlib.h>

#include "awkward.h"

static struct test_host *sink_new(void)
{
	struct test_host *host = subject_new();
	subject_configure(host);
	subject_prepare(host);
	int result = test_host_begin(host);
	subject_expect_reason(host, "start", result);
	ck_assert_msg(result == 0, "start: %s", host->failure);
	return host;
}

static int send_records(struct test_host *host)
{
	struct awkward_batch batch;
	awkward_batch_fill(&batch);
	int result = host->operations.records ? test_host_send(host, batch.records, batch.size, batch.count) : 0;
	subject_expect_reason(host, "records", result);
	return result;
}

static int send_profile(struct test_host *host, struct iaprof_profile profile)
{
	int result = host->operations.profile ? test_host_send_profile(host, &profile) : 0;
	subject_expect_reason(host, "profile", result);
	return result;
}

/*
 * finish() succeeds and leaves no output open: each has its final name, or was given up. has_data: there is one, as the
 * sink has received what belongs into it.
 */
static void finish(struct test_host *host, bool has_data)
{
	int result = test_host_finish(host);
	subject_expect_reason(host, "finish", result);
	ck_assert_msg(result == 0, "finish: %s", host->failure);
	for (size_t i = 0; i < host->outputs.count; i++)
		ck_assert_msg(host->outputs.items[i]->closed || host->outputs.items[i]->discarded,
			      "an output is still open after finish(): call output_close()");
	ck_assert_msg(
		!has_data || host->outputs.count || host->plugin.flags & IAPROF_PLUGIN_NO_OUTPUT,
		"no output was opened until finish() returned: call output_open(), or set IAPROF_PLUGIN_NO_OUTPUT");
	test_host_free(host);
}

START_TEST(nothing_is_written)
{
	finish(sink_new(), false);
}
END_TEST

START_TEST(an_empty_run_is_written)
{
	struct test_host *host = sink_new();
	ck_assert_msg(send_profile(host, awkward_empty_profile()) == 0, "profile: %s", host->failure);
	finish(host, host->operations.profile);
}
END_TEST

START_TEST(awkward_data_is_written)
{
	struct test_host *host = sink_new();
	ck_assert_msg(send_records(host) == 0, "records: %s", host->failure);
	ck_assert_msg(send_profile(host, awkward_profile()) == 0, "profile: %s", host->failure);
	finish(host, true);
}
END_TEST

START_TEST(awkward_differences_are_written)
{
	struct test_host *host = sink_new();
	ck_assert_msg(send_profile(host, awkward_difference()) == 0, "profile: %s", host->failure);
	finish(host, true);
}
END_TEST

/* output_limit: an output takes this many bytes, then the disk is full. */
START_TEST(a_full_disk_is_reported)
{
	struct test_host *host = sink_new();
	host->output_limit = 1;
	int result = send_records(host);
	if (result == 0)
		result = send_profile(host, awkward_profile());
	if (result == 0)
		result = test_host_finish(host);
	subject_expect_reason(host, "finish", result);
	ck_assert_msg(result < 0 || !host->failure[0],
		      "writing failed (%s), but no callback did: return what output_write() returned", host->failure);
	test_host_free(host);
}
END_TEST

void checks_add_sink(struct check_list *checks, uint32_t flags)
{
	check_add(checks, "finish() without any data", nothing_is_written);
	check_add(checks, "an empty profile is written", an_empty_run_is_written);
	check_add(checks, "awkward names, longer structs and unknown records are written", awkward_data_is_written);
	if (flags & IAPROF_PLUGIN_DIFFERENCES)
		check_add(checks, "the difference of two runs is written", awkward_differences_are_written);
	check_add(checks, "an output that cannot be written is an error", a_full_disk_is_reported);
}
