/* SPDX-License-Identifier: Apache-2.0 */
/* What a source sends, and what it does when iaprof takes nothing. */
#include "subject.h"

#include <errno.h>

#define RUN_MILLISECONDS 300

static struct test_host *source_new(void)
{
	struct test_host *host = subject_new();
	subject_configure(host);
	subject_prepare(host);
	return host;
}

static void begin_and_run(struct test_host *host)
{
	int result = test_host_begin(host);
	subject_expect_reason(host, "start", result);
	ck_assert_msg(result == 0, "start: %s", host->failure);
	ck_assert_msg(test_host_run(host, RUN_MILLISECONDS) == 0, "a callback failed: %s", host->failure);
}

enum id_kind { ID_STRING, ID_STACK, ID_VALUE_TYPE };

/* Where the ids of a record are that a source must have got from the host. */
static const struct {
	uint16_t type;
	uint16_t offset;
	enum id_kind kind;
} ids[] = {
	{ IAPROF_RECORD_METADATA, offsetof(struct iaprof_record_metadata, key), ID_STRING },
	{ IAPROF_RECORD_METADATA, offsetof(struct iaprof_record_metadata, value), ID_STRING },
	{ IAPROF_RECORD_PROCESS, offsetof(struct iaprof_record_process, name), ID_STRING },
	{ IAPROF_RECORD_MAPPING, offsetof(struct iaprof_record_mapping, path), ID_STRING },
	{ IAPROF_RECORD_SAMPLE, offsetof(struct iaprof_record_sample, name), ID_STRING },
	{ IAPROF_RECORD_SAMPLE, offsetof(struct iaprof_record_sample, user_stack), ID_STACK },
	{ IAPROF_RECORD_SAMPLE, offsetof(struct iaprof_record_sample, kernel_stack), ID_STACK },
	{ IAPROF_RECORD_SAMPLE, offsetof(struct iaprof_record_sample, value_type), ID_VALUE_TYPE },
	{ IAPROF_RECORD_DEVICE, offsetof(struct iaprof_record_device, name), ID_STRING },
	{ IAPROF_RECORD_DEVICE, offsetof(struct iaprof_record_device, address), ID_STRING },
	{ IAPROF_RECORD_CODE_OBJECT, offsetof(struct iaprof_record_code_object, path), ID_STRING },
	{ IAPROF_RECORD_KERNEL, offsetof(struct iaprof_record_kernel, name), ID_STRING },
	{ IAPROF_RECORD_LAUNCH, offsetof(struct iaprof_record_launch, user_stack), ID_STACK },
	{ IAPROF_RECORD_LAUNCH, offsetof(struct iaprof_record_launch, kernel_stack), ID_STACK },
	{ IAPROF_RECORD_STALL_REASON, offsetof(struct iaprof_record_stall_reason, name), ID_STRING },
	{ IAPROF_RECORD_CALL, offsetof(struct iaprof_record_call, name), ID_STRING },
	{ IAPROF_RECORD_CALL, offsetof(struct iaprof_record_call, parent), ID_STRING },
	{ IAPROF_RECORD_CALL, offsetof(struct iaprof_record_call, user_stack), ID_STACK },
	{ IAPROF_RECORD_COUNTER, offsetof(struct iaprof_record_counter, name), ID_STRING },
	{ IAPROF_RECORD_COUNTER, offsetof(struct iaprof_record_counter, unit), ID_STRING },
	{ IAPROF_RECORD_FINDING, offsetof(struct iaprof_record_finding, name), ID_STRING },
	{ IAPROF_RECORD_FINDING, offsetof(struct iaprof_record_finding, text), ID_STRING },
	{ IAPROF_RECORD_LOST, offsetof(struct iaprof_record_lost, reason), ID_STRING },
	{ IAPROF_RECORD_LOST, offsetof(struct iaprof_record_lost, value_type), ID_VALUE_TYPE },
};

/* The host's look-ups fail the check for an id that was never defined; 0 is none. */
static void expect_ids(const struct test_host *host, const struct iaprof_record *record)
{
	for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
		if (ids[i].type != record->type)
			continue;
		uint32_t id = *(const uint32_t *)((const char *)record + ids[i].offset);
		if (ids[i].kind == ID_STRING)
			test_host_string(host, id);
		else if (ids[i].kind == ID_STACK)
			test_host_stack(host, id);
		else if (id || record->type == IAPROF_RECORD_SAMPLE)
			test_host_value_type(host, id);
	}
}

static bool counter_is_declared(const struct test_host *host, const struct iaprof_record *before, uint32_t id)
{
	const struct iaprof_record *record = NULL;
	while ((record = test_host_next(host, record, IAPROF_RECORD_COUNTER)) && record < before)
		if (((const struct iaprof_record_counter *)record)->id == id)
			return true;
	return false;
}

START_TEST(records_are_valid)
{
	struct test_host *host = source_new();
	begin_and_run(host);
	test_host_stop(host);
	uint64_t now = host->host.clock(&host->host);
	bool replays = host->plugin.flags & (IAPROF_PLUGIN_LOSSLESS | IAPROF_PLUGIN_REPLAYS);
	for (const struct iaprof_record *record = NULL; (record = test_host_next(host, record, 0));) {
		expect_ids(host, record);
		ck_assert_msg(replays || record->time <= now,
			      "a record of type %u is of the future: times are CLOCK_MONOTONIC ns", record->type);
		if (record->type == IAPROF_RECORD_COUNTER_VALUE) {
			uint32_t id = ((const struct iaprof_record_counter_value *)record)->counter;
			ck_assert_msg(counter_is_declared(host, record, id), "counter %u is set before it is declared",
				      id);
		}
	}
	test_host_free(host);
}
END_TEST

START_TEST(full_queue_is_survived)
{
	struct test_host *host = source_new();
	host->emit_error = -ENOSPC;
	begin_and_run(host);
	test_host_stop(host);
	subject_expect_thread(host);
	test_host_free(host);
}
END_TEST

START_TEST(refusal_is_survived)
{
	struct test_host *host = source_new();
	host->emit_error = -EINVAL;
	if (test_host_begin(host) == 0)
		test_host_run(host, RUN_MILLISECONDS); /* it may fail: iaprof has said why */
	test_host_free(host);
}
END_TEST

void checks_add_source(Suite *suite, uint32_t flags)
{
	check_add(suite, "its records are well formed, of the past, and use ids that were given to it",
		  records_are_valid);
	if (!(flags & (IAPROF_PLUGIN_LOSSLESS | IAPROF_PLUGIN_REPLAYS))) /* for these iaprof waits for room */
		check_add(suite, "it goes on when the queue is full", full_queue_is_survived);
	check_add(suite, "it can be destroyed when its records are refused", refusal_is_survived);
}
