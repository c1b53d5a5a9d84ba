/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of calls, distributions and findings: sums, shares, order and nesting that are plain to see. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "tables.h"
#include "../run_suite.h"

#define SECOND UINT64_C(1000000000)

static ARRAY(struct iaprof_call_function) functions;
static ARRAY(struct iaprof_call_node) nodes;
static char *text;

static void tear_down(void)
{
	array_free(&functions);
	array_free(&nodes);
	free(text);
	text = NULL;
}

/* Calls a function that prints to file, and keeps the text. */
#define PRINT(call)                                                                                                    \
	do {                                                                                                           \
		size_t size;                                                                                           \
		FILE *file = open_memstream(&text, &size);                                                             \
		ck_assert_ptr_nonnull(file);                                                                           \
		call;                                                                                                  \
		ck_assert_int_eq(fclose(file), 0);                                                                     \
	} while (0)

static uint32_t function(const char *name, const char *family)
{
	struct iaprof_call_function added = { .source = "s", .name = name, .family = family };
	ck_assert(array_push(&functions, added));
	return (uint32_t)functions.count - 1;
}

static uint32_t node(uint32_t parent, uint32_t function, uint64_t count, uint64_t duration, uint64_t self_duration)
{
	struct iaprof_call_node added = { .parent = parent,
					  .function = function,
					  .depth = parent == IAPROF_ACTIVITY_NONE ? 0 : nodes.items[parent].depth + 1,
					  .count = count,
					  .duration = duration,
					  .self_duration = self_duration };
	ck_assert(array_push(&nodes, added));
	functions.items[function].count += count;
	functions.items[function].duration += duration;
	functions.items[function].self_duration += self_duration;
	return (uint32_t)nodes.count - 1;
}

static void print(uint64_t duration)
{
	const struct iaprof_activity activity = { .functions = functions.items,
						  .function_count = functions.count,
						  .function_size = sizeof *functions.items,
						  .nodes = nodes.items,
						  .node_count = nodes.count,
						  .node_size = sizeof *nodes.items };
	PRINT(call_tables_print(&activity, duration, file));
}

#define EXPECT(part) ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in:\n%s", part, text)
#define EXPECT_IN_ORDER(first, second)                                                                                 \
	ck_assert_msg(strstr(text, first) && strstr(text, second) && strstr(text, first) < strstr(text, second),       \
		      "no \"%s\" before \"%s\" in:\n%s", first, second, text)

/* submit calls pin, which maps pages; an interrupt. 1,000 ns in all. */
static void make_tree(void)
{
	uint32_t submit = node(IAPROF_ACTIVITY_NONE, function("submit", "jobs"), 2, 900, 100);
	uint32_t pin = node(submit, function("pin", "buffers"), 6, 800, 300);
	node(pin, function("map_page", "memory management"), 30, 500, 500);
	uint32_t interrupt = node(IAPROF_ACTIVITY_NONE, function("[interrupt]", ""), 0, 0, 0);
	node(interrupt, function("irq_handler", "IPC"), 2, 100, 100);
}

TEST(families_share_calls_and_own_time)
{
	make_tree();
	print(2 * SECOND);
	EXPECT("        30    75.0%        15.0      500 ns    50.0%  memory management\n");
	EXPECT("         6    15.0%        3.00      300 ns    30.0%  buffers\n");
	EXPECT("         2    5.00%        1.00      100 ns    10.0%  IPC\n");
	EXPECT("        40                 20.0        1 us           all\n");
	EXPECT_IN_ORDER("memory management\n", "  buffers\n");
	ck_assert_ptr_null(strstr(text, "other"));
}

TEST(functions_have_all_and_own_time)
{
	make_tree();
	print(2 * SECOND);
	EXPECT("         6    15.0%        3.00      800 ns      300 ns      133 ns  pin\n");
	EXPECT_IN_ORDER("500 ns       16 ns  map_page\n", "  pin\n");
}

TEST(nodes_stand_below_their_callers)
{
	make_tree();
	print(2 * SECOND);
	EXPECT("         2      900 ns    90.0%  submit\n"
	       "         6      800 ns    80.0%    pin\n"
	       "        30      500 ns    50.0%      map_page\n"
	       "                100 ns    10.0%  [interrupt]\n"
	       "         2      100 ns    10.0%    irq_handler\n");
}

TEST(calls_without_times_have_shares_of_calls)
{
	node(IAPROF_ACTIVITY_NONE, function("ivpu_open", "context"), 1, 0, 0);
	node(IAPROF_ACTIVITY_NONE, function("ivpu_\033[31mbad", ""), 3, 0, 0);
	print(SECOND);
	EXPECT("         3    75.0%           -           -        -  other\n");
	EXPECT("         3           -    75.0%  ivpu_?[31mbad\n");
	EXPECT_IN_ORDER(" 75.0%  ivpu_?[31mbad\n", " 25.0%  ivpu_open\n");
}

TEST(nothing_called_prints_nothing)
{
	node(IAPROF_ACTIVITY_NONE, function("ivpu_open", "context"), 0, 0, 0);
	print(SECOND);
	ck_assert_str_eq(text, "");
}

TEST(many_nodes_and_families_are_bounded)
{
	static char names[1000][16];
	for (uint32_t i = 0; i < 1000; i++) {
		snprintf(names[i], sizeof names[i], "function_%u", i + 1);
		node(IAPROF_ACTIVITY_NONE, function(names[i], names[i]), i + 1, i + 1, i + 1);
	}
	print(SECOND);
	EXPECT("  other\n");
	EXPECT("\n    500500 ");
	EXPECT("... 980 more functions\n");
	EXPECT("... 960 more nodes\n");
	EXPECT_IN_ORDER("function_1000\n", "function_999\n");
}

TEST(distributions_have_quantiles_and_jobs_are_counted)
{
	/* 100 values between 1,024 and 2,047, spread evenly: the middle is 1,536, which is above the maximum. */
	static const uint64_t buckets[IAPROF_HISTOGRAM_BUCKET_COUNT_MAX] = { [10] = 100 };
	static const uint64_t one[IAPROF_HISTOGRAM_BUCKET_COUNT_MAX] = { [10] = 1 };
	static const struct iaprof_histogram histograms[] = {
		{ "s", "ivpu_submit_ioctl\033[2J", "nanoseconds", 100, 1500, 1500, buckets },
		{ "s", "pages", "count", 1, 1100, 1100, one },
		{ "s", "imported", "nanoseconds", 100, 0, 2048, buckets },
	};
	const struct iaprof_activity activity = { .histograms = histograms,
						  .histogram_count = sizeof histograms / sizeof *histograms,
						  .histogram_size = sizeof *histograms,
						  .histogram_dropped = 2,
						  .jobs_done = 1,
						  .jobs_in_flight = 3 };
	PRINT(histogram_table_print(&activity, file));
	EXPECT("       100      1.5 us      1.5 us      1.5 us      1.5 us       15 ns  ivpu_submit_ioctl?[2J\n");
	EXPECT("         1        1100        1100        1100        1100        1100  pages\n");
	EXPECT("     2.04 us           -           -  imported\n");
	EXPECT("2 values not shown (too many distributions)\n");
	EXPECT("jobs: 1 done, 0 aborted, 3 in flight at the end\n");
}

/* What is printed of findings, in which rows of tables are among others. */
TEST(rows_of_notes_are_tables)
{
	static const struct iaprof_finding findings[] = {
		{ "s", "name", "a sentence | with a bar", IAPROF_FINDING_NOTE, 0, 1, 0, 0 },
		{ "s", "name", "|| time | calls | phase", IAPROF_FINDING_NOTE, 0, 1, 0, 0 },
		{ "s", "name", "| 1.23 ms | - | boot", IAPROF_FINDING_NOTE, 0, 1, 0, 0 },
		{ "s", "name", "| - | 123456 | a \x1b[2J", IAPROF_FINDING_NOTE, 0, 1, 0, 0 },
		{ "s", "name", "|| n | name", IAPROF_FINDING_NOTE, 0, 1, 0, 0 },
		{ "s", "name", "| 1 |   inner", IAPROF_FINDING_NOTE, 0, 1, 0, 0 },
		{ "s", "name", "| 1 | no note", IAPROF_FINDING_WARNING, 0, 1, 0, 0 },
		{ "s", "name", "| lonely", IAPROF_FINDING_NOTE, 0, 1, 0, 0 },
		{ "t", "name", "| other source", IAPROF_FINDING_NOTE, 0, 1, 0, 0 },
	};
	const struct iaprof_activity activity = { .findings = findings,
						  .finding_count = sizeof findings / sizeof *findings,
						  .finding_size = sizeof *findings };
	PRINT(finding_tables_print(&activity, file));
	ck_assert_str_eq(text, "   time   calls  phase\n1.23 ms       -  boot\n      -  123456  a ?[2J\n\n"
			       "n  name\n1    inner\n\nlonely\n\nother source\n\n");
}

int main(void)
{
	return run_all_tests(0, NULL, tear_down);
}
