/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings of one cause are shown once, with their number at the end. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <iaprof/host.h>

#include "base/log.h"
#include "base/repeated_messages.h"
#include "../run_suite.h"

TEST(numbers_and_paths_are_no_part_of_the_cause)
{
	static const struct {
		const char *first, *second;
		bool is_same;
	} pairs[] = {
		{ "cannot trace process 1: No such process", "cannot trace process 47: No such process", true },
		{ "cannot trace process 1: No such process", "cannot trace process 1: Permission denied", false },
		{ "a: cannot open /bin/a: Permission denied", "a: cannot open /lib/b c.so: Permission denied", false },
		{ "a: cannot open /bin/a: Permission denied", "a: cannot open /lib/b/c.so: Permission denied", true },
		{ "a: cannot open /bin/a: Permission denied", "b: cannot open /bin/a: Permission denied", false },
		{ "cannot run", "cannot run", true },
		{ "image 1 is damaged", "image 1 is damaged", false },
	};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		struct repeated_messages messages = { 0 };
		ck_assert(!repeated_messages_add(&messages, pairs[i].first));
		ck_assert_int_eq(repeated_messages_add(&messages, pairs[i].second), pairs[i].is_same);
		repeated_messages_clear(&messages);
	}
}

TEST(causes_beyond_the_limit_are_shown_each_time)
{
	struct repeated_messages messages = { 0 };
	char text[128];
	for (unsigned i = 0; i <= REPEATED_MESSAGES_MAX; i++) {
		snprintf(text, sizeof text, "cannot %*s", (int)i + 1, "x");
		ck_assert(!repeated_messages_add(&messages, text));
		ck_assert_int_eq(repeated_messages_add(&messages, text), i < REPEATED_MESSAGES_MAX);
	}
	repeated_messages_clear(&messages);
}

static void read_log(int descriptor, char *text, size_t size)
{
	ssize_t length = pread(descriptor, text, size - 1, 0);
	ck_assert_int_ge(length, 0);
	text[length] = '\0';
	ck_assert_int_eq(ftruncate(descriptor, 0), 0);
	ck_assert_int_eq(lseek(descriptor, 0, SEEK_SET), 0);
}

TEST(the_log_counts_what_it_does_not_repeat)
{
	char text[1024];
	FILE *file = tmpfile();
	ck_assert_ptr_nonnull(file);
	int saved = dup(STDERR_FILENO);
	dup2(fileno(file), STDERR_FILENO);
	for (int pid = 1; pid <= 4; pid++)
		log_message(IAPROF_LOG_WARNING, "cannot trace process %d", pid);
	log_message(IAPROF_LOG_ERROR, "cannot trace process %d", 5);
	log_repeated();
	read_log(STDERR_FILENO, text, sizeof text);
	const char *expected =
		"iaprof: warning: cannot trace process 1\n"
		"iaprof: cannot trace process 5\n"
		"iaprof: warning: 3 more warnings like this one (-v lists them): cannot trace process 1\n";
	bool is_expected = !strcmp(text, expected);
	log_message(IAPROF_LOG_WARNING, "cannot trace process %d", 6);
	log_repeated();
	read_log(STDERR_FILENO, text, sizeof text);
	bool begins_anew = !strcmp(text, "iaprof: warning: cannot trace process 6\n");
	log_set_level(IAPROF_LOG_INFO);
	for (int pid = 7; pid <= 8; pid++)
		log_message(IAPROF_LOG_WARNING, "cannot trace process %d", pid);
	log_repeated();
	read_log(STDERR_FILENO, text, sizeof text);
	dup2(saved, STDERR_FILENO);
	close(saved);
	fclose(file);
	ck_assert(is_expected);
	ck_assert(begins_anew);
	ck_assert_str_eq(text, "iaprof: warning: cannot trace process 7\niaprof: warning: cannot trace process 8\n");
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
