/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the records of a source: their form, and their consistency. */
#include "subject.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "bus/record_check.h"
#include "bus/record_gate.h"
#include "record_rules.h"

/* The rules are applied to the records of one run; further checks report what was found. */
static record_rule *const rules[] = { rule_types,    rule_enums,  rule_declared, rule_code,
				      rule_progress, rule_arrays, rule_details };
enum { RULE_TYPES, RULE_ENUMS, RULE_DECLARED, RULE_CODE, RULE_PROGRESS, RULE_ARRAYS, RULE_DETAILS, RULE_COUNT };

static int findings_file(void)
{
	return atoi(getenv(SUBJECT_FINDINGS));
}

enum id_kind { ID_STRING, ID_STACK, ID_VALUE_TYPE };

/* Offsets of the ids in a record that a source must have obtained from the host. */
#define ID(KIND, TYPE, type, member)                                                                                   \
	{                                                                                                              \
		IAPROF_RECORD_##TYPE, offsetof(struct iaprof_record_##type, member), ID_##KIND                         \
	}
static const struct {
	uint16_t type;
	uint16_t offset;
	enum id_kind kind;
} ids[] = {
	ID(STRING, METADATA, metadata, key),
	ID(STRING, METADATA, metadata, value),
	ID(STRING, PROCESS, process, name),
	ID(STRING, MAPPING, mapping, path),
	ID(STRING, SAMPLE, sample, name),
	ID(STRING, SAMPLE, sample, thread_name),
	ID(STRING, SAMPLE, sample, reason),
	ID(STRING, SAMPLE, sample, waker_name),
	ID(STACK, SAMPLE, sample, user_stack),
	ID(STACK, SAMPLE, sample, kernel_stack),
	ID(STACK, SAMPLE, sample, waker_user_stack),
	ID(STACK, SAMPLE, sample, waker_kernel_stack),
	ID(VALUE_TYPE, SAMPLE, sample, value_type),
	ID(STRING, DEVICE, device, name),
	ID(STRING, DEVICE, device, address),
	ID(STRING, DEVICE, device, value_name),
	ID(STRING, DEVICE, device, value_unit),
	ID(STRING, CODE_OBJECT, code_object, path),
	ID(STRING, KERNEL, kernel, name),
	ID(STRING, LAUNCH, launch, thread_name),
	ID(STACK, LAUNCH, launch, user_stack),
	ID(STACK, LAUNCH, launch, kernel_stack),
	ID(STRING, STALL_REASON, stall_reason, name),
	ID(STRING, CALL, call, name),
	ID(STRING, CALL, call, parent),
	ID(STRING, CALL, call, thread_name),
	ID(STACK, CALL, call, user_stack),
	ID(VALUE_TYPE, CALL, call, time_type),
	ID(VALUE_TYPE, CALL, call, count_type),
	ID(STRING, CALL_FUNCTION, call_function, name),
	ID(STRING, CALL_FUNCTION, call_function, family),
	ID(STRING, HISTOGRAM, histogram, name),
	ID(STRING, HISTOGRAM, histogram, unit),
	ID(STRING, JOB, job, engine),
	ID(STRING, JOB, job, thread_name),
	ID(VALUE_TYPE, JOB, job, time_type),
	ID(STRING, COUNTER, counter, name),
	ID(STRING, COUNTER, counter, unit),
	ID(STRING, COUNTER, counter, engine),
	ID(STRING, COUNTER, counter, labels),
	ID(STRING, FINDING, finding, name),
	ID(STRING, FINDING, finding, text),
	ID(STRING, LOST, lost, reason),
	ID(VALUE_TYPE, LOST, lost, value_type),
	ID(STRING, DEVICE_ACTIVITY, device_activity, label),
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
	if (record->type != IAPROF_RECORD_STALL_SAMPLE)
		return;
	const struct iaprof_record_stall_details *details = iaprof_record_stall_sample_details((const void *)record);
	if (details && details->value_type)
		test_host_value_type(host, details->value_type);
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
	uint64_t start = host->host.clock(&host->host);
	source_run(host);
	test_host_stop(host);
	uint64_t now = host->host.clock(&host->host);
	bool replays = host->plugin.flags & (IAPROF_PLUGIN_LOSSLESS | IAPROF_PLUGIN_REPLAYS);
	apply_rules(host);
	for (const struct iaprof_record *record = NULL; (record = test_host_next(host, record, 0));) {
		expect_ids(host, record);
		ck_assert_msg(replays || record->time <= now,
			      "a record of type %u is of the future: times are CLOCK_MONOTONIC ns", record->type);
		ck_assert_msg(replays || start < IAPROF_TIME_AHEAD_MAX ||
				      !record_is_before(record, start - IAPROF_TIME_AHEAD_MAX),
			      "a %s record ends before start(): times are CLOCK_MONOTONIC ns",
			      record_type_name(record->type));
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

START_TEST(enums_are_defined)
{
	expect_rule(RULE_ENUMS);
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

START_TEST(arrays_have_an_offset)
{
	expect_rule(RULE_ARRAYS);
}
END_TEST

START_TEST(details_agree)
{
	expect_rule(RULE_DETAILS);
}
END_TEST

void checks_add_records(struct check_list *checks, uint32_t flags)
{
	check_add(checks, "its records are well formed, of the time of the run, and use ids that the host returned",
		  records_are_valid);
	check_add(checks, "its records have types of this version", types_are_known);
	check_add(checks, "its records have enum values and flags of this version", enums_are_defined);
	if (flags & IAPROF_PLUGIN_REPLAYS) /* what was recorded may be incomplete */
		return;
	check_add(checks, "it declares devices, code, kernels, stall reasons and counters before it refers to them",
		  ids_are_declared);
	check_add(checks, "its stall samples lie in code that it has announced", samples_have_code);
	check_add(checks, "it states how far it has come with its code and launches", progress_is_stated);
	check_add(checks, "its records state where their arrays begin", arrays_have_an_offset);
	check_add(checks, "the details of its stall samples agree with their address space", details_agree);
}
