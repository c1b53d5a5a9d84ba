/* SPDX-License-Identifier: Apache-2.0 */
/* Sink csv: its tables as Python's csv module reads them, in strict mode. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "test_host.h"
#include "test_profile.h"
#include "test_records.h"
#include "../run_suite.h"

/* What Python makes of a file: rows that end with \x1e, of fields that end with \x1f. */
#define PYTHON                                                                                                         \
	"python3 -c 'import csv, sys\n"                                                                                \
	"for row in csv.reader(open(sys.argv[1], newline=\"\", encoding=\"utf-8\"), strict=True):\n"                   \
	"    sys.stdout.buffer.write((\"\".join(field + \"\\x1f\" for field in row) + \"\\x1e\").encode())' "

static struct test_host *host;
static struct test_profile profile;
static char *table; /* as Python wrote it */

static void setup(void)
{
	profile = (struct test_profile){ 0 };
	host = NULL;
	table = NULL;
}

static void teardown(void)
{
	if (host)
		test_host_free(host);
	test_profile_free(&profile);
	free(table);
}

static void table_read(void)
{
	struct test_output *output = test_host_output(host, NULL);
	ck_assert_ptr_nonnull(output);
	ck_assert(output->closed);
	char path[] = P_tmpdir "/iaprof-test-csv-XXXXXX";
	int descriptor CLEANUP_CLOSE = mkstemp(path);
	ck_assert_int_ge(descriptor, 0);
	ck_assert_int_eq(write(descriptor, output->data, output->size), (ssize_t)output->size);
	char command[sizeof PYTHON + sizeof path];
	snprintf(command, sizeof command, "%s%s", PYTHON, path);
	FILE *python = popen(command, "r");
	ck_assert_ptr_nonnull(python);
	size_t capacity = 0;
	ssize_t size = getdelim(&table, &capacity, '\0', python);
	ck_assert_int_eq(pclose(python), 0);
	unlink(path);
	ck_assert_int_gt(size, 0);
}

static int row_count(void)
{
	int count = 0;
	for (const char *c = table; *c; c++)
		count += *c == '\x1e';
	return count;
}

/* The field of a row (0: the header) with a column's name; good until the next call. */
static const char *field(int row, const char *column)
{
	static char found[65536];
	int position = -1;
	const char *c = table;
	for (int i = 0; i <= row; i++, c++) {
		ck_assert_msg(*c != '\0', "there is no row %d", row);
		for (int at = 0; *c != '\x1e'; at++) {
			size_t length = strcspn(c, "\x1f");
			ck_assert_uint_lt(length, sizeof found);
			if (i == 0 && length == strlen(column) && strncmp(c, column, length) == 0)
				position = at;
			if (i == row && at == position) {
				memcpy(found, c, length);
				found[length] = '\0';
				return found;
			}
			c += length + 1;
		}
	}
	ck_abort_msg("there is no column %s in row %d", column, row);
}

#define EXPECT(row, column, expected) ck_assert_str_eq(field(row, column), expected)

/* Checks fields of a row: pairs of a column and its text. */
static void fields_check(int row, const char *const *pairs)
{
	for (; *pairs; pairs += 2)
		ck_assert_msg(!strcmp(field(row, pairs[0]), pairs[1]), "row %d: %s is %s, not %s", row, pairs[0],
			      field(row, pairs[0]), pairs[1]);
}

#define EXPECT_ROW(row, ...) fields_check(row, (const char *const[]){ __VA_ARGS__, NULL })

static void write_profile(void)
{
	test_host_start(host);
	ck_assert_msg(test_host_send_profile(host, test_profile_get(&profile)) == 0, "%s", host->failure);
	test_host_stop(host);
	table_read();
}

TEST(writes_a_row_for_each_stack)
{
	host = test_host_new("csv", NULL);
	uint32_t cpu = test_profile_value_type(&profile, "cpu", "nanoseconds");
	uint32_t calls = test_profile_value_type(&profile, "npu-calls", "count");
	test_profile_add(&profile, "prog;main;f", calls, 3);
	test_profile_add(&profile, "prog;main;g", cpu, 1000);
	test_profile_add(&profile, "prog;main;f", cpu, 18446744073709551000u);
	test_profile_add(&profile, "idle", cpu, 5);
	test_profile_add(&profile, "prog;main;g", cpu, 1);
	write_profile();
	ck_assert_int_eq(row_count(), 5);
	static const char *const expected[][6] = {
		{ "idle", "", "idle", "cpu", "5", "1" },
		{ "prog", "f", "prog;main;f", "cpu", "18446744073709551000", "1" },
		{ "prog", "g", "prog;main;g", "cpu", "1001", "2" },
		{ "prog", "f", "prog;main;f", "npu-calls", "3", "1" },
	};
	for (int i = 0; i < 4; i++) {
		EXPECT(i + 1, "program", expected[i][0]);
		EXPECT(i + 1, "function", expected[i][1]);
		EXPECT(i + 1, "stack", expected[i][2]);
		EXPECT(i + 1, "value_type", expected[i][3]);
		EXPECT(i + 1, "value", expected[i][4]);
		EXPECT(i + 1, "count", expected[i][5]);
		EXPECT(i + 1, "unit", i == 3 ? "count" : "nanoseconds");
		EXPECT(i + 1, "pid", "");
		EXPECT(i + 1, "interval", "0");
		EXPECT(i + 1, "begin", "1000");
		EXPECT(i + 1, "end", "5000001000");
		EXPECT(i + 1, "begin_realtime", "1700000000000000000");
	}
}

TEST(writes_each_interval)
{
	host = test_host_new("csv", NULL);
	uint32_t cpu = test_profile_value_type(&profile, "cpu", "nanoseconds");
	test_profile_add(&profile, "a", cpu, 1);
	test_host_start(host);
	for (uint32_t i = 0; i < 3; i++) {
		test_profile_get(&profile);
		profile.profile.interval = i;
		profile.profile.begin = i * 1000;
		ck_assert_int_eq(test_host_send_profile(host, &profile.profile), 0);
		const struct test_output *output = test_host_output(host, NULL);
		ck_assert_uint_eq(output->flushed, output->size);
	}
	test_host_stop(host);
	table_read();
	ck_assert_uint_eq(host->outputs.count, 1);
	ck_assert_int_eq(row_count(), 4);
	EXPECT(1, "interval", "0");
	EXPECT_ROW(3, "interval", "2", "begin", "2000");
}

TEST(puts_the_pid_into_its_column)
{
	host = test_host_new("csv", "pid=yes", NULL);
	uint32_t cpu = test_profile_value_type(&profile, "cpu", "nanoseconds");
	uint32_t frame = test_profile_frame(
		&profile, &(struct iaprof_frame){ .name = "prog", .kind = IAPROF_FRAME_PROCESS, .pid = 4242 });
	test_profile_value(&profile, test_profile_stack(&profile, &frame, 1), cpu, 1);
	write_profile();
	ck_assert_uint_eq(host->requested, IAPROF_REQUEST_PIDS);
	EXPECT_ROW(1, "program", "prog", "pid", "4242", "stack", "prog;4242");
}

/* The third one is of the second's span, and the last one of another trace with the same span id. */
static const struct iaprof_span spans[] = {
	{ { 0 }, { 0 } }, { { [15] = 1 }, { [7] = 2 } }, { { [15] = 1 }, { [7] = 2 } }, { { [15] = 3 }, { [7] = 2 } }
};

static void write_spans(void)
{
	uint32_t cpu = test_profile_value_type(&profile, "cpu", "nanoseconds");
	uint32_t frame =
		test_profile_frame(&profile, &(struct iaprof_frame){ .name = "prog", .kind = IAPROF_FRAME_PROCESS });
	for (size_t i = 0; i < sizeof spans / sizeof *spans; i++) {
		uint32_t stack = test_profile_stack(&profile, &frame, 1);
		profile.stacks.items[stack].span = spans[i];
		test_profile_value(&profile, stack, cpu, 10 * (i + 1));
	}
	write_profile();
}

TEST(writes_a_row_for_each_span)
{
	host = test_host_new("csv", "spans=yes", NULL);
	write_spans();
	ck_assert_uint_ne(host->requested & IAPROF_REQUEST_SPANS, 0);
	static const struct {
		const char *trace, *span, *value;
	} expected[] = { { "", "", "10" },
			 { "00000000000000000000000000000001", "0000000000000002", "50" },
			 { "00000000000000000000000000000003", "0000000000000002", "40" } };
	ck_assert_int_eq(row_count(), 4);
	for (int i = 0; i < 3; i++) {
		EXPECT(i + 1, "stack", "prog");
		EXPECT(i + 1, "trace_id", expected[i].trace);
		EXPECT(i + 1, "span_id", expected[i].span);
		EXPECT(i + 1, "value", expected[i].value);
	}
}

/* Another sink may have requested them. */
TEST(merges_spans_that_nobody_wants)
{
	host = test_host_new("csv", NULL);
	write_spans();
	ck_assert_uint_eq(host->requested & IAPROF_REQUEST_SPANS, 0);
	ck_assert_int_eq(row_count(), 2);
	EXPECT_ROW(1, "value", "100", "trace_id", "", "span_id", "");
}

TEST(writes_what_was_lost)
{
	host = test_host_new("csv", NULL);
	test_profile_lost(&profile, &(struct iaprof_lost){ .source = "cpu-stack",
							   .reason = "stack map full; more",
							   .count = 12,
							   .unknown = 2,
							   .value_type = UINT32_MAX });
	write_profile();
	ck_assert_int_eq(row_count(), 3);
	EXPECT_ROW(1, "program", "[lost]", "function", "stack map full: more", "stack",
		   "[lost];cpu-stack;stack map full: more", "value_type", "lost", "unit", "events", "value", "12");
	EXPECT_ROW(2, "value_type", "lost-unknown", "unit", "times", "value", "2");
}

static const struct {
	const char *name, *plain, *escaped;
} hostile[] = {
	{ "a,b", "a,b", NULL },
	{ "say \"hi\"", "say \"hi\"", NULL },
	{ "\"", "\"", NULL },
	{ "\",\"", "\",\"", NULL },
	{ "a\r\nb,c", "a??b,c", NULL },
	{ "=cmd|' /C calc'!A0", "=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0" },
	{ "+1", "+1", "'+1" },
	{ "-[NSObject init]", "-[NSObject init]", "'-[NSObject init]" },
	{ "@SUM(A1,\"x\")", "@SUM(A1,\"x\")", "'@SUM(A1,\"x\")" },
	{ " =1", "=1", "'=1" },
	{ "\xff\xc3", "??", NULL },
	{ "\xe7\x81\xab", "\xe7\x81\xab", NULL },
	{ "", "[unknown]", NULL },
};

TEST_LOOP(keeps_hostile_names_inside_their_field, 0, 2 * (int)(sizeof hostile / sizeof hostile[0]))
{
	bool escape = _i % 2;
	const char *expected = escape && hostile[_i / 2].escaped ? hostile[_i / 2].escaped : hostile[_i / 2].plain;
	host = test_host_new("csv", escape ? "escape=yes" : "escape=no", NULL);
	uint32_t cpu = test_profile_value_type(&profile, "cpu", "nanoseconds");
	uint32_t frames[] = {
		test_profile_frame(
			&profile, &(struct iaprof_frame){ .name = hostile[_i / 2].name, .kind = IAPROF_FRAME_PROCESS }),
		test_profile_frame(&profile,
				   &(struct iaprof_frame){ .name = hostile[_i / 2].name, .kind = IAPROF_FRAME_USER }),
	};
	test_profile_value(&profile, test_profile_stack(&profile, frames, 2), cpu, 1);
	write_profile();
	ck_assert_int_eq(row_count(), 2);
	EXPECT(1, "program", expected);
	EXPECT(1, "function", expected);
	char stack[256];
	snprintf(stack, sizeof stack, "%s;%s", expected, hostile[_i / 2].plain);
	EXPECT(1, "stack", stack);
	EXPECT(1, "value", "1");
}

TEST_LOOP(ends_lines_as_asked, 0, 2)
{
	host = test_host_new("csv", _i ? "newline=lf" : "newline=crlf", NULL);
	uint32_t cpu = test_profile_value_type(&profile, "cpu", "nanoseconds");
	test_profile_add(&profile, "a", cpu, 1);
	write_profile();
	size_t lines = 0, returns = 0;
	for (const char *c = test_host_output(host, NULL)->data; *c; c++) {
		lines += *c == '\n';
		returns += c[0] == '\r' && c[1] == '\n';
	}
	ck_assert_uint_eq(lines, 2);
	ck_assert_uint_eq(returns, _i ? 0 : 2);
}

TEST_LOOP(writes_a_header_for_an_empty_run, 0, 2)
{
	host = test_host_new("csv", _i ? "rows=events" : "rows=stacks", NULL);
	test_host_start(host);
	test_host_stop(host);
	table_read();
	ck_assert_int_eq(row_count(), 1);
	ck_assert_str_eq(field(0, _i ? "record" : "stack"), _i ? "record" : "stack");
}

TEST_LOOP(reports_a_full_disk, 0, 2)
{
	host = test_host_new("csv", NULL);
	host->output_limit = _i ? 150 : 10; /* in a row, in the header */
	uint32_t cpu = test_profile_value_type(&profile, "cpu", "nanoseconds");
	test_profile_add(&profile, "a", cpu, 1);
	test_host_start(host);
	ck_assert_int_eq(test_host_send_profile(host, test_profile_get(&profile)), -ENOSPC);
	ck_assert(!test_host_output(host, NULL)->closed);
}

TEST_LOOP(refuses_options_that_mean_nothing, 0, 4)
{
	static const char *const settings[] = { "pid=yes", "module=yes", "annotate=no", "blame=producer" };
	host = test_host_new("csv", "rows=events", settings[_i], NULL);
	ck_assert_int_eq(test_host_configure(host), -EINVAL);
	ck_assert_ptr_nonnull(strstr(host->failure, "rows=stacks"));
}

/* Records as the bus brings them, definitions first. The host's own store makes the ids. */
static uint32_t text_id(const char *text)
{
	return test_records_intern_string(host, text, strlen(text));
}

/* A record of source 1 at this time, with these members set. */
#define RECORD(NUMBER, STRUCT, ...)                                                                                    \
	test_records_put(host, &(struct STRUCT){ .header = { .size = sizeof(struct STRUCT),                            \
							     .type = (NUMBER),                                         \
							     .source = 1,                                              \
							     .time = 9000000000000000001 },                            \
						 __VA_ARGS__ }                                                         \
					.header)

static void events_send(void)
{
	test_host_start(host);
	ck_assert_int_eq(test_host_send(host, host->records, host->record_size, (uint32_t)host->record_count), 0);
	test_host_stop(host);
	table_read();
}

TEST(writes_a_row_for_each_event)
{
	host = test_host_new("csv", "rows=events", NULL);
	uint64_t addresses[] = { 0x3000, 0x2000, 0xffffffff81000000 };
	uint32_t user = test_records_intern_stack(host, 77, addresses, 2);
	uint32_t kernel = test_records_intern_stack(host, 0, addresses + 2, 1);
	uint32_t cpu = text_id("cpu"), nanoseconds = text_id("nanoseconds"), prog = text_id("prog, \"x\"");
	RECORD(IAPROF_RECORD_SOURCE, iaprof_record_source, .number = 1, .name = text_id("cpu-stack"));
	RECORD(IAPROF_RECORD_VALUE_TYPE, iaprof_record_value_type, .id = 5, .name = cpu, .unit = nanoseconds,
	       .period = 10101010);
	RECORD(IAPROF_RECORD_METADATA, iaprof_record_metadata, .key = text_id("frequency"), .value = text_id("99 Hz"));
	RECORD(IAPROF_RECORD_PROCESS, iaprof_record_process, .pid = 77, .parent_pid = 1, .event = IAPROF_PROCESS_EXEC,
	       .name = prog);
	RECORD(IAPROF_RECORD_MAPPING, iaprof_record_mapping, .pid = 77, .path = text_id("/usr/bin/prog"),
	       .start = 0x400000, .size = 4096, .file_offset = 512, .inode = 99, .device_major = 8, .device_minor = 1,
	       .flags = IAPROF_MAPPING_EXISTING, .build_id_size = 3, .build_id = { 0xab, 0x00, 0x1f });
	RECORD(IAPROF_RECORD_SAMPLE, iaprof_record_sample, .pid = 77, .tid = 78, .name = prog, .cpu = 0,
	       .user_stack = user, .kernel_stack = kernel, .value_type = 5, .flags = IAPROF_SAMPLE_TRUNCATED | 1u << 9,
	       .count = 2, .value = 20202020, .first_time = 8,
	       .span = { .trace_id = { 0x0a, [15] = 0x9c }, .span_id = { 0x01, [7] = 0xb7 } });
	RECORD(IAPROF_RECORD_CALL, iaprof_record_call, .name = text_id("ioctl"), .pid = 77, .duration = 5, .count = 1,
	       .result = -22, .parent = text_id("outer"), .depth = 1, .thread_name = text_id("worker"));
	RECORD(IAPROF_RECORD_COUNTER, iaprof_record_counter, .id = 4, .name = text_id("power"),
	       .unit = text_id("watts"), .kind = IAPROF_COUNTER_GAUGE);
	RECORD(IAPROF_RECORD_COUNTER_VALUE, iaprof_record_counter_value, .counter = 4, .value = 0.1);
	RECORD(IAPROF_RECORD_FINDING, iaprof_record_finding, .severity = IAPROF_FINDING_WARNING, .name = text_id("hot"),
	       .text = text_id("too hot"), .value = 1e300, .threshold = -2.5);
	RECORD(IAPROF_RECORD_LOST, iaprof_record_lost, .reason = text_id("ring full"), .count = IAPROF_COUNT_UNKNOWN,
	       .begin = 4);
	struct {
		struct iaprof_record_module head;
		uint8_t build_id[8];
	} module = { .head = { .header = { .size = sizeof module, .type = IAPROF_RECORD_MODULE },
			       .path = text_id("/usr/bin/prog"),
			       .build_id_size = 3 },
		     .build_id = { 0xab, 0x00, 0x1f } };
	test_records_put(host, &module.head.header);
	RECORD(IAPROF_RECORD_SYNC, iaprof_record_sync);
	events_send();

	ck_assert_int_eq(row_count(), 13);
	EXPECT_ROW(1, "record", "source", "name", "cpu-stack");
	EXPECT_ROW(2, "record", "value-type", "unit", "nanoseconds", "value", "10101010");
	EXPECT_ROW(3, "record", "metadata", "name", "frequency", "text", "99 Hz");
	EXPECT_ROW(4, "record", "process", "kind", "exec", "pid", "77", "parent", "1", "name", "prog, \"x\"");
	EXPECT_ROW(5, "record", "mapping", "address", "0x400000", "size", "4096", "offset", "512", "device", "8:1",
		   "inode", "99", "flags", "existing", "build_id", "ab001f");
	EXPECT_ROW(6, "record", "sample", "tid", "78", "cpu", "0", "stack", "0x2000;0x3000", "kernel_stack",
		   "0xffffffff81000000", "value_type", "cpu", "unit", "nanoseconds", "count", "2", "value", "20202020",
		   "begin", "8", "flags", "truncated|bit 9", "source", "cpu-stack", "time", "9000000000000000001",
		   "trace_id", "0a00000000000000000000000000009c", "span_id", "01000000000000b7");
	EXPECT_ROW(7, "record", "call", "trace_id", "", "thread", "worker", "name", "ioctl", "result", "-22", "parent",
		   "outer", "depth", "1", "duration", "5");
	EXPECT_ROW(8, "record", "counter", "kind", "gauge");
	EXPECT_ROW(9, "record", "counter-value", "name", "power", "unit", "watts", "value", "0.1");
	EXPECT_ROW(10, "record", "finding", "kind", "warning", "text", "too hot", "value", "1e+300", "threshold",
		   "-2.5");
	EXPECT_ROW(11, "record", "lost", "name", "ring full", "count", "", "text", "count not known", "begin", "4");
	EXPECT_ROW(12, "record", "module", "source", "iaprof", "name", "/usr/bin/prog", "build_id", "ab001f");
}

TEST(writes_calls_by_their_nesting)
{
	host = test_host_new("csv", "rows=events", NULL);
	RECORD(IAPROF_RECORD_VALUE_TYPE, iaprof_record_value_type, .id = 5, .name = text_id("npu-time"),
	       .unit = text_id("nanoseconds"));
	RECORD(IAPROF_RECORD_CALL_FUNCTION, iaprof_record_call_function, .id = 1, .name = text_id("ivpu_submit_ioctl"),
	       .family = text_id("jobs"), .kind = IAPROF_CALL_FUNCTION);
	RECORD(IAPROF_RECORD_CALL_FUNCTION, iaprof_record_call_function, .id = 2, .name = text_id("[interrupt]"),
	       .kind = IAPROF_CALL_CONTEXT);
	RECORD(IAPROF_RECORD_CALL_NODE, iaprof_record_call_node, .id = 8, .function = 2);
	RECORD(IAPROF_RECORD_CALL_NODE, iaprof_record_call_node, .id = 9, .parent = 8, .function = 1);
	RECORD(IAPROF_RECORD_CALL, iaprof_record_call, .name = text_id("ivpu_submit_ioctl"), .pid = 77, .duration = 50,
	       .count = 3, .node = 9, .time_type = 5, .self_duration = 20);
	events_send();

	ck_assert_int_eq(row_count(), 7);
	EXPECT_ROW(2, "record", "call-function", "id", "1", "name", "ivpu_submit_ioctl", "text", "jobs", "kind",
		   "function");
	EXPECT_ROW(3, "kind", "context", "text", "");
	EXPECT_ROW(4, "record", "call-node", "id", "8", "parent", "");
	EXPECT_ROW(5, "parent", "8", "name", "ivpu_submit_ioctl", "text", "jobs");
	EXPECT_ROW(6, "record", "call", "id", "9", "duration", "50", "value", "20", "value_type", "npu-time", "unit",
		   "nanoseconds");
}

TEST(writes_jobs_and_a_row_for_each_bucket)
{
	host = test_host_new("csv", "rows=events", NULL);
	struct {
		struct iaprof_record_histogram histogram;
		uint64_t buckets[11];
	} latency = { { .header = { .size = sizeof latency, .type = IAPROF_RECORD_HISTOGRAM, .source = 1, .time = 9 },
			.begin = 3,
			.count = 6,
			.name = text_id("submit"),
			.unit = text_id("nanoseconds"),
			.bucket_count = 11 },
		      { 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5 } };
	test_records_put(host, &latency.histogram.header);
	struct iaprof_record_job job = {
		.header = { .size = sizeof job, .type = IAPROF_RECORD_JOB, .source = 1, .time = 1000 },
		.submitted = 100,
		.queued = 150,
		.started = 400,
		.id = 0x205,
		.pid = 77,
		.context = 2,
		.engine = text_id("compute"),
		.state = IAPROF_JOB_ABORTED,
		.status = 256,
		.thread_name = text_id("worker"),
	};
	test_records_put(host, &job.header);
	job.header.size = offsetof(struct iaprof_record_job, thread_name);
	job.started = 0;
	job.state = IAPROF_JOB_DONE;
	test_records_put(host, &job.header);
	RECORD(IAPROF_RECORD_VALUE_TYPE, iaprof_record_value_type, .id = 5, .name = text_id("gpu-time"),
	       .unit = text_id("nanoseconds"));
	RECORD(IAPROF_RECORD_KERNEL, iaprof_record_kernel, .id = 3, .code_object = 6, .pid = 77,
	       .name = text_id("_Z4gemmv"));
	job.header.size = sizeof job;
	job.kernel = 3;
	job.time_type = 5;
	test_records_put(host, &job.header);
	RECORD(IAPROF_RECORD_CODE_FUNCTION, iaprof_record_code_function, .code_object = 6, .name = text_id("_Z4gemmv"),
	       .shown_name = text_id("gemm()"));
	events_send();

	ck_assert_int_eq(row_count(), 9);
	EXPECT_ROW(8, "record", "job", "text", "gemm()", "value_type", "gpu-time", "unit", "nanoseconds");
	EXPECT_ROW(1, "record", "histogram", "value", "0", "count", "1", "begin", "3");
	EXPECT_ROW(2, "value", "1024", "count", "5", "name", "submit", "unit", "nanoseconds");
	EXPECT_ROW(3, "record", "job", "id", "517", "parent", "2", "pid", "77", "kind", "aborted", "name", "compute",
		   "begin", "100", "duration", "900", "value", "600", "result", "256", "thread", "worker");
	EXPECT_ROW(4, "kind", "done", "duration", "900", "value", "", "thread", ""); /* its start is not known */
}

/* The kernel and its launch wait for what the core will find in the image, here to the end. */
TEST(writes_device_events)
{
	host = test_host_new("csv", "rows=events", NULL);
	uint32_t gpu = text_id("GPU, tile 0");
	RECORD(IAPROF_RECORD_DEVICE, iaprof_record_device, .id = 2, .name = gpu, .address = text_id("0000:03:00.0"),
	       .machine = 205);
	/* Ids are a source's own: another one's device 2 is another device. */
	struct iaprof_record_device other = {
		.header = { .size = sizeof other, .type = IAPROF_RECORD_DEVICE, .source = 2 },
		.id = 2,
		.name = text_id("NPU")
	};
	test_records_put(host, &other.header);
	RECORD(IAPROF_RECORD_CODE_OBJECT, iaprof_record_code_object, .id = 6, .pid = 77, .device = 2, .machine = 205,
	       .address = 0x8000, .size = 640, .path = text_id("/tmp/image"), .build_id_size = 1, .build_id = { 7 });
	RECORD(IAPROF_RECORD_KERNEL, iaprof_record_kernel, .id = 3, .code_object = 6, .pid = 77,
	       .name = text_id("gemm"), .address = 0x8040, .size = 64);
	RECORD(IAPROF_RECORD_LAUNCH, iaprof_record_launch, .kernel = 3, .pid = 77, .device = 2, .count = 4,
	       .span = { .trace_id = { 0x0a, [15] = 0x9c }, .span_id = { 0x01, [7] = 0xb7 } });
	RECORD(IAPROF_RECORD_STALL_REASON, iaprof_record_stall_reason, .id = 1, .name = text_id("sbid"));
	struct {
		struct iaprof_record_stall_sample sample;
		uint64_t counts[4];
	} stall = { { .header = { .size = sizeof stall, .type = IAPROF_RECORD_STALL_SAMPLE, .source = 1, .time = 9 },
		      .begin = 3,
		      .address = 0x8048,
		      .device = 2,
		      .address_space = 1,
		      .reason_count = 4 },
		    { 0, 11, 0, 13 } };
	test_records_put(host, &stall.sample.header);
	memset(stall.counts, 0, sizeof stall.counts);
	test_records_put(host, &stall.sample.header);
	struct {
		struct iaprof_record_frames frames;
		struct iaprof_record_frame items[2];
	} frames = { { .header = { .size = sizeof frames, .type = IAPROF_RECORD_FRAMES, .time = 9 },
		       .address = 0x2000,
		       .process = 8,
		       .mapping = 9,
		       .frame_count = 2 },
		     { { .name = text_id("main"),
			 .module = text_id("/usr/bin/prog"),
			 .kind = IAPROF_FRAME_USER,
			 .address = 0x1139 },
		       { .name = text_id("f"),
			 .file = text_id("a.c"),
			 .line = 12,
			 .kind = IAPROF_FRAME_USER,
			 .flags = IAPROF_FRAME_INLINED } } };
	test_records_put(host, &frames.frames.header);
	RECORD(IAPROF_RECORD_CODE_OBJECT_UNLOAD, iaprof_record_code_object_unload, .id = 6, .pid = 77);
	events_send();

	ck_assert_int_eq(row_count(), 13);
	EXPECT_ROW(1, "record", "device", "name", "GPU, tile 0", "text", "0000:03:00.0", "machine", "205", "source",
		   "1");
	EXPECT_ROW(2, "source", "2", "name", "NPU");
	EXPECT_ROW(3, "record", "code-object", "device", "GPU, tile 0", "address", "0x8000", "name", "/tmp/image",
		   "build_id", "07");
	EXPECT_ROW(11, "record", "kernel", "parent", "6", "name", "gemm");
	EXPECT_ROW(12, "record", "launch", "name", "gemm", "count", "4", "trace_id", "0a00000000000000000000000000009c",
		   "span_id", "01000000000000b7");
	EXPECT_ROW(4, "record", "stall-reason");
	EXPECT_ROW(5, "record", "stall-sample", "name", "sbid", "id", "1", "count", "11", "kind", "instruction-base",
		   "address", "0x8048", "begin", "3");
	EXPECT_ROW(6, "name", "", "id", "3", "count", "13");
	EXPECT_ROW(7, "record", "stall-sample", "id", "", "count", "0");
	EXPECT_ROW(8, "record", "frames", "source", "iaprof", "name", "main", "module", "/usr/bin/prog",
		   "module_address", "0x1139", "address", "0x2000", "parent", "8", "id", "9", "depth", "0");
	EXPECT_ROW(9, "name", "f", "file", "a.c", "line", "12", "flags", "inlined", "depth", "1");
	EXPECT_ROW(10, "record", "code-object-unload", "id", "6");
}

TEST(writes_what_became_of_stall_samples)
{
	host = test_host_new("csv", "rows=events", NULL);
	RECORD(IAPROF_RECORD_DEVICE, iaprof_record_device, .id = 2, .name = text_id("GPU"));
	RECORD(IAPROF_RECORD_VALUE_TYPE, iaprof_record_value_type, .id = 5, .name = text_id("gpu-stalls"),
	       .unit = text_id("count"));
	RECORD(IAPROF_RECORD_STALL_REASON, iaprof_record_stall_reason, .id = 7, .name = text_id("sbid"),
	       .flags = IAPROF_STALL_REASON_WAITS);
	struct iaprof_record_stall_reason earlier = { .header = { .size = offsetof(struct iaprof_record_stall_reason,
										   flags),
								  .type = IAPROF_RECORD_STALL_REASON,
								  .source = 1 },
						      .id = 8,
						      .name = text_id("send"),
						      .flags = UINT32_MAX };
	test_records_put(host, &earlier.header);
	RECORD(IAPROF_RECORD_DEVICE_ACTIVITY, iaprof_record_device_activity, .begin = 3, .busy = 500, .device = 2,
	       .pid = 77, .kind = IAPROF_ACTIVITY_STATISTICS, .label = text_id("[Mesa shader code]"));
	struct {
		struct iaprof_record_profile_stack stack;
		struct iaprof_record_frame frames[6];
	} stack = {
		{ .header = { .size = sizeof stack, .type = IAPROF_RECORD_PROFILE_STACK, .source = 1, .time = 9 },
		  .id = 4,
		  .frame_count = 6 },
		{ { .name = text_id("prog"), .kind = IAPROF_FRAME_PROCESS, .address = 77 },
		  { .name = text_id("main"), .kind = IAPROF_FRAME_USER },
		  { .name = text_id("inline"), .kind = IAPROF_FRAME_USER, .flags = IAPROF_FRAME_INLINED },
		  { .name = text_id("-"), .kind = IAPROF_FRAME_SEPARATOR },
		  { .name = text_id("sync"), .kind = IAPROF_FRAME_DEVICE_INSTRUCTION },
		  { .name = text_id("load"), .kind = IAPROF_FRAME_DEVICE_INSTRUCTION, .flags = IAPROF_FRAME_PRODUCER } }
	};
	test_records_put(host, &stack.stack.header);
	RECORD(IAPROF_RECORD_PROFILE_VALUE, iaprof_record_profile_value, .stack = 4, .value_type = 5, .value = 12,
	       .count = 3);
	events_send();
	ck_assert_int_eq(row_count(), 8);
	EXPECT_ROW(3, "flags", "waits");
	EXPECT_ROW(4, "record", "stall-reason", "flags", "");
	EXPECT_ROW(5, "record", "device-activity", "device", "GPU", "pid", "77", "kind", "statistics", "text",
		   "[Mesa shader code]", "begin", "3", "duration", "500");
	EXPECT_ROW(6, "record", "profile-stack", "id", "4", "functions", "prog;main;-;sync_[g]");
	EXPECT_ROW(7, "record", "profile-value", "id", "4", "value_type", "gpu-stalls", "unit", "count", "value", "12",
		   "count", "3");
}

/* "spmv<float>" of a SYCL program, which the core read from an image of source 1. */
static void put_code_function(void)
{
	struct {
		struct iaprof_record_code_function function;
		struct iaprof_attribute attributes[2];
	} record = { { .header = { .size = sizeof record, .type = IAPROF_RECORD_CODE_FUNCTION, .source = 1, .time = 9 },
		       .code_object = 6,
		       .name = text_id("_ZTS4spmvIfE"),
		       .shown_name = text_id("spmv<float>"),
		       .flags = IAPROF_CODE_FUNCTION_KERNEL,
		       .size = 64,
		       .attribute_count = 2 },
		     { { .name = text_id("simd_size"), .value = 32 }, { .name = text_id("bias"), .value = -1 } } };
	test_records_put(host, &record.function.header);
}

TEST(shows_what_the_compiler_states_of_kernels)
{
	host = test_host_new("csv", "rows=events", NULL);
	RECORD(IAPROF_RECORD_KERNEL, iaprof_record_kernel, .id = 3, .code_object = 6, .pid = 77,
	       .name = text_id("_ZTS4spmvIfE"), .address = 0x8040);
	put_code_function();
	RECORD(IAPROF_RECORD_LAUNCH, iaprof_record_launch, .kernel = 3, .pid = 77, .count = 4);
	RECORD(IAPROF_RECORD_KERNEL, iaprof_record_kernel, .id = 4, .code_object = 6, .pid = 77,
	       .name = text_id("_ZTS4spmvIfE"), .address = 0x18040);
	/* Of another code object, and of another source. */
	RECORD(IAPROF_RECORD_KERNEL, iaprof_record_kernel, .id = 5, .code_object = 7, .pid = 77,
	       .name = text_id("_ZTS4spmvIfE"), .address = 0x28040);
	struct iaprof_record_kernel other = {
		.header = { .size = sizeof other, .type = IAPROF_RECORD_KERNEL, .source = 2 },
		.id = 3,
		.code_object = 6,
		.name = text_id("_ZTS4spmvIfE")
	};
	test_records_put(host, &other.header);
	events_send();
	ck_assert_int_eq(row_count(), 7);
	EXPECT_ROW(1, "record", "code-function", "source", "1", "parent", "6", "kind", "kernel", "name", "spmv<float>",
		   "text", "_ZTS4spmvIfE", "address", "", "size", "64", "attributes", "simd_size=32;bias=-1");
	/* It has waited for its function. */
	EXPECT_ROW(2, "record", "kernel", "name", "spmv<float>", "attributes", "simd_size=32;bias=-1");
	EXPECT_ROW(3, "record", "launch", "name", "spmv<float>", "attributes", "simd_size=32;bias=-1");
	EXPECT_ROW(4, "record", "kernel", "name", "spmv<float>", "text", "_ZTS4spmvIfE", "attributes",
		   "simd_size=32;bias=-1");
	EXPECT_ROW(5, "name", "_ZTS4spmvIfE", "attributes", "");
	EXPECT_ROW(6, "name", "_ZTS4spmvIfE", "attributes", "");
}

/* The names of a stack come later than its launches; the row of a launch waits for them, but not for ever. */
TEST_LOOP(launches_wait_for_their_functions, 0, 2)
{
	host = test_host_new("csv", "rows=events", _i ? "lines=yes" : "lines=no", NULL);
	uint64_t addresses[] = { 0x3000, 0x2000 };
	uint32_t named = test_records_intern_stack(host, 77, addresses, 2);
	uint32_t nameless = test_records_intern_stack(host, 77, addresses, 1);
	RECORD(IAPROF_RECORD_KERNEL, iaprof_record_kernel, .id = 3, .pid = 77, .name = text_id("gemm"));
	RECORD(IAPROF_RECORD_LAUNCH, iaprof_record_launch, .kernel = 3, .user_stack = nameless, .count = 1);
	RECORD(IAPROF_RECORD_LAUNCH, iaprof_record_launch, .kernel = 3, .user_stack = named, .count = 2);
	RECORD(IAPROF_RECORD_CALL, iaprof_record_call, .name = text_id("submit"), .user_stack = named, .count = 3);
	RECORD(IAPROF_RECORD_LAUNCH, iaprof_record_launch, .kernel = 3, .count = 4);
	struct {
		struct iaprof_record_stack_frames head;
		struct iaprof_record_frame frames[3];
	} frames = { { .header = { .size = sizeof frames, .type = IAPROF_RECORD_STACK_FRAMES, .time = 9 },
		       .stack = named,
		       .pid = 77,
		       .frame_count = 3 },
		     { { .name = text_id("main;"), .kind = IAPROF_FRAME_USER, .file = text_id("a.c"), .line = 7 },
		       { .name = text_id("inner"), .kind = IAPROF_FRAME_USER, .flags = IAPROF_FRAME_INLINED },
		       { .name = text_id("run"), .kind = IAPROF_FRAME_JIT } } };
	test_records_put(host, &frames.head.header);
	RECORD(IAPROF_RECORD_LAUNCH, iaprof_record_launch, .kernel = 3, .user_stack = named, .count = 5);
	struct iaprof_record_sync sync = {
		.header = { .size = sizeof sync, .type = IAPROF_RECORD_SYNC, .time = UINT64_MAX }
	};
	test_records_put(host, &sync.header);
	RECORD(IAPROF_RECORD_LAUNCH, iaprof_record_launch, .kernel = 3, .count = 6);
	events_send();
	static const char *const counts[] = { "4", "2", "3", "5", "1", "6" };
	static const bool with_names[] = { false, true, true, true, false, false };
	ck_assert_int_eq(row_count(), 1 + 7);
	for (int i = 0; i < 6; i++) {
		EXPECT(i + 2, "count", counts[i]);
		EXPECT(i + 2, "functions",
		       !with_names[i] ? ""
		       : _i           ? "main::a.c:7;inner_[i];run_[j]"
				      : "main:;run_[j]");
	}
	EXPECT(6, "stack", "0x3000");
}

/* A frame with a name instead of an address, and one that no record defines. */
TEST_LOOP(writes_named_frames_of_stacks, 0, 2)
{
	host = test_host_new("csv", "rows=events", _i ? "lines=yes" : "lines=no", NULL);
	const uint64_t elements[] = { 0x3000, IAPROF_STACK_NAMED_FRAME | 1, IAPROF_STACK_NAMED_FRAME | 2 };
	uint32_t user = test_records_intern_stack(host, 77, elements, 3);
	RECORD(IAPROF_RECORD_NAMED_FRAME, iaprof_record_named_frame, .id = 1, .name = text_id("forward;"),
	       .file = text_id("train.py"), .line = 12, .kind = IAPROF_FRAME_PYTHON);
	RECORD(IAPROF_RECORD_SAMPLE, iaprof_record_sample, .pid = 77, .user_stack = user, .count = 1);
	events_send();
	EXPECT(1, "stack",
	       _i ? "0x8000000000000002;forward::train.py:12;0x3000" : "0x8000000000000002;forward:;0x3000");
}

/* Each column of both headers has a row in a table of the README. */
TEST_LOOP(documents_every_column, 0, 7)
{
	static const char *const rows[] = { "rows=stacks",   "rows=events",     "rows=calls",   "rows=jobs",
					    "rows=counters", "rows=histograms", "rows=findings" };
	host = test_host_new("csv", rows[_i], NULL);
	test_host_start(host);
	test_host_stop(host);
	char path[4096];
	snprintf(path, sizeof path, "%s/plugins/sink-csv/README.md", getenv("TEST_SOURCE_FOLDER"));
	FILE *readme CLEANUP_FCLOSE = fopen(path, "r");
	ck_assert_ptr_nonnull(readme);
	static char text[65536];
	text[fread(text, 1, sizeof text - 1, readme)] = '\0';
	char *rest = test_host_output(host, NULL)->data;
	for (char *name; (name = strsep(&rest, ",\r\n"));) {
		char row[64];
		snprintf(row, sizeof row, "\n| `%s` ", name);
		ck_assert_msg(!*name || strstr(text, row) != NULL, "%s is not in the README", name);
	}
}

int main(void)
{
	return run_all_tests(0, setup, teardown);
}
