/* SPDX-License-Identifier: Apache-2.0 */
/* Text for a terminal: characters stay, and nothing in it is a command to the terminal. */
#include <check.h>
#include <string.h>

#include "base/error.h"
#include "text/printable.h"
#include "../run_suite.h"

static const struct {
	const char *text, *printable;
} cases[] = {
	{ "plain text", "plain text" },
	{ "", "" },
	{ "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80" },
	{ "a\tb\nc\rd\x1b[2J\x7f", "a?b?c?d?[2J?" },
	{ "\x9b"
	  "2J",
	  "?2J" }, /* CSI of ISO 8859 */
	{ "\xc2\x9b"
	  "2J",
	  "??2J" },                 /* the same in UTF-8 */
	{ "\xc2\xa0", "\xc2\xa0" }, /* the first character after it */
	{ "\xe0\x82\x9b"
	  "2J",
	  "???2J" }, /* in more bytes than it needs */
	{ "\xf0\x80\x82\x9b", "????" },
	{ "\xc0\x9b", "??" },
	{ "\xff\xfe", "??" },
	{ "cut \xe2\x82", "cut ??" }, /* within a character */
	{ "\xc3(", "?(" },
};

TEST_LOOP(only_characters_stay, 0, sizeof cases / sizeof cases[0])
{
	char text[64];
	strcpy(text, cases[_i].text);
	text_make_printable(text);
	ck_assert_str_eq(text, cases[_i].printable);
}

TEST(a_long_path_keeps_its_end)
{
	char path[300];
	memset(path, '/', sizeof path);
	strcpy(path + 127 - 8, "/libfoo.");
	ck_assert_str_eq(path_end(path).text, path); /* 127 bytes fit */
	strcpy(path + 127 - 8, "/libfoo.s");
	char kept[128];
	strcpy(kept, path_end(path).text);
	ck_assert_uint_eq(strlen(kept), 127);
	ck_assert_mem_eq(kept, ".../", 4);
	ck_assert_str_eq(kept + 127 - 9, "/libfoo.s");
	/* A character that would be cut is left out. */
	memset(path, 'a', 300);
	path[200] = '\0';
	memcpy(path + 200 - 125, "\xe2\x82\xac", 3);
	strcpy(kept, path_end(path).text);
	ck_assert_uint_eq(strlen(kept), 3 + 122);
	ck_assert_mem_eq(kept, "...a", 4);
}

TEST(a_message_is_printable)
{
	struct error error = { 0 };
	error_set(&error, 5, "name %s",
		  "\xc2\x9b"
		  "31m");
	error_wrap(&error, "file %s", "\x9b");
	ck_assert_str_eq(error.text, "file ?: name ??31m");
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
