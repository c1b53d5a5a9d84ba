/* SPDX-License-Identifier: Apache-2.0 */
/* Sink folded: the text it writes, read back by the rules of the tools that read it. */
#include <check.h>
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_host.h"
#include "test_profile.h"
#include "../run_suite.h"

static struct test_host *host;
static struct test_profile profile;
static uint32_t cpu;

static void setup(void)
{
	profile = (struct test_profile){ 0 };
	cpu = test_profile_value_type(&profile, "cpu", "nanoseconds");
}

static void teardown(void)
{
	test_host_free(host);
	test_profile_free(&profile);
}

/* Runs the sink over the profile; what it returned. */
static int write_profile(void)
{
	ck_assert_msg(test_host_configure(host) == 0, "%s", host->failure);
	ck_assert_int_eq(test_host_prepare(host), 0);
	int result = test_host_send_profile(host, test_profile_get(&profile));
	return result < 0 ? result : test_host_finish(host);
}

static void expect(const char *variant, const char *text)
{
	struct test_output *output = test_host_output(host, variant);
	ck_assert_ptr_nonnull(output);
	ck_assert(output->closed);
	ck_assert_str_eq(output->data, text);
}

TEST(sorts_stacks_by_byte)
{
	host = test_host_new("folded", NULL);
	test_profile_add(&profile, "b;main", cpu, 7);
	test_profile_add(&profile, "a;main;z", cpu, 1);
	test_profile_add(&profile, "a;main", cpu, 2);
	test_profile_add(&profile, "a;main!x", cpu, 3); /* '!' sorts before ';' */
	test_profile_add(&profile, "a;mainz", cpu, 5);  /* and 'z' after it */
	test_profile_add(&profile, "a;\xc3\xa9", cpu, 4);
	ck_assert_int_eq(write_profile(), 0);
	expect(NULL, "a;main 2\na;main!x 3\na;main;z 1\na;mainz 5\na;\xc3\xa9 4\nb;main 7\n");
}

TEST(adds_up_equal_texts)
{
	host = test_host_new("folded", NULL);
	test_profile_add(&profile, "a;x:y", cpu, UINT64_MAX - 1);
	test_profile_add(&profile, "b", cpu, 5);
	test_profile_add(&profile, "a;x", cpu, 1);
	uint32_t frames[] = {
		test_profile_frame(&profile, &(struct iaprof_frame){ .name = "a", .kind = IAPROF_FRAME_PROCESS }),
		test_profile_frame(&profile, &(struct iaprof_frame){ .name = "x;y", .kind = IAPROF_FRAME_USER })
	};
	test_profile_value(&profile, test_profile_stack(&profile, frames, 2), cpu, 2);
	ck_assert_int_eq(write_profile(), 0);
	expect(NULL, "a;x 1\na;x:y 18446744073709551615\nb 5\n");
}

TEST(writes_an_empty_file_for_an_empty_profile)
{
	host = test_host_new("folded", NULL);
	ck_assert_int_eq(write_profile(), 0);
	expect(NULL, "");
	ck_assert_uint_eq(host->outputs.count, 1);
}

static const struct {
	struct iaprof_frame frame;
	const char *plain;   /* by default */
	const char *full;    /* with lines=yes,module=yes */
	const char *without; /* with annotate=no */
} frames_table[] = {
	{ { .name = "f", .kind = IAPROF_FRAME_USER, .module = "/usr/lib/libc.so.6", .file = "/src/a.c", .line = 12 },
	  "f",
	  "libc.so.6`f:a.c:12",
	  "f" },
	{ { .name = "f", .kind = IAPROF_FRAME_USER, .flags = IAPROF_FRAME_INLINED, .file = "a.h" },
	  "",
	  "f:a.h_[i]",
	  "" },
	{ { .name = "do_sys_open", .kind = IAPROF_FRAME_LINUX_KERNEL, .module = "[kernel]" },
	  "do_sys_open_[k]",
	  "[kernel]`do_sys_open_[k]",
	  "do_sys_open" },
	{ { .name = "get", .kind = IAPROF_FRAME_LINUX_KERNEL, .flags = IAPROF_FRAME_INLINED }, "", "get_[i]", "" },
	{ { .name = "LFoo;::bar", .kind = IAPROF_FRAME_JIT }, "LFoo:::bar_[j]", "LFoo:::bar_[j]", "LFoo:::bar" },
	{ { .name = "-", .kind = IAPROF_FRAME_SEPARATOR }, "-", "-", "-" },
	{ { .name = "gemm.cpp", .kind = IAPROF_FRAME_DEVICE_SOURCE }, "gemm.cpp_[G]", "gemm.cpp_[G]", "gemm.cpp" },
	{ { .name = "gemm", .kind = IAPROF_FRAME_DEVICE_FUNCTION, .file = "/g/gemm.cpp", .line = 3 },
	  "gemm_[G]",
	  "gemm:gemm.cpp:3_[G]",
	  "gemm" },
	{ { .name = "send.ugm load", .kind = IAPROF_FRAME_DEVICE_INSTRUCTION },
	  "send.ugm load_[g]",
	  "send.ugm load_[g]",
	  "send.ugm load" },
	{ { .name = "sbid", .kind = IAPROF_FRAME_STALL_REASON }, "sbid_[g]", "sbid_[g]", "sbid" },
	{ { .name = "0x1f0", .kind = IAPROF_FRAME_DEVICE_OFFSET }, "0x1f0_[g]", "0x1f0_[g]", "0x1f0" },
	{ { .name = "ioctl", .kind = IAPROF_FRAME_CALL }, "ioctl", "ioctl", "ioctl" },
	{ { .name = "[unknown]", .kind = IAPROF_FRAME_USER, .flags = IAPROF_FRAME_UNKNOWN },
	  "[unknown]",
	  "[unknown]",
	  "[unknown]" },
	{ { .name = "[unknown]", .kind = IAPROF_FRAME_USER, .flags = IAPROF_FRAME_UNKNOWN, .module = "/lib/libfoo.so" },
	  "[libfoo.so]",
	  "[libfoo.so]",
	  "[libfoo.so]" },
	{ { .name = "[unknown]",
	    .kind = IAPROF_FRAME_LINUX_KERNEL,
	    .flags = IAPROF_FRAME_UNKNOWN,
	    .module = "[nf_tables]" },
	  "[nf_tables]_[k]",
	  "[nf_tables]_[k]",
	  "[nf_tables]" },
	{ { .name = "[deleted]", .kind = IAPROF_FRAME_USER, .flags = IAPROF_FRAME_UNKNOWN, .module = "/lib/libfoo.so" },
	  "[deleted]",
	  "libfoo.so`[deleted]",
	  "[deleted]" },
};

TEST_LOOP(marks_each_kind_of_frame, 0, 3 * (int)(sizeof frames_table / sizeof frames_table[0]))
{
	const char *expected = _i % 3 == 0   ? frames_table[_i / 3].plain
			       : _i % 3 == 1 ? frames_table[_i / 3].full
					     : frames_table[_i / 3].without;
	host = _i % 3 == 0   ? test_host_new("folded", NULL)
	       : _i % 3 == 1 ? test_host_new("folded", "lines=yes", "module=yes", "pid=no", NULL)
			     : test_host_new("folded", "annotate=no", NULL);
	/* Inlined functions, which another sink may have asked for, are not shown without lines=yes. */
	uint32_t frames[] = {
		test_profile_frame(&profile, &(struct iaprof_frame){ .name = "prog", .kind = IAPROF_FRAME_PROCESS }),
		test_profile_frame(&profile, &frames_table[_i / 3].frame),
	};
	test_profile_value(&profile, test_profile_stack(&profile, frames, 2), cpu, 1);
	ck_assert_int_eq(write_profile(), 0);
	ck_assert_int_eq(!!(host->requested & IAPROF_REQUEST_LINES), _i % 3 == 1);
	ck_assert_int_eq(!!(host->requested & IAPROF_REQUEST_PIDS), _i % 3 != 1);
	char line[256];
	snprintf(line, sizeof line, "prog%s%s 1\n", *expected ? ";" : "", expected);
	expect(NULL, line);
}

/* "wait" waits for what another sink asked for: a load at a line, and instructions of which less is known. */
static void add_waiting_stacks(void)
{
	static const struct iaprof_frame producers[] = {
		{ .name = "send.ugm load", .file = "/src/tile.cl", .line = 31 },
		{ .name = "send.ugm load", .file = "/src/tile.cl", .line = 40 },
		{ .name = "sync 7", .file = NULL },
		{ .name = "math", .file = "a;b 12" },
	};
	uint32_t frames[] = {
		test_profile_frame(&profile, &(struct iaprof_frame){ .name = "prog", .kind = IAPROF_FRAME_PROCESS }),
		test_profile_frame(&profile,
				   &(struct iaprof_frame){ .name = "wait", .kind = IAPROF_FRAME_DEVICE_INSTRUCTION }),
		0,
		test_profile_frame(&profile,
				   &(struct iaprof_frame){ .name = "sbid", .kind = IAPROF_FRAME_STALL_REASON }),
	};
	for (uint32_t i = 0; i < 4; i++) {
		struct iaprof_frame frame = producers[i];
		frame.kind = IAPROF_FRAME_DEVICE_INSTRUCTION;
		frame.flags = IAPROF_FRAME_PRODUCER;
		frames[2] = test_profile_frame(&profile, &frame);
		test_profile_value(&profile, test_profile_stack(&profile, frames, 4), cpu, 1u << i);
	}
	/* One that waits for nothing. */
	frames[2] = frames[3];
	test_profile_value(&profile, test_profile_stack(&profile, frames, 3), cpu, 100);
}

TEST_LOOP(blames_who_waits_or_what_it_waits_for, 0, 3)
{
	static const char *const expected[] = {
		"prog;wait_[g];sbid_[g] 115\n",
		"prog;wait_[g];<- math a:b 12_[g];sbid_[g] 8\n"
		"prog;wait_[g];<- send.ugm load tile.cl:31_[g];sbid_[g] 1\n"
		"prog;wait_[g];<- send.ugm load tile.cl:40_[g];sbid_[g] 2\n"
		"prog;wait_[g];<- sync 7_[g];sbid_[g] 4\n"
		"prog;wait_[g];sbid_[g] 100\n",
		"prog;wait;<- math a:b_12;sbid 8\n"
		"prog;wait;<- send.ugm load tile.cl:31;sbid 1\n"
		"prog;wait;<- send.ugm load tile.cl:40;sbid 2\n"
		"prog;wait;<- sync_7;sbid 4\n"
		"prog;wait;sbid 100\n",
	};
	host = _i == 0   ? test_host_new("folded", "pid=no", NULL)
	       : _i == 1 ? test_host_new("folded", "pid=no", "blame=producer", NULL)
			 : test_host_new("folded", "pid=no", "blame=producer", "annotate=no", NULL);
	add_waiting_stacks();
	ck_assert_int_eq(write_profile(), 0);
	ck_assert_int_eq(!!(host->requested & IAPROF_REQUEST_PRODUCERS), _i > 0);
	expect(NULL, expected[_i]);
}

TEST_LOOP(puts_the_pid_where_it_is_wanted, 0, 3)
{
	static const char *const choices[] = { "pid=auto", "pid=yes", "pid=no" };
	static const char *const expected[] = {
		"prog;12;main;-;gemm_[G] 6\nprog;main 1\n",
		"prog;12;main 1\nprog;12;main;-;gemm_[G] 6\n",
		"prog;main 1\nprog;main;-;gemm_[G] 6\n",
	};
	host = test_host_new("folded", choices[_i], NULL);
	uint32_t frames[] = {
		test_profile_frame(&profile,
				   &(struct iaprof_frame){ .name = "prog", .kind = IAPROF_FRAME_PROCESS, .pid = 12 }),
		test_profile_frame(&profile, &(struct iaprof_frame){ .name = "main", .kind = IAPROF_FRAME_USER }),
		test_profile_frame(&profile, &(struct iaprof_frame){ .name = "-", .kind = IAPROF_FRAME_SEPARATOR }),
		test_profile_frame(&profile,
				   &(struct iaprof_frame){ .name = "gemm", .kind = IAPROF_FRAME_DEVICE_FUNCTION }),
	};
	test_profile_value(&profile, test_profile_stack(&profile, frames, 2), cpu, 1);
	test_profile_value(&profile, test_profile_stack(&profile, frames, 4), cpu, 6);
	ck_assert_int_eq(write_profile(), 0);
	expect(NULL, expected[_i]);
}

TEST(writes_one_file_for_each_value_type)
{
	host = test_host_new("folded", NULL);
	uint32_t stalls = test_profile_value_type(&profile, "gpu/stalls", "count");
	uint32_t calls = test_profile_value_type(&profile, "npu", "count");
	uint32_t time = test_profile_value_type(&profile, "npu", "nanoseconds");
	test_profile_value_type(&profile, "nothing", "count");
	test_profile_add(&profile, "b", time, 4);
	test_profile_add(&profile, "a", calls, 3);
	test_profile_add(&profile, "a", stalls, 2);
	test_profile_add(&profile, "a", cpu, 1);
	ck_assert_int_eq(write_profile(), 0);
	expect("cpu", "a 1\n");
	expect("gpu_stalls", "a 2\n");
	expect("npu-count", "a 3\n");
	expect("npu-nanoseconds", "b 4\n");
	ck_assert_uint_eq(host->outputs.count, 4);
}

TEST_LOOP(writes_only_the_value_type_that_is_asked_for, 0, 4)
{
	static const char *const values[] = { "value=cpu", "value=npu-count", "value=npu", "value=nothing" };
	static const char *const expected[] = { "a 1\n", "a 3\n", "a 3\n", "" };
	host = test_host_new("folded", values[_i], NULL);
	uint32_t calls = test_profile_value_type(&profile, "npu", "count");
	test_profile_value_type(&profile, "npu", "nanoseconds");
	test_profile_value_type(&profile, "nothing", "count");
	test_profile_add(&profile, "a", calls, 3);
	test_profile_add(&profile, "a", cpu, 1);
	ck_assert_int_eq(write_profile(), 0);
	expect(NULL, expected[_i]);
	ck_assert_uint_eq(host->outputs.count, 1);
}

/* A device's, for that is what other tools do not have; else the first. */
TEST_LOOP(writes_one_value_type_to_standard_output_and_names_the_others, 0, 2)
{
	static const char *const expected[] = { "a 1\n", "a;-;b_[G] 2\n" };
	host = test_host_new("folded", "pid=no", NULL);
	host->output_single = true;
	uint32_t stalls = test_profile_value_type(&profile, "gpu-stalls", "count");
	uint32_t calls = test_profile_value_type(&profile, "npu-calls", "count");
	const struct iaprof_frame frames[] = { { .name = "a", .kind = IAPROF_FRAME_PROCESS },
					       { .name = "-", .kind = IAPROF_FRAME_SEPARATOR },
					       { .name = "b", .kind = IAPROF_FRAME_DEVICE_FUNCTION } };
	uint32_t ids[3];
	for (size_t i = 0; i < 3; i++)
		ids[i] = test_profile_frame(&profile, &frames[i]);
	test_profile_add(&profile, "a", cpu, 1);
	test_profile_add(&profile, "a", calls, 3);
	if (_i)
		test_profile_value(&profile, test_profile_stack(&profile, ids, 3), stalls, 2);
	profile.value_types.items[stalls].role = IAPROF_VALUE_DEVICE_SAMPLES;
	ck_assert_int_eq(write_profile(), 0);
	expect(NULL, expected[_i]);
	ck_assert_uint_eq(host->outputs.count, 1);
	ck_assert_uint_eq(host->messages.count, 1);
	const char *message = host->messages.items[0].text;
	ck_assert_msg(strstr(message, _i ? "only gpu-stalls, not cpu, npu-calls " : "only cpu, not npu-calls ") != NULL,
		      "%s", message);
}

TEST(refuses_an_unknown_value_type)
{
	host = test_host_new("folded", "value=cpus", NULL);
	test_profile_value_type(&profile, "npu-calls", "count");
	test_profile_add(&profile, "a", cpu, 1);
	ck_assert_int_eq(write_profile(), -EINVAL);
	ck_assert_str_eq(host->failure, "value=cpus: no such value type (types: cpu, npu-calls)");
	ck_assert_uint_eq(host->outputs.count, 0);
}

TEST(reports_a_full_disk)
{
	host = test_host_new("folded", NULL);
	host->output_limit = 10;
	test_profile_add(&profile, "a;bcd", cpu, 1);
	test_profile_add(&profile, "a;bcde", cpu, 1);
	ck_assert_int_eq(write_profile(), -ENOSPC);
	ck_assert(test_host_output(host, NULL)->discarded);
	ck_assert(!test_host_output(host, NULL)->closed);
}

/* Names that somebody chose to break a line, and what is left of them. */
static const struct {
	const char *name, *text;
} hostile[] = {
	{ "a\nb 5", "a?b_5" },
	{ "a\r\nb", "a??b" },
	{ "a;b", "a:b" },
	{ ";;", "::" },
	{ "\x1b[31mred\a\x7f", "?[31mred??" },
	{ "\tx", "?x" },
	{ "main 123", "main_123" },
	{ "main 12.", "main_12." },
	{ "main 1 2", "main 1_2" },
	{ "main  7", "main _7" },
	{ "main 123 ", "main_123" },
	{ "main 0x12", "main 0x12" },
	{ "operator new[](unsigned long, int)", "operator new[](unsigned long, int)" },
	{ "<T as core::fmt::Display>::fmt", "<T as core::fmt::Display>::fmt" },
	{ "", "[unknown]" },
	{ "   ", "[unknown]" },
	{ " \xc2\xa0x\xe3\x80\x80", "x" },
	{ "main\xc2\xa0"
	  "12",
	  "main_12" },                                        /* no-break space */
	{ "main \xd9\xa1\xd9\xa2", "main_\xd9\xa1\xd9\xa2" }, /* Arabic digits: \d for Perl */
	{ "\xff\xfe", "??" },
	{ "caf\xc3", "caf?" },
	{ "\xc0\xaf\xed\xa0\x80", "?????" },        /* overlong, surrogate */
	{ "\xf4\x90\x80\x80", "????" },             /* above U+10FFFF */
	{ "\xf0\x9f\x94\xa5", "\xf0\x9f\x94\xa5" }, /* a flame */
	{ "x\xe2\x80\xa8y\xe2\x80\xae"
	  "z",
	  "x?y?z" },               /* line separator, right-to-left override */
	{ "x\xc2\x85y", "x?y" },   /* next line */
	{ "\xef\xbb\xbfx", "?x" }, /* byte order mark */
	{ "42", "42" },
};
#define HOSTILE_COUNT (sizeof hostile / sizeof hostile[0])

/*
 * The expression by which flamegraph.pl takes a line apart, in POSIX form: everything, a space, a number. It is applied
 * twice: a second match would be taken for a change between two profiles.
 */
#define FLAMEGRAPH_LINE "^(.*)[[:space:]]([0-9]+(\\.[0-9]*)?)$"

TEST_LOOP(keeps_hostile_names_inside_their_frame, 0, 3 * (int)HOSTILE_COUNT)
{
	static const char *const places[] = { "%s 77\n", "program;%s 77\n", "program;%s;leaf 77\n" };
	host = test_host_new("folded", NULL);
	uint32_t program =
		test_profile_frame(&profile, &(struct iaprof_frame){ .name = "program", .kind = IAPROF_FRAME_PROCESS });
	uint32_t leaf =
		test_profile_frame(&profile, &(struct iaprof_frame){ .name = "leaf", .kind = IAPROF_FRAME_USER });
	uint32_t name = test_profile_frame(
		&profile, &(struct iaprof_frame){ .name = hostile[_i / 3].name, .kind = IAPROF_FRAME_USER });
	uint32_t frames[] = { program, name, leaf };
	test_profile_value(&profile,
			   test_profile_stack(&profile, _i % 3 ? frames : &name, _i % 3 ? 1 + (uint32_t)(_i % 3) : 1),
			   cpu, 77);
	ck_assert_int_eq(write_profile(), 0);
	char expected[256];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(expected, sizeof expected, places[_i % 3], hostile[_i / 3].text);
#pragma GCC diagnostic pop
	expect(NULL, expected);

	expected[strlen(expected) - 1] = '\0';
	regex_t line;
	regmatch_t matches[3];
	ck_assert_int_eq(regcomp(&line, FLAMEGRAPH_LINE, REG_EXTENDED), 0);
	ck_assert_int_eq(regexec(&line, expected, 3, matches, 0), 0);
	ck_assert_str_eq(expected + matches[2].rm_so, "77");
	expected[matches[1].rm_eo] = '\0';
	ck_assert_int_eq(regexec(&line, expected, 3, matches, 0), REG_NOMATCH);
	regfree(&line);
}

/* With flamegraph.pl itself, where it is installed: its picture has every value, each once. */
START_TEST(is_read_by_flamegraph)
{
	host = test_host_new("folded", NULL);
	for (size_t i = 0; i < HOSTILE_COUNT; i++) {
		uint32_t name = test_profile_frame(
			&profile, &(struct iaprof_frame){ .name = hostile[i].name, .kind = IAPROF_FRAME_USER });
		test_profile_value(&profile, test_profile_stack(&profile, &name, 1), cpu, 1000);
	}
	ck_assert_int_eq(write_profile(), 0);
	char command[128];
	snprintf(command, sizeof command, "flamegraph.pl --minwidth 0 2>&1 | grep -q 'all (%zu,000 samples'",
		 HOSTILE_COUNT);
	FILE *tool = popen(command, "w");
	ck_assert_ptr_nonnull(tool);
	fputs(test_host_output(host, NULL)->data, tool);
	ck_assert_int_eq(pclose(tool), 0);
}
END_TEST

int main(void)
{
	if (system("command -v flamegraph.pl >/dev/null") == 0)
		tcase_add_test(all_tests(), is_read_by_flamegraph);
	else
		puts("# SKIP is_read_by_flamegraph: flamegraph.pl is not in the PATH");
	return run_all_tests(0, setup, teardown);
}
