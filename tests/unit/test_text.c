/* SPDX-License-Identifier: Apache-2.0 */
/* Output text: formats of any length, texts as strings, characters. Sets of bytes, and binary search. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
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

TEST(long_names_lose_their_innermost_brackets)
{
	static const struct {
		const char *name;
		size_t limit;
		const char *wanted;
	} cases[] = {
		{ "gemm", 16, "gemm" },
		{ "sort<pair<int, long>>", 21, "sort<pair<int, long>>" },
		{ "sort<pair<int, long>>", 20, "sort<pair<...>>" },
		{ "sort<pair<int, long>, vector<int> >(int*, int*)", 46, "sort<pair<...>, vector<...> >(int*, int*)" },
		{ "sort<pair<int, long>, vector<int> >(int*, int*)", 40, "sort<...>(...)" },
		{ "add_functor<{lambda(int)#1}>::apply", 30, "add_functor<{...}>::apply" },
		/* Neither operators nor arrows are brackets. */
		{ "operator<< <char>(std::ostream&, char)", 30, "operator<< <...>(...)" },
		{ "operator<<<std::char>(std::ostream&)", 30, "operator<<<...>(...)" },
		{ "get()->value<std::vector<int>>()", 31, "get()->value<...>()" },
		{ "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", 30, "nvjet_sm90_tst_256...coopA_NNT" },
		{ "ab\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4zz", 16,
		  "ab\xc3\xa4\xc3\xa4\xc3\xa4...\xc3\xa4zz" },
		/* What is not balanced does no harm. */
		{ "a>>>>b<<<<<<(((((((((", 16, "" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct text text = { 0 };
		text_append_short_name(&text, cases[i].name, cases[i].limit);
		ck_assert_uint_le(text.size, cases[i].limit);
		if (*cases[i].wanted)
			ck_assert_str_eq(text_string(&text), cases[i].wanted);
		text_free(&text);
	}
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
