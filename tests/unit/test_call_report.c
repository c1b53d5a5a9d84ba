/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of what was called: sums, shares, order and nesting of a tree whose sums are plain to see. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/report/call_report.h"
#include "../run_suite.h"

#define SECOND UINT64_C(1000000000)

static struct intern *intern;
static struct call_tree tree;
static char *text;

static void set_up(void)
{
	intern = intern_new(NULL);
	tree = (struct call_tree){ .intern = intern };
	text = NULL;
}

static void tear_down(void)
{
	call_tree_free(&tree);
	intern_free(intern);
	free(text);
}

static uint32_t id_of(const char *string)
{
	return intern_string(intern, string, strlen(string));
}

static void function(uint32_t id, const char *name, const char *family)
{
	struct iaprof_record_call_function record = { .id = id, .name = id_of(name), .family = id_of(family) };
	ck_assert_int_eq(call_tree_take_function(&tree, &record), 0);
}

static void node(uint32_t id, uint32_t parent, uint32_t function)
{
	struct iaprof_record_call_node record = { .id = id, .parent = parent, .function = function };
	ck_assert_int_eq(call_tree_take_node(&tree, &record), 0);
}

static void calls(uint32_t node, uint64_t count, uint64_t duration, uint64_t self_duration)
{
	struct iaprof_record_call record = { .count = count, .duration = duration, .self_duration = self_duration };
	call_tree_add(&tree, call_tree_find(&tree, 0, node), &record);
}

static void print(uint64_t duration)
{
	size_t size;
	FILE *file = open_memstream(&text, &size);
	ck_assert_ptr_nonnull(file);
	call_report_print(&tree, duration, file);
	ck_assert_int_eq(fclose(file), 0);
}

#define EXPECT(part) ck_assert_msg(strstr(text, part) != NULL, "no \"%s\" in:\n%s", part, text)
#define EXPECT_IN_ORDER(first, second)                                                                                 \
	ck_assert_msg(strstr(text, first) && strstr(text, second) && strstr(text, first) < strstr(text, second),       \
		      "no \"%s\" before \"%s\" in:\n%s", first, second, text)

/* submit calls pin, which maps pages; an interrupt. 1,000 ns in all. */
static void make_tree(void)
{
	function(1, "submit", "jobs");
	function(2, "pin", "buffers");
	function(3, "map_page", "memory management");
	function(4, "[interrupt]", "");
	function(5, "irq_handler", "IPC");
	node(1, 0, 1);
	node(2, 1, 2);
	node(3, 2, 3);
	node(4, 0, 4);
	node(5, 4, 5);
	calls(1, 2, 900, 100);
	calls(2, 6, 800, 300);
	calls(3, 30, 500, 500);
	calls(5, 2, 100, 100);
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
	function(1, "ivpu_open", "context");
	function(2, "ivpu_\033[31mbad", "");
	node(1, 0, 1);
	node(2, 0, 2);
	calls(1, 1, 0, 0);
	calls(2, 3, 0, 0);
	print(SECOND);
	EXPECT("         3    75.0%           -           -        -  other\n");
	EXPECT("         3           -    75.0%  ivpu_?[31mbad\n");
	EXPECT_IN_ORDER(" 75.0%  ivpu_?[31mbad\n", " 25.0%  ivpu_open\n");
}

TEST(nothing_called_prints_nothing)
{
	function(1, "ivpu_open", "context");
	node(1, 0, 1);
	print(SECOND);
	ck_assert_str_eq(text, "");
}

TEST(many_nodes_and_families_are_bounded)
{
	char name[32];
	for (uint32_t i = 1; i <= 1000; i++) {
		snprintf(name, sizeof name, "function_%u", i);
		function(i, name, name);
		node(i, 0, i);
		calls(i, i, i, i);
	}
	struct call_families families = call_families_sum(&tree);
	ck_assert_uint_eq(families.count, CALL_FAMILIES_MAX);
	uint64_t count = 0;
	for (size_t i = 0; i < families.count; i++)
		count += families.items[i].sums.count;
	ck_assert_uint_eq(count, 500500);
	print(SECOND);
	EXPECT("... 980 more functions\n");
	EXPECT("... 960 more nodes\n");
	EXPECT_IN_ORDER("function_1000\n", "function_999\n");
}

TEST(the_live_table_has_what_came_since)
{
	char live[4096];
	struct call_families none = { 0 };
	ck_assert_uint_eq(call_report_live(&none, &none, SECOND, live, sizeof live), 0);
	make_tree();
	struct call_families before = call_families_sum(&tree);
	calls(3, 10, 2000, 2000);
	struct call_families now = call_families_sum(&tree);
	size_t length = call_report_live(&before, &now, SECOND / 2, live, sizeof live);
	ck_assert_uint_eq(length, strlen(live));
	ck_assert_ptr_nonnull(strstr(live, "        20.0 calls/s        2 us     100%  memory management"));
	ck_assert_ptr_nonnull(strstr(live, "        0.00 calls/s           -    0.00%  buffers"));
	ck_assert_int_ne(live[length - 1], '\n');
	/* What does not fit is left out by whole lines. */
	length = call_report_live(&before, &now, SECOND / 2, live, 70);
	ck_assert_uint_lt(length, 70);
	ck_assert_uint_eq(length, strlen(live));
}

int main(void)
{
	return run_all_tests(0, set_up, tear_down);
}
