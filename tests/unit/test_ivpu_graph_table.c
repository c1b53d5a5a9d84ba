/* SPDX-License-Identifier: Apache-2.0 */
/* What is believed of a table of functions of graphs that a program can have written itself. */
#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "api_functions.h"
#include "../run_suite.h"

#define START UINT64_C(0x7f0000001000)
#define END UINT64_C(0x7f0000009000)

static struct ivpu_graph_table whole_table(void)
{
	struct ivpu_graph_table table = { .process = 1 };
	for (uint32_t i = 0; i < IVPU_GRAPH_FUNCTIONS; i++)
		table.functions[i] = START + 0x40 * i;
	return table;
}

TEST(a_whole_table_is_believed)
{
	struct ivpu_graph_table table = whole_table();
	ck_assert_uint_eq(graph_table_length(&table, START, END), IVPU_GRAPH_FUNCTIONS);
}

TEST(what_is_not_of_the_file_ends_it)
{
	static const uint64_t strange[] = { 0, START - 1, END, UINT64_MAX, START + 0x40 };
	for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
		struct ivpu_graph_table table = whole_table();
		table.functions[9] = strange[i];
		ck_assert_uint_eq(graph_table_length(&table, START, END), 9);
	}
	struct ivpu_graph_table table = whole_table();
	ck_assert_uint_eq(graph_table_length(&table, END, END + 1), 0);
}

TEST(a_function_begins_with_its_mark_only)
{
	/* push %rbp; ENDBR64; nop; the mark cut short by the file's end */
	static const unsigned char code[] = { 0x55, 0xf3, 0x0f, 0x1e, 0xfa, 0x90, 0xf3, 0x0f, 0x1e };
	char path[] = "/tmp/test-graph-table-XXXXXX";
	int file = mkstemp(path);
	ck_assert_int_ge(file, 0);
	unlink(path);
	ck_assert_int_eq(write(file, code, sizeof code), sizeof code);
	for (uint64_t offset = 0; offset < sizeof code + 4; offset++)
		ck_assert_int_eq(graph_function_begins(file, offset), offset == 1);
	ck_assert(!graph_function_begins(file, UINT64_MAX));
	ck_assert(!graph_function_begins(file, INT64_MAX));
	close(file);
	ck_assert(!graph_function_begins(-1, 1));
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
