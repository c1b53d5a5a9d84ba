/* SPDX-License-Identifier: Apache-2.0 */
/* Values as users write them. Expected values are worked out by hand. */
#include <check.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "config/value.h"
#include "../run_suite.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct number_case {
	const char *text;
	int result;
	uint64_t value;
};

static void check_numbers(int (*parse)(const char *, uint64_t *), const struct number_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value = 12345;
		ck_assert_msg(parse(cases[i].text, &value) == cases[i].result, "'%s'", cases[i].text);
		/* What fails leaves the value alone. */
		uint64_t expected = cases[i].result == 0 ? cases[i].value : 12345;
		ck_assert_msg(value == expected, "'%s' gives %ju", cases[i].text, (uintmax_t)value);
	}
}

TEST(reads_yes_and_no)
{
	static const char *const yes[] = { "yes", "true", "on", "1", "Yes", "TRUE" };
	static const char *const no[] = { "no", "false", "off", "0", "No", "OFF" };
	static const char *const neither[] = { "", "y", "n", "2", "yes ", " no", "01", "yess", "enable" };
	bool value;
	for (size_t i = 0; i < COUNT(yes); i++) {
		value = false;
		ck_assert_int_eq(value_parse_bool(yes[i], &value), 0);
		ck_assert(value);
	}
	for (size_t i = 0; i < COUNT(no); i++) {
		value = true;
		ck_assert_int_eq(value_parse_bool(no[i], &value), 0);
		ck_assert(!value);
	}
	for (size_t i = 0; i < COUNT(neither); i++)
		ck_assert_int_eq(value_parse_bool(neither[i], &value), -EINVAL);
}

TEST(reads_whole_numbers)
{
	static const struct number_case cases[] = {
		{ "0", 0, 0 },
		{ "99", 0, 99 },
		{ "010", 0, 10 }, /* decimal, not octal */
		{ "0x1f", 0, 31 },
		{ "0XFF", 0, 255 },
		{ "18446744073709551615", 0, UINT64_MAX },
		{ "0xffffffffffffffff", 0, UINT64_MAX },
		{ "00000000000000000000000000000000000001", 0, 1 },
		{ "18446744073709551616", -ERANGE, 0 },
		{ "0x10000000000000000", -ERANGE, 0 },
		{ "99999999999999999999999999999999", -ERANGE, 0 },
		{ "99999999999999999999999999999999x", -EINVAL, 0 },
		{ "", -EINVAL, 0 },
		{ "0x", -EINVAL, 0 },
		{ "x1", -EINVAL, 0 },
		{ "-1", -EINVAL, 0 },
		{ "+1", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 },
		{ "1.0", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
		{ "1k", -EINVAL, 0 },
		{ "ff", -EINVAL, 0 },
		{ "1,000", -EINVAL, 0 },
	};
	check_numbers(value_parse_uint, cases, COUNT(cases));
}

TEST(reads_durations)
{
	static const struct number_case cases[] = {
		{ "0", 0, 0 },
		{ "0.0s", 0, 0 },
		{ "1ns", 0, 1 },
		{ "10us", 0, 10000 },
		{ "10ms", 0, 10000000 },
		{ "10 ms", 0, 10000000 },
		{ "30", 0, 30000000000 },
		{ "30s", 0, 30000000000 },
		{ "1.5s", 0, 1500000000 },
		{ "1.5", 0, 1500000000 },
		{ ".5s", 0, 500000000 },
		{ "2m", 0, 120000000000 },
		{ "0.5m", 0, 30000000000 },
		{ "1h", 0, 3600000000000 },
		{ "1.25h", 0, 4500000000000 },
		{ "0.3333333333333333333333s", 0, 333333333 },
		{ "0.6666666666s", 0, 666666667 }, /* to the nearest */
		{ "0.9999999999999999999999s", 0, 1000000000 },
		{ "18446744073709551615ns", 0, UINT64_MAX },
		{ "18446744073709551616ns", -ERANGE, 0 },
		{ "18446744073709551615.5ns", -ERANGE, 0 },
		{ "5124095h", 0, 5124095ULL * 3600000000000ULL },
		{ "5124096h", -ERANGE, 0 },
		{ "0.1ns", -ERANGE, 0 }, /* something must not become nothing */
		{ "", -EINVAL, 0 },
		{ "s", -EINVAL, 0 },
		{ ".", -EINVAL, 0 },
		{ "1.", -EINVAL, 0 },
		{ "1.s", -EINVAL, 0 },
		{ "-1s", -EINVAL, 0 },
		{ "1S", -EINVAL, 0 },
		{ "1sec", -EINVAL, 0 },
		{ "1s ", -EINVAL, 0 },
		{ " 1s", -EINVAL, 0 },
		{ "1 ", -EINVAL, 0 },
		{ "1m30s", -EINVAL, 0 },
		{ "1d", -EINVAL, 0 },
		{ "1e3s", -EINVAL, 0 },
		{ "1,5s", -EINVAL, 0 },
		{ "1MiB", -EINVAL, 0 },
		{ "inf", -EINVAL, 0 },
	};
	check_numbers(value_parse_duration, cases, COUNT(cases));
}

TEST(reads_sizes)
{
	static const struct number_case cases[] = {
		{ "0", 0, 0 },
		{ "4096", 0, 4096 },
		{ "4096B", 0, 4096 },
		{ "64MiB", 0, 67108864 },
		{ "64 MiB", 0, 67108864 },
		{ "1KiB", 0, 1024 },
		{ "1kB", 0, 1000 },
		{ "1MB", 0, 1000000 },
		{ "1GB", 0, 1000000000 },
		{ "1GiB", 0, 1073741824 },
		{ "1.5KiB", 0, 1536 },
		{ "17179869183GiB", 0, 17179869183ULL << 30 },
		{ "17179869184GiB", -ERANGE, 0 },
		{ "0.4B", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "MiB", -EINVAL, 0 },
		{ "1K", -EINVAL, 0 },
		{ "1KB", -EINVAL, 0 },
		{ "1mib", -EINVAL, 0 },
		{ "1TiB", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },
		{ "1s", -EINVAL, 0 },
	};
	check_numbers(value_parse_size, cases, COUNT(cases));
}

TEST(reads_decimal_numbers)
{
	static const struct {
		const char *text;
		int result;
		double value;
	} cases[] = {
		{ "0", 0, 0.0 },         { "0.5", 0, 0.5 },        { "-2.25", 0, -2.25 },   { "+3", 0, 3.0 },
		{ ".25", 0, 0.25 },      { "4.", 0, 4.0 },         { "1e3", 0, 1000.0 },    { "25E-2", 0, 0.25 },
		{ "1e309", -ERANGE, 0 }, { "-1e309", -ERANGE, 0 }, { "", -EINVAL, 0 },      { ".", -EINVAL, 0 },
		{ "-", -EINVAL, 0 },     { "e3", -EINVAL, 0 },     { "1e", -EINVAL, 0 },    { "1e+", -EINVAL, 0 },
		{ "0x10", -EINVAL, 0 },  { "inf", -EINVAL, 0 },    { "nan", -EINVAL, 0 },   { "0,5", -EINVAL, 0 },
		{ " 1", -EINVAL, 0 },    { "1 ", -EINVAL, 0 },     { "1.2.3", -EINVAL, 0 },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		double value = 77;
		ck_assert_msg(value_parse_double(cases[i].text, &value) == cases[i].result, "'%s'", cases[i].text);
		ck_assert_double_eq(value, cases[i].result == 0 ? cases[i].value : 77);
	}
}

TEST(reads_decimal_numbers_in_any_locale)
{
	static const char *const with_comma[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "ru_RU.UTF-8", "de_DE" };
	double value = 0;
	size_t i = 0;
	while (i < COUNT(with_comma) && !setlocale(LC_ALL, with_comma[i]))
		i++;
	/* Without such a locale installed this is the test above once more. */
	ck_assert_int_eq(value_parse_double("0.5", &value), 0);
	ck_assert_double_eq(value, 0.5);
	ck_assert_int_eq(value_parse_double("0,5", &value), -EINVAL);
	setlocale(LC_ALL, "C");
}

struct format_case {
	uint64_t value;
	const char *text;
};

TEST(formats_durations)
{
	static const struct format_case cases[] = {
		{ 0, "0s" },
		{ 1, "1ns" },
		{ 999, "999ns" },
		{ 1000, "1us" },
		{ 1500, "1.5us" },
		{ 10000000, "10ms" },
		{ 100000000, "100ms" },
		{ 1500000000, "1.5s" },
		{ 30000000000, "30s" },
		{ 60000000000, "1m" },
		{ 90000000000, "90s" },
		{ 5400000000000, "90m" },
		{ 3600000000000, "1h" },
		{ 1000000001, "1.000000001s" }, /* as short as in ns */
		{ UINT64_MAX, "18446744073.709551615s" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[64];
		uint64_t value;
		value_format_duration(cases[i].value, text, sizeof text);
		ck_assert_str_eq(text, cases[i].text);
		ck_assert_int_eq(value_parse_duration(text, &value), 0);
		ck_assert_uint_eq(value, cases[i].value);
	}
}

TEST(formats_sizes)
{
	static const struct format_case cases[] = {
		{ 0, "0B" },
		{ 1, "1B" },
		{ 1000, "1kB" },
		{ 1024, "1KiB" },
		{ 1536, "1536B" }, /* 1.5KiB is longer */
		{ 67108864, "64MiB" },
		{ 1000000, "1MB" },
		{ 1000001, "1000001B" },
		{ 1073741824, "1GiB" },
		{ UINT64_MAX, "18446744073709551615B" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		char text[64];
		uint64_t value;
		value_format_size(cases[i].value, text, sizeof text);
		ck_assert_str_eq(text, cases[i].text);
		ck_assert_int_eq(value_parse_size(text, &value), 0);
		ck_assert_uint_eq(value, cases[i].value);
	}
}

/* Any value comes back as it was: exactness is the promise. */
TEST(formats_exactly)
{
	uint64_t value = 1;
	for (int i = 0; i < 20000; i++) {
		char text[64];
		uint64_t again;
		value = value * 6364136223846793005ULL + 1442695040888963407ULL;
		uint64_t wanted = value >> (i % 64);
		value_format_duration(wanted, text, sizeof text);
		ck_assert_int_eq(value_parse_duration(text, &again), 0);
		ck_assert_uint_eq(again, wanted);
		value_format_size(wanted, text, sizeof text);
		ck_assert_int_eq(value_parse_size(text, &again), 0);
		ck_assert_uint_eq(again, wanted);
	}
}

TEST(formats_into_small_buffers)
{
	char text[4] = "xyz";
	value_format_duration(30000000000, text, 3);
	ck_assert_str_eq(text, "30");
	ck_assert_int_eq(text[3], '\0');
}

TEST(finds_the_nearest_name)
{
	static const char *const names[] = { "frequency", "stacks", "idle", "lines", "cpu-stack", NULL };
	static const struct {
		const char *text;
		const char *nearest;
	} cases[] = {
		{ "frequency", "frequency" },
		{ "freqency", "frequency" },   /* one left out */
		{ "frequenncy", "frequency" }, /* one too many */
		{ "frequencu", "frequency" },  /* one wrong */
		{ "frqeuency", "frequency" },  /* two swapped */
		{ "Frequency", "frequency" },
		{ "freq", "frequency" }, /* the beginning */
		{ "line", "lines" },
		{ "idel", "idle" },
		{ "cpustack", "cpu-stack" },
		{ "cpu", "cpu-stack" },
		{ "output", NULL },
		{ "x", NULL },
		{ "xy", NULL },
		{ "", NULL },
	};
	static const char *const none[] = { NULL };
	char long_text[1000];

	for (size_t i = 0; i < COUNT(cases); i++)
		ck_assert_pstr_eq(value_nearest_name(cases[i].text, names), cases[i].nearest);
	ck_assert_ptr_null(value_nearest_name("idle", none));
	memset(long_text, 'i', sizeof long_text - 1);
	long_text[sizeof long_text - 1] = '\0';
	ck_assert_ptr_null(value_nearest_name(long_text, names));
	const char *const long_names[] = { long_text, "idle", NULL };
	ck_assert_str_eq(value_nearest_name("idlle", long_names), "idle");
}

TEST(cuts_long_texts_between_characters)
{
	char text[201];
	ck_assert_str_eq(value_excerpt("short").text, "short");
	memset(text, 'a', 200);
	text[200] = '\0';
	struct value_excerpt excerpt = value_excerpt(text);
	ck_assert_uint_eq(strlen(excerpt.text), 67);
	ck_assert_str_eq(excerpt.text + 64, "...");
	/* A two-byte character that would be cut in its middle, at byte 63 and 64. */
	memcpy(text + 63, "\xc3\xa4", 2);
	excerpt = value_excerpt(text);
	ck_assert_uint_eq(strlen(excerpt.text), 66);
	ck_assert_str_eq(excerpt.text + 63, "...");
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
