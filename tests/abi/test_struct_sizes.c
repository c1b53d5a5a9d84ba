/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin and a core meet that were built when structs had different sizes: structs grow at their ends only, and each
 * side uses what both know. The later plugin is ours with members appended; an earlier one is cut off right before
 * memory that cannot be read.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config/option_table.h"
#include "plugin/loader.h"
#include "../run_suite.h"

struct instance {
	uint64_t first, second;
};

struct later_option {
	struct iaprof_option known;
	void *appended[3];
};

struct later_plugin {
	struct iaprof_plugin known;
	void *appended[8];
};

struct later_operations {
	struct iaprof_source_operations known;
	void *appended[8];
};

static const struct later_option later_options[] = {
	{ .known = { .name = "first",
		     .type = IAPROF_OPTION_UINT,
		     .offset = offsetof(struct instance, first),
		     .default_value = "1",
		     .help = "The first one." },
	  .appended = { "garbage" } },
	{ .known = { .name = "second",
		     .type = IAPROF_OPTION_UINT,
		     .offset = offsetof(struct instance, second),
		     .default_value = "2",
		     .help = "The second one." },
	  .appended = { "garbage" } },
};

static int nothing(const struct iaprof_host *host, void *instance)
{
	(void)host;
	(void)instance;
	return 0;
}

static struct iaprof_source_operations operations = { .size = sizeof operations, .start = nothing, .stop = nothing };

static struct iaprof_plugin source(void)
{
	return (struct iaprof_plugin){
		.abi_version = IAPROF_ABI_VERSION,
		.size = sizeof(struct iaprof_plugin),
		.schema_version = IAPROF_SCHEMA_VERSION,
		.kind = IAPROF_PLUGIN_SOURCE,
		.option_size = sizeof(struct iaprof_option),
		.name = "probe-me",
		.description = "a source",
		.instance_size = sizeof(struct instance),
		.source = &operations,
	};
}

/* size bytes of memory, after which none can be read. Never unmapped: each test is a process. */
static void *guarded_new(const void *data, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert(pages != MAP_FAILED);
	ck_assert_int_eq(mprotect(pages + page, page, PROT_NONE), 0);
	return memcpy(pages + page - size, data, size);
}

static void expect_refusal(const struct iaprof_plugin *theirs, const char *reason)
{
	struct plugin plugin = { 0 };
	struct error error = { 0 };
	ck_assert_int_lt(plugin_take_description(&plugin, theirs, "probe-me", &error), 0);
	ck_assert_msg(strstr(error.text, reason) != NULL, "\"%s\" does not say \"%s\"", error.text, reason);
}

TEST(later_plugin_runs_with_what_is_known)
{
	struct later_plugin later = { .known = source() };
	struct later_operations later_operations = { .known = operations };
	memset(later.appended, 0xff, sizeof later.appended);
	memset(later_operations.appended, 0xff, sizeof later_operations.appended);
	later_operations.known.size = sizeof later_operations;
	later.known.source = &later_operations.known;
	later.known.size = sizeof later;
	later.known.options = &later_options[0].known;
	later.known.option_count = 2;
	later.known.option_size = sizeof later_options[0];
	struct plugin plugin = { 0 };
	struct error error = { 0 };
	ck_assert_msg(plugin_take_description(&plugin, &later.known, "probe-me", &error) == 0, "%s", error.text);
	ck_assert(plugin.operations.start == nothing);

	struct instance instance = { 0 };
	ck_assert_int_eq(option_table_set_defaults(&plugin.options, &instance, &error), 0);
	ck_assert_int_eq(option_table_set(&plugin.options, &instance, "second", "22", &error), 0);
	ck_assert_uint_eq(instance.first, 1);
	ck_assert_uint_eq(instance.second, 22);
	option_table_release(&plugin.options, &instance);
}

TEST(earlier_plugin_has_zeros_for_what_it_lacks)
{
	const uint32_t size = offsetof(struct iaprof_plugin, configure);
	const uint32_t operations_size = offsetof(struct iaprof_source_operations, prepare);
	struct iaprof_source_operations earlier_operations = operations;
	struct iaprof_plugin earlier = source(), expected = source();
	earlier_operations.size = operations_size;
	earlier.size = size;
	earlier.source = guarded_new(&earlier_operations, operations_size);
	expected.size = size;
	expected.source = earlier.source;
	struct plugin plugin;
	memset(&plugin, 0xff, sizeof plugin);
	struct error error = { 0 };
	ck_assert_msg(plugin_take_description(&plugin, guarded_new(&earlier, size), "probe-me", &error) == 0, "%s",
		      error.text);
	const struct plugin_operations known = { .start = nothing, .stop = nothing };
	ck_assert_mem_eq(&plugin.description, &expected, sizeof expected);
	ck_assert_mem_eq(&plugin.operations, &known, sizeof known);
}

TEST(companions_are_names_of_others)
{
	static const char *const own[] = { "probe-me", NULL }, *const path[] = { "../other", NULL },
				 *const empty[] = { "", NULL };
	static const char *const *const wrong[] = { own, path, empty };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct iaprof_source_operations with = operations;
		struct iaprof_plugin theirs = source();
		with.companions = wrong[i];
		theirs.source = &with;
		expect_refusal(&theirs, "companions");
	}
}

TEST(operations_of_the_kind_are_required)
{
	struct iaprof_source_operations truncated = operations;
	struct iaprof_plugin theirs = source();
	theirs.source = NULL;
	expect_refusal(&theirs, "its source operations are missing");
	truncated.size = offsetof(struct iaprof_source_operations, stop);
	theirs.source = guarded_new(&truncated, truncated.size);
	expect_refusal(&theirs, "its source operations are cut off");
}

/* A flag changes what is asked of the core, and cannot be ignored. */
TEST(unknown_flags_are_refused)
{
	for (int bit = 16; bit < 32; bit++) {
		struct iaprof_plugin theirs = source();
		theirs.flags = 1u << bit;
		expect_refusal(&theirs, "unknown flags");
	}
}

TEST(truncated_struct_is_refused)
{
	const uint32_t size = offsetof(struct iaprof_plugin, configure) - 8;
	struct iaprof_plugin truncated = source();
	truncated.size = size;
	expect_refusal(guarded_new(&truncated, size), "cut off");
	/* Not even the size can be believed beyond the first two members, and nothing after them is read. */
	truncated.size = 0;
	expect_refusal(guarded_new(&truncated, offsetof(struct iaprof_plugin, schema_version)), "cut off");
}

TEST(other_versions_are_refused)
{
	struct iaprof_plugin other = source();
	other.abi_version++;
	/* Of another version nothing but the version is known to be there. */
	expect_refusal(guarded_new(&other, offsetof(struct iaprof_plugin, schema_version)), "update iaprof");
	other.abi_version = IAPROF_ABI_VERSION_OLDEST - 1;
	expect_refusal(guarded_new(&other, offsetof(struct iaprof_plugin, schema_version)), "Porting");
	other = source();
	other.schema_version++;
	expect_refusal(&other, "record schema");
	other.schema_version = IAPROF_SCHEMA_VERSION_OLDEST - 1;
	expect_refusal(&other, "record schema");
}

/* Captures of this schema were written by other versions of iaprof. */
TEST(records_are_laid_out_as_in_captures)
{
#define STRUCT(name, size) ck_assert_uint_ge(sizeof(struct name), size);
#define MEMBER(name, member, offset) ck_assert_uint_eq(offsetof(struct name, member), offset);
#define VALUE(name, value) ck_assert_int_eq(name, value);
#include "schema_1.h"
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
