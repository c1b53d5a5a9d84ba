/* SPDX-License-Identifier: Apache-2.0 */
/*
 * profile_write SINK [OPTION=VALUE...] < STACKS > OUTPUT: runs a sink over a profile that a test chose. A line of
 * STACKS is a value type's index, a value, and frames, the program first, with blanks between them; a frame is
 * KIND,FLAGS,LINE,PID,OFFSET,FILE,NAME[,CLASS] with texts in hexadecimal; @TID,THREAD,DEVICE is the origin of the
 * stack, and ^TRACE,ID its span. A line "type NAME UNIT [SAMPLE_UNIT]" declares the next value type, "lost COUNT SOURCE
 * REASON" is an amount that is missing; these words are in hexadecimal as well. "slots WIDTH TOTAL_WIDTH END" has times
 * kept, in ns; then "at TIME ..." is a stack with the time at which its value was added, and "added TYPE NS" says over
 * how long a source added up a value type. "duration NANOSECONDS" is how long the run was. "recorded yes" makes the run
 * a replay. "record ..." is a record (record_lines.h), which the sink has before the profile, and from which the core
 * makes the profile's activity. Sink capture gets these, or, when there are none, the records of a run that has this
 * profile, without its times. "module PATH BUILD_ID" is a file with its build id, which functions of later stacks are
 * in. The PID of an IAPROF_FRAME_DEVICE_OFFSET is the listing that it is in. "bytes BYTES" is a record, too, in
 * hexadecimal.
 */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../plugin/test_host.h"
#include "../plugin/test_profile.h"
#include "base/string_table.h"
#include "profile/collector.h"
#include "capture_records.h"
#include "record_lines.h"

/* ck_assert() tells the runner of each time that it was reached, which takes too long for each frame. */
static void need(bool condition, const char *what)
{
	if (!condition)
		ck_abort_msg("%s", what);
}

static struct record_lines records;
static const char *module;  /* that functions are in; NULL: none */
static ARRAY(char *) texts; /* of frames, which borrow them */
static struct string_table origin_names;

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

/* Equal names of origins have one address. NULL: empty. */
static const char *origin_name(const char *digits)
{
	const char *name = text_of(digits);
	return *name ? string_table_intern(&origin_names, name, strlen(name)) : NULL;
}

/* word: after the '@' */
static struct iaprof_stack_origin origin_read(char *word)
{
	char *thread = strchr(word, ','), *device = thread ? strchr(thread + 1, ',') : NULL;
	need(device, "an origin is not @TID,THREAD,DEVICE");
	*thread++ = *device++ = '\0';
	return (struct iaprof_stack_origin){ .tid = (uint32_t)strtoul(word, NULL, 10),
					     .thread = origin_name(thread),
					     .device = origin_name(device) };
}

/* Sets the bytes of an id from as many pairs of hexadecimal digits. */
static void id_read(uint8_t *bytes, size_t size, const char *digits)
{
	const char *text = text_of(digits);
	need(strlen(digits) == 2 * size, "an id has another size");
	memcpy(bytes, text, size);
}

/* word: after the '^' */
static struct iaprof_span span_read(char *word)
{
	struct iaprof_span span;
	char *id = strchr(word, ',');
	need(id, "a span is not ^TRACE,ID");
	*id++ = '\0';
	id_read(span.trace_id, sizeof span.trace_id, word);
	id_read(span.span_id, sizeof span.span_id, id);
	return span;
}

/* time: UINT64_MAX: not known */
static void stack_read(struct test_profile *profile, uint64_t time, uint32_t type, char *words)
{
	uint32_t frames[1024], count = 0;
	char *word = strtok(words, " \n");
	need(word, "a stack has no value");
	uint64_t value = strtoull(word, NULL, 10);
	struct iaprof_stack_origin origin = { 0 };
	struct iaprof_span span = { 0 };
	while ((word = strtok(NULL, " \n"))) {
		if (*word == '@') {
			origin = origin_read(word + 1);
			continue;
		}
		if (*word == '^') {
			span = span_read(word + 1);
			continue;
		}
		struct iaprof_frame frame = { 0 };
		int words_at = 0;
		need(sscanf(word, "%" SCNu32 ",%" SCNu32 ",%" SCNu32 ",%" SCNu32 ",%" SCNu64 ",%n", &frame.kind,
			    &frame.flags, &frame.line, &frame.pid, &frame.offset, &words_at) == 5 &&
			     strchr(word + words_at, ','),
		     "a frame is not KIND,FLAGS,LINE,PID,OFFSET,FILE,NAME[,CLASS]");
		if (frame.kind == IAPROF_FRAME_DEVICE_OFFSET) {
			frame.address = frame.pid;
			frame.pid = 0;
		}
		char *name = strchr(word + words_at, ',');
		*name++ = '\0';
		char *kernel_class = strchr(name, ',');
		if (kernel_class)
			*kernel_class++ = '\0';
		frame.name = text_of(name);
		frame.kernel_class = kernel_class ? text_of(kernel_class) : NULL;
		frame.module = frame.kind == IAPROF_FRAME_USER ? module : NULL;
		frame.file = word[words_at] ? text_of(word + words_at) : NULL;
		need(count < 1024, "a stack is too deep");
		frames[count++] = test_profile_frame(profile, &frame);
	}
	uint32_t stack = test_profile_stack(profile, frames, count);
	profile->stacks.items[stack].origin = origin;
	profile->stacks.items[stack].span = span;
	test_profile_value(profile, stack, type, value);
	if (time != UINT64_MAX)
		test_profile_time(profile, stack, type, time, value);
}

static uint64_t number_of(const char *word)
{
	need(word, "a number is missing");
	return strtoull(word, NULL, 10);
}

static void slots_read(struct test_profile *profile, char *words)
{
	profile->time_width = number_of(strtok(words, " \n"));
	profile->total_width = number_of(strtok(NULL, " \n"));
	profile->end = number_of(strtok(NULL, " \n"));
	need(profile->time_width && profile->total_width, "slots have no width");
}

static void stack_at_time_read(struct test_profile *profile, char *words)
{
	char *rest;
	uint64_t time = strtoull(words, &rest, 10);
	uint32_t type = (uint32_t)strtoul(rest, &rest, 10);
	need(profile->time_width && *rest == ' ', "no slots, or no stack");
	stack_read(profile, time, type, rest + 1);
}

/* Functions of later stacks are in it. */
static void module_read(struct test_profile *profile, char *words)
{
	struct iaprof_module added = { .path = text_of(strtok(words, " \n")),
				       .build_id = text_of(strtok(NULL, " \n")) };
	need(array_push(&profile->modules, added), "out of memory");
	module = added.path;
}

static void line_read(struct test_profile *profile, struct test_host *host, char *line)
{
	char *words = strchr(line, ' ');
	need(words, "a line has one word");
	*words++ = '\0';
	if (strcmp(line, "type") == 0) {
		char *name = text_of(strtok(words, " \n")), *unit = text_of(strtok(NULL, " \n"));
		uint32_t type = test_profile_value_type(profile, name, unit);
		const char *sample_unit = strtok(NULL, " \n");
		profile->value_types.items[type].sample_unit = sample_unit ? text_of(sample_unit) : NULL;
	} else if (strcmp(line, "lost") == 0) {
		struct iaprof_lost lost = { .count = strtoull(strtok(words, " \n"), NULL, 10),
					    .value_type = UINT32_MAX };
		lost.source = text_of(strtok(NULL, " \n"));
		lost.reason = text_of(strtok(NULL, " \n"));
		test_profile_lost(profile, &lost);
	} else if (strcmp(line, "record") == 0) {
		record_lines_add(&records, words);
	} else if (strcmp(line, "bytes") == 0) {
		record_lines_add_bytes(&records, words);
	} else if (strcmp(line, "module") == 0) {
		module_read(profile, words);
	} else if (strcmp(line, "slots") == 0) {
		slots_read(profile, words);
	} else if (strcmp(line, "at") == 0) {
		stack_at_time_read(profile, words);
	} else if (strcmp(line, "added") == 0) {
		uint64_t type = number_of(strtok(words, " \n"));
		need(type < profile->value_types.count, "no such value type");
		profile->value_types.items[type].added_up_over = number_of(strtok(NULL, " \n"));
	} else if (strcmp(line, "recorded") == 0) {
		host->target.flags |= IAPROF_TARGET_RECORDED;
	} else if (strcmp(line, "duration") == 0) {
		profile->end = TEST_PROFILE_BEGIN + number_of(words);
	} else {
		stack_read(profile, UINT64_MAX, (uint32_t)strtoul(line, NULL, 10), words);
	}
}

/* What the core makes of the records besides samples. */
struct collected {
	struct intern *intern;
	struct collector *collector;
	struct snapshot *snapshot;
};

static void collect(struct collected *collected)
{
	const struct iaprof_batch all = { .records = records.records, .size = records.size, .count = records.count };
	collected->intern = intern_new(NULL);
	collected->collector =
		collector_new(&(struct collector_options){ .intern = collected->intern, .activity = true });
	need(collected->intern && collected->collector, "out of memory");
	collector_take(collected->collector, &all, NULL, NULL);
	collector_finish(collected->collector);
	collected->snapshot = collector_snapshot(collected->collector, true);
	need(collected->snapshot, "out of memory");
}

static void collected_free(struct collected *collected)
{
	snapshot_release(collected->snapshot);
	collector_free(collected->collector);
	intern_free(collected->intern);
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
		line_read(&profile, host, line);
	ck_assert_msg(test_host_configure(host) == 0, "%s", host->failure);
	ck_assert_msg(test_host_prepare(host) == 0, "%s", host->failure);
	if (strcmp(sink, "capture") == 0 && !records.count)
		capture_records_send(host, test_profile_get(&profile));
	if (host->operations.records)
		record_lines_send(&records, host);
	struct collected collected;
	collect(&collected);
	profile.activity = collected.snapshot->profile.activity;
	profile.metadata = collected.snapshot->profile.metadata;
	if (host->operations.profile)
		ck_assert_msg(test_host_send_profile(host, test_profile_get(&profile)) == 0, "%s", host->failure);
	ck_assert_msg(test_host_finish(host) == 0, "%s", host->failure);
	const struct test_output *output = host->outputs.items[0];
	ck_assert_uint_eq(fwrite(output->data, 1, output->size, stdout), output->size);
	ck_assert_int_eq(fflush(stdout), 0);
	collected_free(&collected);
	free(line);
	test_host_free(host);
	test_profile_free(&profile);
	record_lines_free(&records);
	for (size_t i = 0; i < texts.count; i++)
		free(texts.items[i]);
	array_free(&texts);
	string_table_free(&origin_names);
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
