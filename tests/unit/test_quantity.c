/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for people. */
#include <check.h>

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
	ck_assert_str_eq(quantity_share(1, 8).text, "12.5%");
	ck_assert_str_eq(quantity_share(0, 8).text, "0.00%");
	ck_assert_str_eq(quantity_share(1, 1e6).text, "<0.001%");
	ck_assert_str_eq(quantity_share(0, 0).text, "-");
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

TEST(times_and_sizes_have_units)
{
	static const struct {
		double amount;
		const char *text;
	} times[] = { { 0, "0 ns" },        { 999, "999 ns" },    { 999.6, "1 us" },
		      { 12345, "12.3 us" }, { 999600000, "1 s" }, { 1.5e12, "1500 s" } },
	  sizes[] = { { 0, "0 B" },
		      { 1023, "1023 B" },
		      { 1024, "1.00 KiB" },
		      { 999.4 * 1024, "999 KiB" },
		      { 1020 * 1024, "1.00 MiB" },
		      { 4131 * 4096.0, "16.1 MiB" },
		      { 1020 * 1048576.0, "1.00 GiB" },
		      { 1.5 * 1099511627776, "1.50 TiB" } };
	for (size_t i = 0; i < sizeof times / sizeof *times; i++)
		ck_assert_str_eq(quantity_time(times[i].amount).text, times[i].text);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		ck_assert_str_eq(quantity_size(sizes[i].amount).text, sizes[i].text);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
