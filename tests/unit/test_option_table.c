/* SPDX-License-Identifier: Apache-2.0 */
/* Option tables: the values that a user may write, the tables that are rejected, and the text of --help. */
#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "config/option_table.h"
#include "../run_suite.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

struct instance {
	uint64_t frequency;
	uint64_t period;
	uint64_t buffer;
	const char *label;
	uint64_t stacks;
	double share;
	bool idle;
};

static const char *const stack_choices[] = { "user", "kernel", "both", NULL };

static const struct iaprof_option options[] = {
	{ .name = "frequency",
	  .type = IAPROF_OPTION_UINT,
	  .offset = offsetof(struct instance, frequency),
	  .default_value = "99",
	  .help = "Samples per second",
	  .minimum = 1,
	  .maximum = 10000,
	  .unit = "Hz" },
	{ .name = "period",
	  .type = IAPROF_OPTION_DURATION,
	  .offset = offsetof(struct instance, period),
	  .default_value = "10ms",
	  .help = "How often the maps are read.",
	  .minimum = 1000000,
	  .maximum = 60000000000 },
	{ .name = "buffer",
	  .type = IAPROF_OPTION_SIZE,
	  .offset = offsetof(struct instance, buffer),
	  .default_value = "64MiB",
	  .help = "Memory for samples that wait, of which there is never too much and which this sentence is long "
		  "enough for to need three lines",
	  .minimum = 4096 },
	{ .name = "label", .type = IAPROF_OPTION_STRING, .offset = offsetof(struct instance, label), .help = "A text" },
	{ .name = "stacks",
	  .type = IAPROF_OPTION_CHOICE,
	  .offset = offsetof(struct instance, stacks),
	  .default_value = "both",
	  .help = "Which stacks",
	  .choices = stack_choices },
	{ .name = "share",
	  .type = IAPROF_OPTION_DOUBLE,
	  .offset = offsetof(struct instance, share),
	  .default_value = "0.5",
	  .help = "a part",
	  .maximum = 1 },
	{ .name = "idle",
	  .type = IAPROF_OPTION_BOOL,
	  .offset = offsetof(struct instance, idle),
	  .help = "eBPF idles too" },
};

static const struct option_table table = { options, COUNT(options), sizeof *options };

TEST(sets_defaults)
{
	struct instance instance = { 0 };
	struct error error = { 0 };
	ck_assert_int_eq(option_table_check(&table, sizeof instance, &error), 0);
	ck_assert_int_eq(option_table_set_defaults(&table, &instance, &error), 0);
	ck_assert_uint_eq(instance.frequency, 99);
	ck_assert_uint_eq(instance.period, 10000000);
	ck_assert_uint_eq(instance.buffer, 67108864);
	ck_assert_ptr_null(instance.label);
	ck_assert_uint_eq(instance.stacks, 2);
	ck_assert_double_eq(instance.share, 0.5);
	ck_assert(!instance.idle);
	ck_assert_str_eq(error.text, "");
	option_table_release(&table, &instance);
}

TEST(sets_values)
{
	struct instance instance = { 0 };
	char label[] = "one";
	ck_assert_int_eq(option_table_set_defaults(&table, &instance, NULL), 0);
	ck_assert_int_eq(option_table_set(&table, &instance, "frequency", "10000", NULL), 0);
	ck_assert_uint_eq(instance.frequency, 10000);
	ck_assert_int_eq(option_table_set(&table, &instance, "frequency", "1", NULL), 0);
	ck_assert_uint_eq(instance.frequency, 1);
	ck_assert_int_eq(option_table_set(&table, &instance, "period", "1.5s", NULL), 0);
	ck_assert_uint_eq(instance.period, 1500000000);
	ck_assert_int_eq(option_table_set(&table, &instance, "buffer", "18446744073709551615", NULL), 0);
	ck_assert_uint_eq(instance.buffer, UINT64_MAX);
	ck_assert_int_eq(option_table_set(&table, &instance, "stacks", "user", NULL), 0);
	ck_assert_uint_eq(instance.stacks, 0);
	ck_assert_int_eq(option_table_set(&table, &instance, "share", "1", NULL), 0);
	ck_assert_double_eq(instance.share, 1.0);
	ck_assert_int_eq(option_table_set(&table, &instance, "idle", "yes", NULL), 0);
	ck_assert(instance.idle);
	/* Texts are the instance's own, the last one counts, and an empty one is one. */
	ck_assert_int_eq(option_table_set(&table, &instance, "label", label, NULL), 0);
	label[0] = 'x';
	ck_assert_str_eq(instance.label, "one");
	ck_assert_int_eq(option_table_set(&table, &instance, "label", "", NULL), 0);
	ck_assert_str_eq(instance.label, "");
	option_table_release(&table, &instance);
	ck_assert_ptr_null(instance.label);
}

TEST(refuses_bad_values_in_one_line)
{
	static const struct {
		const char *key, *value, *message;
	} cases[] = {
		{ "frequency", "0", "frequency: 0 is out of range (1 to 10000 Hz)" },
		{ "frequency", "10001", "frequency: 10001 is out of range (1 to 10000 Hz)" },
		{ "frequency", "99999999999999999999",
		  "frequency: 99999999999999999999 is out of range (1 to 10000 Hz)" },
		{ "frequency", "-1", "frequency: '-1' is not a whole number" },
		{ "frequency", "", "frequency: '' is not a whole number" },
		{ "frequency", "9\n9", "frequency: '9?9' is not a whole number" },
		{ "period", "1us", "period: 1us is out of range (1ms to 1m)" },
		{ "period", "61s", "period: 61s is out of range (1ms to 1m)" },
		{ "period", "soon", "period: 'soon' is not a time such as 30s (ns, us, ms, s, m, h)" },
		{ "buffer", "1KiB", "buffer: 1KiB is out of range (at least 4KiB)" },
		{ "buffer", "0.1B", "buffer: 0.1B is out of range (at least 4KiB)" },
		{ "buffer", "17179869184GiB", "buffer: 17179869184GiB is out of range: it does not fit into 64 bits" },
		{ "buffer", "1M", "buffer: '1M' is not a size such as 64MiB (B, KiB, MiB, GiB, kB, MB, GB)" },
		{ "stacks", "kernal", "stacks: 'kernal' is not one of user, kernel, both: did you mean 'kernel'?" },
		{ "stacks", "gpu", "stacks: 'gpu' is not one of user, kernel, both" },
		{ "share", "1.01", "share: 1.01 is out of range (0 to 1)" },
		{ "share", "-0.5", "share: -0.5 is out of range (0 to 1)" },
		{ "share", "half", "share: 'half' is not a number" },
		{ "idle", "maybe", "idle: 'maybe' is not yes or no" },
		{ "freqency", "99", "unknown key 'freqency': did you mean 'frequency'?" },
		{ "colour", "red",
		  "unknown key 'colour' (keys: frequency, period, buffer, label, stacks, share, idle)" },
		{ "", "red", "unknown key '' (keys: frequency, period, buffer, label, stacks, share, idle)" },
	};
	struct instance instance = { 0 };
	ck_assert_int_eq(option_table_set_defaults(&table, &instance, NULL), 0);
	struct instance before = instance;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct error error = { 0 };
		ck_assert_int_eq(option_table_set(&table, &instance, cases[i].key, cases[i].value, &error), -EINVAL);
		ck_assert_str_eq(error.text, cases[i].message);
		ck_assert_int_eq(error.code, -EINVAL);
	}
	ck_assert_mem_eq(&instance, &before, sizeof instance);
	option_table_release(&table, &instance);
}

TEST(cuts_long_values_in_messages)
{
	struct instance instance = { 0 };
	struct error error = { 0 };
	char *text CLEANUP_FREE = malloc(100001);
	memset(text, 'A', 100000);
	text[100000] = '\0';
	ck_assert_int_eq(option_table_set(&table, &instance, "frequency", text, &error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error.text, "...' is not a whole number"));
	ck_assert_int_eq(option_table_set(&table, &instance, text, "1", &error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error.text, "...' (keys: frequency"));
	ck_assert_int_eq(option_table_set(&table, &instance, "label", text, &error), 0);
	ck_assert_str_eq(instance.label, text);
	option_table_release(&table, &instance);
}

TEST(knows_that_there_are_no_options)
{
	static const struct option_table empty = { 0 };
	struct error error = { 0 };
	ck_assert_int_eq(option_table_check(&empty, 1, &error), 0);
	ck_assert_int_eq(option_table_set_defaults(&empty, NULL, &error), 0);
	ck_assert_int_eq(option_table_set(&empty, NULL, "frequency", "1", &error), -EINVAL);
	ck_assert_str_eq(error.text, "unknown key 'frequency': the plugin has no options");
	option_table_release(&empty, NULL);
}

/* Tables as a third party might get them wrong. Each begins as a good row. */
static const struct iaprof_option good = { .name = "good",
					   .type = IAPROF_OPTION_UINT,
					   .offset = 0,
					   .default_value = "5",
					   .help = "A number.",
					   .minimum = 1,
					   .maximum = 10 };

static const char *const no_choices[] = { NULL };
static const char *const empty_choice[] = { "a", "", NULL };
static const char *const same_choices[] = { "a", "b", "a", NULL };
static const char *const control_choice[] = { "a\x1b[2J", NULL };

static void expect_refusal(struct iaprof_option row, const char *message)
{
	struct error error = { 0 };
	const struct option_table bad = { &row, 1, sizeof row };
	ck_assert_msg(option_table_check(&bad, 64, &error) == -EINVAL, "accepted: %s", message);
	ck_assert_str_eq(error.text, message);
}

#define EXPECT_REFUSAL(change, message)                                                                                \
	do {                                                                                                           \
		struct iaprof_option row = good;                                                                       \
		change;                                                                                                \
		expect_refusal(row, message);                                                                          \
	} while (0)

TEST(refuses_bad_rows)
{
	struct error error = { 0 };
	const struct option_table fine = { &good, 1, sizeof good };
	char many_bytes[2000];
	memset(many_bytes, 'a', sizeof many_bytes - 1);
	many_bytes[sizeof many_bytes - 1] = '\0';

	ck_assert_int_eq(option_table_check(&fine, 8, &error), 0);
	EXPECT_REFUSAL(row.name = NULL, "option 0 has no name");
	EXPECT_REFUSAL(row.name = "", "the name of option 0, '', is not up to 63 lower-case letters, digits and '-'");
	EXPECT_REFUSAL(row.name = "Good=1",
		       "the name of option 0, 'Good=1', is not up to 63 lower-case letters, digits and '-'");
	EXPECT_REFUSAL(
		row.name = many_bytes,
		"the name of option 0, 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...', is "
		"not up to 63 lower-case letters, digits and '-'");
	EXPECT_REFUSAL(row.type = 0, "option 'good' has the unknown type 0");
	EXPECT_REFUSAL(row.type = 8, "option 'good' has the unknown type 8");
	EXPECT_REFUSAL(row.type = UINT32_MAX, "option 'good' has the unknown type 4294967295");
	EXPECT_REFUSAL(row.flags = 2, "option 'good' has the unknown flags 0x2");
	EXPECT_REFUSAL(row.flags = IAPROF_OPTION_EXCLUSIVE, "option 'good' is exclusive, but not a STRING");
	EXPECT_REFUSAL(row.help = NULL, "option 'good' has no one-line help");
	EXPECT_REFUSAL(row.help = "", "option 'good' has no one-line help");
	EXPECT_REFUSAL(row.help = "a\nb", "option 'good' has no one-line help");
	EXPECT_REFUSAL(row.help = many_bytes, "option 'good' has no one-line help");
	EXPECT_REFUSAL(row.unit = "\t", "the unit of option 'good' is empty or has control bytes");
	EXPECT_REFUSAL(row.offset = 57, "option 'good' is outside of the instance: offset 57, 8 bytes of 64");
	EXPECT_REFUSAL(row.offset = 64, "option 'good' is outside of the instance: offset 64, 8 bytes of 64");
	EXPECT_REFUSAL(row.offset = SIZE_MAX - 3, "option 'good' is outside of the instance: offset "
						  "18446744073709551612, 8 bytes of 64");
	EXPECT_REFUSAL(row.offset = 4, "option 'good' is not aligned: offset 4 is not a multiple of 8");
	EXPECT_REFUSAL(row.minimum = 11, "option 'good' has a minimum above its maximum");
	EXPECT_REFUSAL(row.default_value = "0", "default value: good: 0 is out of range (1 to 10)");
	EXPECT_REFUSAL(row.default_value = "five", "default value: good: 'five' is not a whole number");
	EXPECT_REFUSAL((row.type = IAPROF_OPTION_STRING, row.default_value = "\x1b[2J"),
		       "the default of option 'good' is empty or has control bytes");
	EXPECT_REFUSAL(row.type = IAPROF_OPTION_CHOICE, "option 'good' has no list of choices");
	EXPECT_REFUSAL((row.type = IAPROF_OPTION_CHOICE, row.choices = no_choices), "option 'good' has no choices");
	EXPECT_REFUSAL((row.type = IAPROF_OPTION_CHOICE, row.choices = empty_choice),
		       "choice 1 of option 'good' is empty, too long, or has control bytes");
	EXPECT_REFUSAL((row.type = IAPROF_OPTION_CHOICE, row.choices = control_choice),
		       "choice 0 of option 'good' is empty, too long, or has control bytes");
	EXPECT_REFUSAL((row.type = IAPROF_OPTION_CHOICE, row.choices = same_choices),
		       "option 'good' has the choice 'a' twice");
	EXPECT_REFUSAL((row.type = IAPROF_OPTION_CHOICE, row.choices = stack_choices, row.default_value = "boths"),
		       "default value: good: 'boths' is not one of user, kernel, both: did you mean 'both'?");
}

TEST(refuses_choices_without_an_end)
{
	const char *endless[100];
	char names[COUNT(endless)][8];
	struct iaprof_option row = good;
	for (size_t i = 0; i < COUNT(endless); i++) {
		snprintf(names[i], sizeof names[i], "c%zu", i);
		endless[i] = names[i];
	}
	row.type = IAPROF_OPTION_CHOICE;
	row.choices = endless;
	expect_refusal(row, "option 'good' has more than 64 choices");
}

TEST(refuses_bad_tables)
{
	struct iaprof_option two[2] = { good, good };
	struct error error = { 0 };
	struct option_table bad = { two, 2, sizeof *two };

	ck_assert_int_eq(option_table_check(&bad, 64, &error), -EINVAL);
	ck_assert_str_eq(error.text, "duplicate option 'good'");
	two[1].name = "other";
	two[1].type = IAPROF_OPTION_BOOL;
	two[1].default_value = "yes";
	two[1].offset = 7;
	ck_assert_int_eq(option_table_check(&bad, 64, &error), -EINVAL);
	ck_assert_str_eq(error.text, "options 'good' and 'other' overlap");
	two[1].offset = 8;
	ck_assert_int_eq(option_table_check(&bad, 9, &error), 0);
	ck_assert_int_eq(option_table_check(&bad, 8, &error), -EINVAL);

	bad.option_size = OPTION_SIZE_MINIMUM - 8;
	ck_assert_int_eq(option_table_check(&bad, 64, &error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error.text, "which is not a size of struct iaprof_option"));
	bad.option_size = 0;
	ck_assert_int_eq(option_table_check(&bad, 64, &error), -EINVAL);
	bad.option_size = sizeof *two + 1;
	ck_assert_int_eq(option_table_check(&bad, 64, &error), -EINVAL);
	bad = (struct option_table){ NULL, 2, sizeof *two };
	ck_assert_int_eq(option_table_check(&bad, 64, &error), -EINVAL);
	ck_assert_str_eq(error.text, "the option table is NULL but has 2 options");
	bad = (struct option_table){ two, SIZE_MAX, sizeof *two };
	ck_assert_int_eq(option_table_check(&bad, 64, &error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error.text, "more than 256"));
}

TEST(reads_rows_of_a_newer_struct)
{
	struct newer_option {
		struct iaprof_option option;
		uint64_t appended;
	} newer[2] = { { .option = options[0], .appended = 1 }, { .option = options[1], .appended = 2 } };
	const struct option_table newer_table = { &newer[0].option, 2, sizeof *newer };
	struct instance instance = { 0 };
	ck_assert_int_eq(option_table_check(&newer_table, sizeof instance, NULL), 0);
	ck_assert_int_eq(option_table_set_defaults(&newer_table, &instance, NULL), 0);
	ck_assert_int_eq(option_table_set(&newer_table, &instance, "period", "20ms", NULL), 0);
	ck_assert_uint_eq(instance.frequency, 99);
	ck_assert_uint_eq(instance.period, 20000000);
}

TEST(describes_options)
{
	static const char expected[] =
		"  frequency=NUMBER      Samples per second. Range: 1 to 10000 Hz. Default: 99\n"
		"                        Hz.\n"
		"  period=TIME           How often the maps are read. Range: 1ms to 1m. Default:\n"
		"                        10ms.\n"
		"  buffer=SIZE           Memory for samples that wait, of which there is never\n"
		"                        too much and which this sentence is long enough for to\n"
		"                        need three lines. Range: at least 4KiB. Default: 64MiB.\n"
		"  label=TEXT            A text. Default: none.\n"
		"  stacks=user|kernel|both\n"
		"                        Which stacks. Default: both.\n"
		"  share=NUMBER          A part. Range: 0 to 1. Default: 0.5.\n"
		"  idle=yes|no           eBPF idles too. Default: no.\n";
	char *text CLEANUP_FREE = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	option_table_describe(&table, file);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_str_eq(text, expected);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
