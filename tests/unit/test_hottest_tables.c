/* SPDX-License-Identifier: Apache-2.0 */
/* The tables at the end of a run: whose value it is, in a profile whose sums are plain to see. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/test_profile.h"
#include "tables.h"
#include "../run_suite.h"

static struct test_profile profile;
static char *text;

static void setup(void)
{
	profile = (struct test_profile){ 0 };
	text = NULL;
}

static void teardown(void)
{
	test_profile_free(&profile);
	free(text);
}

static void print(void)
{
	size_t size;
	FILE *file = open_memstream(&text, &size);
	ck_assert_ptr_nonnull(file);
	hottest_tables_print(test_profile_get(&profile), VALUE_TYPE_NONE, 80, file);
	ck_assert_int_eq(fclose(file), 0);
}

static uint32_t frame(const char *name, uint32_t kind, uint32_t flags)
{
	return test_profile_frame(&profile, &(struct iaprof_frame){ .name = name, .kind = kind, .flags = flags });
}

#define EXPECT(part) ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in:\n%s", part, text)

TEST(counts_functions)
{
	uint32_t cpu = test_profile_value_type(&profile, "cpu", "nanoseconds");
	uint32_t function = frame("f", IAPROF_FRAME_USER, 0);
	uint32_t frames[] = { frame("prog", IAPROF_FRAME_PROCESS, 0), frame("main", IAPROF_FRAME_USER, 0), function,
			      function };
	test_profile_value(&profile, test_profile_stack(&profile, frames, 4), cpu, 3);
	test_profile_value(&profile, test_profile_stack(&profile, frames, 2), cpu, 1);
	print();
	EXPECT(" 75.00%  75.00%  f\n"); /* recursive: once a stack */
	EXPECT(" 25.00% 100.00%  main\n");
}

/* A stall is its function's; instruction, reason and offset are no functions, and what is waited for is not shown. */
TEST(gives_stalls_to_functions)
{
	uint32_t stalls = test_profile_value_type(&profile, "gpu-stalls", "count");
	uint32_t program = frame("prog", IAPROF_FRAME_PROCESS, 0), border = frame("-", IAPROF_FRAME_SEPARATOR, 0),
		 outer = frame("gemm", IAPROF_FRAME_DEVICE_FUNCTION, 0),
		 inner = frame("load_tile", IAPROF_FRAME_DEVICE_FUNCTION, IAPROF_FRAME_INLINED),
		 instruction = frame("mad", IAPROF_FRAME_DEVICE_INSTRUCTION, 0),
		 producer = frame("send.ugm", IAPROF_FRAME_DEVICE_INSTRUCTION, IAPROF_FRAME_PRODUCER),
		 reason = frame("sbid", IAPROF_FRAME_STALL_REASON, 0),
		 offset = frame("0x40", IAPROF_FRAME_DEVICE_OFFSET, 0);
	uint32_t waiting[] = { program, border, outer, inner, instruction, producer, reason, offset };
	uint32_t working[] = { program, border, outer, instruction, reason, offset };
	test_profile_value(&profile, test_profile_stack(&profile, waiting, 8), stalls, 90);
	test_profile_value(&profile, test_profile_stack(&profile, working, 6), stalls, 10);
	print();
	EXPECT("gpu-stalls: 100 count\n");
	EXPECT(" 90.00%  90.00%  load_tile\n");
	EXPECT(" 10.00% 100.00%  gemm\n");
	EXPECT(" 90.00%  prog\n         0x40\n         sbid\n         mad\n         load_tile\n         gemm\n         "
	       "-\n");
	ck_assert_ptr_null(strstr(text, "send.ugm"));
	ck_assert_ptr_null(strstr(text, "%  mad\n"));
}

int main(void)
{
	return run_all_tests(0, setup, teardown);
}
