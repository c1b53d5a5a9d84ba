/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_write SINK [OPTION=VALUE...] < STACKS > OUTPUT: runs a sink over a profile that a test chose. A line of
 * STACKS is a value type's index, a value, and frames, the program first, with blanks between them; a frame is
 * KIND,FLAGS,LINE,PID,OFFSET,FILE,NAME with texts in hexadecimal. A line "type NAME UNIT" declares the next value type,
 * "lost COUNT SOURCE REASON" is an amount that is missing; these words are in hexadecimal as well.
 */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../plugin/test_host.h"
#include "../plugin/test_profile.h"

/* ck_assert() tells the runner of each time that it was reached, which takes too long for each frame. */
static void need(bool condition, const char *what)
{
	if (!condition)
		ck_abort_msg("%s", what);
}

static ARRAY(char *) texts; /* of frames, which borrow them */

/* From hexadecimal. */
static char *text_of(const char *digits)
{
	size_t length = strlen(digits) / 2;
	char *text = calloc(length + 1, 1);
	need(text && array_push(&texts, text), "out of memory");
	for (size_t i = 0; i < length; i++) {
		const char pair[] = { digits[2 * i], digits[2 * i + 1], '\0' };
		char *end;
		text[i] = (char)strtoul(pair, &end, 16);
		need(!*end, "a name is not in hexadecimal");
	}
	return text;
}

static void stack_read(struct test_profile *profile, uint32_t type, char *words)
{
	uint32_t frames[1024], count = 0;
	char *word = strtok(words, " \n");
	need(word, "a stack has no value");
	uint64_t value = strtoull(word, NULL, 10);
	while ((word = strtok(NULL, " \n"))) {
		struct iaprof_frame frame = { 0 };
		int words_at = 0;
		need(sscanf(word, "%" SCNu32 ",%" SCNu32 ",%" SCNu32 ",%" SCNu32 ",%" SCNu64 ",%n", &frame.kind,
			    &frame.flags, &frame.line, &frame.pid, &frame.offset, &words_at) == 5 &&
			     strchr(word + words_at, ','),
		     "a frame is not KIND,FLAGS,LINE,PID,OFFSET,FILE,NAME");
		char *name = strchr(word + words_at, ',');
		*name++ = '\0';
		frame.name = text_of(name);
		frame.file = word[words_at] ? text_of(word + words_at) : NULL;
		need(count < 1024, "a stack is too deep");
		frames[count++] = test_profile_frame(profile, &frame);
	}
	test_profile_value(profile, test_profile_stack(profile, frames, count), type, value);
}

static void line_read(struct test_profile *profile, char *line)
{
	char *words = strchr(line, ' ');
	need(words, "a line has one word");
	*words++ = '\0';
	if (strcmp(line, "type") == 0) {
		char *name = text_of(strtok(words, " \n")), *unit = text_of(strtok(NULL, " \n"));
		test_profile_value_type(profile, name, unit);
	} else if (strcmp(line, "lost") == 0) {
		struct iaprof_lost lost = { .count = strtoull(strtok(words, " \n"), NULL, 10),
					    .value_type = UINT32_MAX };
		lost.source = text_of(strtok(NULL, " \n"));
		lost.reason = text_of(strtok(NULL, " \n"));
		test_profile_lost(profile, &lost);
	} else {
		stack_read(profile, (uint32_t)strtoul(line, NULL, 10), words);
	}
}

static const char *sink;
static char **options;

START_TEST(write_profile)
{
	struct test_profile profile = { 0 };
	struct test_host *host = test_host_new(sink, NULL);
	char *line = NULL;
	size_t capacity = 0;

	for (char **option = options; *option; option++) {
		char *value = strchr(*option, '=');
		ck_assert_ptr_nonnull(value);
		*value++ = '\0';
		ck_assert_msg(test_host_set(host, *option, value) == 0, "%s", host->failure);
	}
	while (getline(&line, &capacity, stdin) > 0)
		line_read(&profile, line);
	ck_assert_msg(test_host_configure(host) == 0, "%s", host->failure);
	ck_assert_int_eq(test_host_prepare(host), 0);
	ck_assert_msg(test_host_send_profile(host, test_profile_get(&profile)) == 0, "%s", host->failure);
	ck_assert_msg(test_host_finish(host) == 0, "%s", host->failure);
	const struct test_output *output = host->outputs.items[0];
	ck_assert_uint_eq(fwrite(output->data, 1, output->size, stdout), output->size);
	ck_assert_int_eq(fflush(stdout), 0);
	free(line);
	test_host_free(host);
	test_profile_free(&profile);
	for (size_t i = 0; i < texts.count; i++)
		free(texts.items[i]);
	array_free(&texts);
}
END_TEST

/* The test host wants to be in a test. */
int main(int argc, char **argv)
{
	if (argc < 2) {
		fputs("usage: profile_write SINK [OPTION=VALUE...]\n", stderr);
		return 2;
	}
	sink = argv[1];
	options = argv + 2;
	Suite *suite = suite_create(sink);
	TCase *test_case = tcase_create(sink);
	tcase_add_test(test_case, write_profile);
	suite_add_tcase(suite, test_case);
	SRunner *runner = srunner_create(suite);
	srunner_set_fork_status(runner, CK_NOFORK);
	srunner_run_all(runner, CK_SILENT);
	int failed = srunner_ntests_failed(runner);
	for (int i = 0; i < failed; i++)
		fprintf(stderr, "profile_write: %s\n", tr_msg(srunner_failures(runner)[i]));
	srunner_free(runner);
	return failed != 0;
}
