/* SPDX-License-Identifier: Apache-2.0 */
/* Output text: formats of any length, texts as strings, characters. Sets of bytes, and binary search. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/string_table.h"
#include "records/counter_name.h"
#include "text/short_name.h"
#include "text/text.h"
#include "../run_suite.h"

TEST(formats_have_any_length)
{
	struct text text = { 0 };
	char name[5001];
	memset(name, 'x', 5000);
	name[5000] = '\0';
	ck_assert_str_eq(text_string(&text), "");
	for (size_t length = 0; length <= 5000; length += 50) {
		text.size = 0;
		text_append_format(&text, "%.*s;%d", (int)length, name, 42);
		ck_assert_uint_eq(text.size, length + 3);
		ck_assert_uint_eq(strspn(text_string(&text), "x"), length);
		ck_assert_str_eq(text_string(&text) + length, ";42");
		ck_assert_uint_eq(text.size, length + 3);
	}
	text.failed = true;
	text_append_format(&text, "more");
	ck_assert_uint_eq(text.size, 5003);
	ck_assert_str_eq(text_string(&text), "");
	text_free(&text);
}

/* The pages are tested with the same table: tests/sink/test_flamegraph.py. */
TEST(long_names_keep_what_distinguishes_them)
{
	char path[4096], line[4096];
	int rows = 0;
	snprintf(path, sizeof path, "%s/tests/data/short_names.txt", getenv("TEST_SOURCE_FOLDER"));
	CLEANUP_FCLOSE FILE *file = fopen(path, "re");
	ck_assert_ptr_nonnull(file);
	for (; fgets(line, sizeof line, file); rows += *line != '#') {
		struct text text = { 0 };
		char *name = line;
		const char *limit = strsep(&name, "\t"), *wanted = strsep(&name, "\t");
		if (*line == '#')
			continue;
		ck_assert_ptr_nonnull(name);
		name[strcspn(name, "\n")] = '\0';
		text_append_short_name(&text, name, strtoul(limit, NULL, 10));
		ck_assert_str_eq(text_string(&text), wanted);
		text_free(&text);
	}
	ck_assert_int_gt(rows, 10);
}

/* What is not balanced does no harm, and characters stay whole. */
TEST(short_names_keep_their_limit)
{
	static const char *const names[] = { "((((((((((((((((((((",
					     "void (anonymous namespace)::", "a::b::c::d::e::f::g::h::(x(x(x",
					     "a>>>>b<<<<<<(((((((((" };
	struct text text = { 0 };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		text.size = 0;
		text_append_short_name(&text, names[i], 16);
		ck_assert_uint_le(text.size, 16);
	}
	text.size = 0;
	text_append_short_name(&text, "ab\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4zz", 16);
	ck_assert_str_eq(text_string(&text), "ab\xc3\xa4\xc3\xa4\xc3\xa4...\xc3\xa4zz");
	text_free(&text);
}

TEST(characters_are_decoded)
{
	static const struct {
		const char *bytes;
		uint32_t character;
		size_t length;
		bool unsafe;
	} cases[] = {
		{ "a", 'a', 1, false },
		{ "\xc3\xa9", 0xe9, 2, false },
		{ "\xe2\x82\xac", 0x20ac, 3, false },
		{ "\xf0\x9f\x94\xa5", 0x1f525, 4, false },
		{ "\xc2\x9b", 0x9b, 2, true },               /* control */
		{ "\xe2\x80\xae", 0x202e, 3, true },         /* right-to-left override */
		{ "\xc0\x80", UINT32_MAX, 1, true },         /* not the shortest form */
		{ "\xed\xa0\x80", UINT32_MAX, 1, true },     /* surrogate */
		{ "\xe2\x82", UINT32_MAX, 1, true },         /* truncated */
		{ "\xf5\x80\x80\x80", UINT32_MAX, 1, true }, /* beyond Unicode */
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		size_t length;
		uint32_t character = utf8_decode(cases[i].bytes, &length);
		ck_assert_uint_eq(character, cases[i].character);
		ck_assert_uint_eq(length, cases[i].length);
		ck_assert(utf8_is_unsafe(character) == cases[i].unsafe);
	}
}

TEST(sets_have_any_bytes)
{
	struct string_table table = { 0 };
	for (uint64_t i = 0; i < 1000; i++) {
		const uint64_t key[] = { i << 32, 0 };
		bool is_new = false;
		ck_assert_uint_eq(string_table_find(&table, (const char *)key, sizeof key), 0);
		ck_assert_uint_eq(string_table_add(&table, (const char *)key, sizeof key, &is_new), i + 1);
		ck_assert(is_new);
		ck_assert_uint_eq(string_table_find(&table, (const char *)key, sizeof key), i + 1);
		ck_assert_uint_eq(string_table_find(&table, (const char *)key, sizeof *key), 0);
		ck_assert_uint_eq((uintptr_t)string_table_text(&table, (uint32_t)i + 1) % 8, 0);
	}
	string_table_free(&table);
}

TEST(binary_search_finds_the_first)
{
	const uint32_t items[] = { 1, 3, 3, 3, 7 };
	for (size_t count = 0; count <= 5; count++)
		for (uint32_t wanted = 0; wanted < 9; wanted++) {
			size_t expected = 0;
			while (expected < count && items[expected] < wanted)
				expected++;
			ck_assert_uint_eq(array_lower_bound(count, i, items[i] < wanted), expected);
		}
}

TEST(names_of_counters_have_what_distinguishes_them)
{
	struct text text = { 0 };
	counter_name_append(&text, "a", "", "", 0);
	counter_name_append(&text, "b", "copy", "", 0);
	counter_name_append(&text, "c", "", "heap=2", 0);
	counter_name_append(&text, "d", "copy", "heap=2", 12);
	counter_name_append(&text, "e", "", "", 7);
	ck_assert_str_eq(text_string(&text), "ab [copy]c [heap=2]d [copy, heap=2, process 12]e [process 7]");
	text_free(&text);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
