/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the records of a source: their form, and their consistency. */
#include "subject.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "record_rules.h"

/* The rules are applied to the records of one run; further checks report what was found. */
static record_rule *const rules[] = { rule_types, rule_declared, rule_code, rule_progress };
enum { RULE_TYPES, RULE_DECLARED, RULE_CODE, RULE_PROGRESS, RULE_COUNT };

static int findings_file(void)
{
	return atoi(getenv(SUBJECT_FINDINGS));
}

enum id_kind { ID_STRING, ID_STACK, ID_VALUE_TYPE };

/* Offsets of the ids in a record that a source must have obtained from the host. */
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
	{ IAPROF_RECORD_CALL, offsetof(struct iaprof_record_call, thread_name), ID_STRING },
	{ IAPROF_RECORD_JOB, offsetof(struct iaprof_record_job, engine), ID_STRING },
	{ IAPROF_RECORD_JOB, offsetof(struct iaprof_record_job, thread_name), ID_STRING },
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
		if (ids[i].type != record->type || ids[i].offset + sizeof(uint32_t) > record->size)
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

static void apply_rules(const struct test_host *host)
{
	struct finding findings[RULE_COUNT] = { 0 };
	for (size_t i = 0; i < RULE_COUNT; i++)
		rules[i](host, &findings[i]);
	ck_assert_int_eq(pwrite(findings_file(), findings, sizeof findings, 0), sizeof findings);
}

START_TEST(records_are_valid)
{
	struct test_host *host = source_new();
	source_run(host);
	test_host_stop(host);
	uint64_t now = host->host.clock(&host->host);
	bool replays = host->plugin.flags & (IAPROF_PLUGIN_LOSSLESS | IAPROF_PLUGIN_REPLAYS);
	apply_rules(host);
	for (const struct iaprof_record *record = NULL; (record = test_host_next(host, record, 0));) {
		expect_ids(host, record);
		ck_assert_msg(replays || record->time <= now,
			      "a record of type %u is of the future: times are CLOCK_MONOTONIC ns", record->type);
	}
	test_host_free(host);
}
END_TEST

static void expect_rule(int rule)
{
	struct finding finding;
	if (pread(findings_file(), &finding, sizeof finding, rule * (off_t)sizeof finding) != sizeof finding)
		ck_abort_msg(SUBJECT_SKIP "no run of the source was complete");
	ck_assert_msg(!finding.text[0], "%s", finding.text);
}

START_TEST(types_are_known)
{
	expect_rule(RULE_TYPES);
}
END_TEST

START_TEST(ids_are_declared)
{
	expect_rule(RULE_DECLARED);
}
END_TEST

START_TEST(samples_have_code)
{
	expect_rule(RULE_CODE);
}
END_TEST

START_TEST(progress_is_stated)
{
	expect_rule(RULE_PROGRESS);
}
END_TEST

void checks_add_records(struct check_list *checks, uint32_t flags)
{
	check_add(checks, "its records are well formed, of the past, and use ids that were given to it",
		  records_are_valid);
	check_add(checks, "its records have types of this version", types_are_known);
	if (flags & IAPROF_PLUGIN_REPLAYS) /* what was recorded may be incomplete */
		return;
	check_add(checks, "it declares devices, code, kernels, stall reasons and counters before it refers to them",
		  ids_are_declared);
	check_add(checks, "its stall samples lie in code that it has announced", samples_have_code);
	check_add(checks, "it states how far it has come with its code and launches", progress_is_stated);
}
