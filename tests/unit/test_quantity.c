/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for people. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "text/quantity.h"
#include "../run_suite.h"

TEST(numbers_have_three_digits)
{
	static const struct {
		double number;
		const char *text;
	} numbers[] = {
		{ 0, "0.00" },        { 0.00744, "0.00744" },    { 0.0355, "0.0355" }, { 0.72, "0.720" },
		{ 0.99949, "0.999" }, { 0.9996, "1.00" },        { 9.994, "9.99" },    { 9.996, "10.0" },
		{ 99.94, "99.9" },    { 99.96, "100" },          { 999.4, "999" },     { 999.6, "1000" },
		{ 23240, "23200" },   { 1e12, "1000000000000" },
	};
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		ck_assert_str_eq(quantity_number(numbers[i].number).text, numbers[i].text);
	ck_assert_str_eq(quantity_per_second(1, 2e9).text, "0.500");
	ck_assert_str_eq(quantity_per_second(1, 0).text, "-");
	ck_assert_str_eq(quantity_measured_time(0).text, "-");
	ck_assert_str_eq(quantity_measured_time(1000).text, "1 us");
}

TEST(sums_that_saturate_are_lower_bounds)
{
	ck_assert_str_eq(quantity_sum(0).text, "0");
	ck_assert_str_eq(quantity_sum(UINT64_MAX - 1).text, "18446744073709551614");
	ck_assert_str_eq(quantity_sum(UINT64_MAX).text, "more than 18446744073709551614");
}

/* The pages are tested with the same table: tests/sink/test_flamegraph.py. */
TEST(shares_times_and_counts_are_those_of_the_table)
{
	char path[4096], line[256], kind[16], text[64];
	double amount, whole;
	int rows = 0;
	snprintf(path, sizeof path, "%s/tests/data/quantities.txt", getenv("TEST_SOURCE_FOLDER"));
	CLEANUP_FCLOSE FILE *file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	for (; fgets(line, sizeof line, file); rows += *line != '#') {
		if (*line == '#')
			continue;
		ck_assert_int_eq(sscanf(line, "%15s %lf %lf %63[^\n]", kind, &amount, &whole, text), 4);
		struct quantity_text made = !strcmp(kind, "share")  ? quantity_share(amount, whole, " %")
					    : !strcmp(kind, "time") ? quantity_time(amount)
								    : quantity_count(amount);
		ck_assert_msg(!strcmp(made.text, text), "%s, not %s", made.text, line);
	}
	ck_assert_int_gt(rows, 30);
	ck_assert_str_eq(quantity_share(1, 8, "%").text, "12.5%");
	ck_assert_str_eq(quantity_share(0, 0, "%").text, "-");
	ck_assert_str_eq(quantity_fixed_share(1, 8, 2, "%").text, "12.50%");
	ck_assert_str_eq(quantity_fixed_share(1, 0, 1, " %").text, "0.0 %");
	ck_assert_str_eq(quantity_value(12345, "nanoseconds").text, "12.3 us");
	ck_assert_str_eq(quantity_value(12345, "count").text, "12.3 k");
}

TEST(sizes_have_units)
{
	static const struct {
		double amount;
		const char *text;
	} sizes[] = { { 0, "0 B" },
		      { 1023, "1023 B" },
		      { 1024, "1.00 KiB" },
		      { 999.4 * 1024, "999 KiB" },
		      { 1020 * 1024, "1.00 MiB" },
		      { 4131 * 4096.0, "16.1 MiB" },
		      { 1020 * 1048576.0, "1.00 GiB" },
		      { 1.5 * 1099511627776, "1.50 TiB" } };
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		ck_assert_str_eq(quantity_size(sizes[i].amount).text, sizes[i].text);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
