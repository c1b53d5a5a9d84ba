/* SPDX-License-Identifier: Apache-2.0 */
/* What the loader of plugins refuses: descriptions, file names, and files that others can write. */
#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/loader.h"
#include "../run_suite.h"

static int nothing(const struct iaprof_host *host, void *instance)
{
	return 0;
}

static int no_profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile)
{
	return nothing(host, instance);
}

static int no_records(const struct iaprof_host *host, void *instance, const struct iaprof_batch *batch)
{
	return nothing(host, instance);
}

static int no_code(const struct iaprof_host *host, void *instance, const struct iaprof_code *description, void **code)
{
	return -ENOTSUP;
}

static void code_close(const struct iaprof_host *host, void *instance, void *code)
{
}

static int no_instruction(const struct iaprof_host *host, void *instance, void *code, uint64_t offset,
			  struct iaprof_code_instruction *instruction)
{
	return -EINVAL;
}

static const struct iaprof_option option = { .name = "number", .type = IAPROF_OPTION_UINT, .help = "A number." };

/* The operations of the description below, which a test may change before expect(). */
static struct iaprof_source_operations source;
static struct iaprof_sink_operations sink;
static struct iaprof_decoder_operations decoder;

static struct iaprof_plugin description(uint32_t kind)
{
	source = (struct iaprof_source_operations){ .size = sizeof source, .start = nothing, .stop = nothing };
	sink = (struct iaprof_sink_operations){ .size = sizeof sink, .finish = nothing, .profile = no_profile };
	decoder = (struct iaprof_decoder_operations){
		.size = sizeof decoder, .code_open = no_code, .code_close = code_close, .code_decode = no_instruction
	};
	return (struct iaprof_plugin){
		.abi_version = IAPROF_ABI_VERSION,
		.size = sizeof(struct iaprof_plugin),
		.schema_version = IAPROF_SCHEMA_VERSION,
		.kind = kind,
		.option_size = sizeof(struct iaprof_option),
		.name = "a-plugin2",
		.description = "a plugin",
		.instance_size = 8,
		.source = kind == IAPROF_PLUGIN_SOURCE ? &source : NULL,
		.sink = kind == IAPROF_PLUGIN_SINK ? &sink : NULL,
		.decoder = kind == IAPROF_PLUGIN_DECODER ? &decoder : NULL,
	};
}

/* NULL: it is accepted; else a part of the error message. */
static void expect(struct iaprof_plugin theirs, const char *refusal)
{
	struct plugin plugin = { 0 };
	struct error error = { 0 };
	int result = plugin_take_description(&plugin, &theirs, theirs.name ? theirs.name : "a-plugin2", &error);
	ck_assert_msg(refusal ? result == -EINVAL : !result, "%d, \"%s\", expected \"%s\"", result, error.text,
		      refusal ? refusal : "");
	ck_assert_msg(!refusal || strstr(error.text, refusal), "\"%s\" does not contain \"%s\"", error.text, refusal);
	if (!refusal) {
		ck_assert_ptr_nonnull(plugin.description.description);
		ck_assert_uint_eq(plugin.options.count, theirs.option_count);
		ck_assert(plugin.options.options == theirs.options);
	}
}

#define EXPECT(of_kind, refusal, ...)                                                                                  \
	do {                                                                                                           \
		struct iaprof_plugin theirs = description(of_kind);                                                    \
		__VA_ARGS__;                                                                                           \
		expect(theirs, refusal);                                                                               \
	} while (0)
#define SOURCE IAPROF_PLUGIN_SOURCE
#define SINK IAPROF_PLUGIN_SINK
#define DECODER IAPROF_PLUGIN_DECODER

TEST(each_kind_has_its_callbacks)
{
	EXPECT(SOURCE, NULL, (void)0);
	EXPECT(SOURCE, "start()", source.start = NULL);
	EXPECT(SOURCE, "a source needs stop()", source.stop = NULL);
	EXPECT(SINK, NULL, (void)0);
	EXPECT(SINK, NULL, sink.profile = NULL, sink.records = no_records);
	EXPECT(SINK, "finish()", sink.finish = NULL);
	EXPECT(SINK, "a sink needs records or profile()", sink.profile = NULL);
	EXPECT(DECODER, NULL, (void)0);
	EXPECT(DECODER, "a decoder needs code_open()", decoder.code_open = NULL);
	EXPECT(DECODER, "code_close()", decoder.code_close = NULL);
	EXPECT(DECODER, "code_decode()", decoder.code_decode = NULL);
	EXPECT(0, "unknown kind 0", (void)0);
	EXPECT(DECODER + 1, "unknown kind 4", (void)0);
	ck_assert_str_eq(plugin_kind_name(SOURCE), "source");
	ck_assert_str_eq(plugin_kind_name(SINK), "sink");
	ck_assert_str_eq(plugin_kind_name(DECODER), "decoder");
	ck_assert_str_eq(plugin_kind_name(DECODER + 1), "plugin");
}

TEST(names_are_plain)
{
	static char longest[65];
	memset(longest, 'a', 63);
	EXPECT(SOURCE, NULL, theirs.name = longest);
	EXPECT(SOURCE, NULL, theirs.name = "z");
	EXPECT(SOURCE, NULL, theirs.name = "0-");
	EXPECT(SOURCE, "its name", theirs.name = NULL);
	EXPECT(SOURCE, "its name", theirs.name = "");
	EXPECT(SOURCE, "its name", theirs.name = "-a");
	EXPECT(SOURCE, "its name", theirs.name = "aB");
	EXPECT(SOURCE, "its name", theirs.name = "a/b");
	EXPECT(SOURCE, "its name", theirs.name = "a.b");
	static char too_long[65];
	memset(too_long, 'a', 64);
	EXPECT(SOURCE, "its name", theirs.name = too_long);
	struct plugin plugin = { 0 };
	struct error error = { 0 };
	struct iaprof_plugin other = description(SOURCE);
	ck_assert_int_eq(plugin_take_description(&plugin, &other, "another", &error), -EINVAL);
	ck_assert_ptr_nonnull(strstr(error.text, "its file must be named iaprof-a-plugin2.so"));
	ck_assert_int_eq(plugin_take_description(&plugin, NULL, "another", &error), -EINVAL);
}

TEST(sizes_and_tables_are_bounded)
{
	EXPECT(SOURCE, "instance size of 0", theirs.instance_size = 0);
	EXPECT(SOURCE, NULL, theirs.instance_size = (size_t)64 << 20);
	EXPECT(SOURCE, "instance size", theirs.instance_size = ((size_t)64 << 20) + 1);
	EXPECT(SOURCE, NULL, theirs.description = NULL);
	EXPECT(SOURCE, NULL, theirs.options = &option, theirs.option_count = 1);
	EXPECT(SOURCE, "option table is cut off", theirs.option_count = 1);
	size_t least = offsetof(struct iaprof_option, unit) + sizeof option.unit;
	EXPECT(SOURCE, NULL, theirs.options = &option, theirs.option_count = 1, theirs.option_size = (uint32_t)least);
	EXPECT(SOURCE, "option table is cut off", theirs.options = &option, theirs.option_count = 1,
	       theirs.option_size = (uint32_t)least - 1);
	EXPECT(SOURCE, NULL, theirs.option_size = 0);

	static const char *companions[18];
	for (size_t i = 0; i < 16; i++)
		companions[i] = "other";
	EXPECT(SOURCE, NULL, source.companions = companions);
	EXPECT(SOURCE, "companions", theirs.name = "other", source.companions = companions);
	companions[16] = "other";
	EXPECT(SOURCE, "up to 16 names", source.companions = companions);
	companions[16] = NULL;
	companions[15] = "Other";
	EXPECT(SOURCE, "companions", source.companions = companions);
}

TEST(options_of_iaprof_itself_are_reserved)
{
	struct iaprof_option isolate = option, output = option, optional = option;
	isolate.name = "isolate";
	output.name = "output";
	optional.name = "optional";
	EXPECT(SOURCE, "option 'optional' is reserved", theirs.options = &optional, theirs.option_count = 1);
	EXPECT(SINK, NULL, theirs.options = &optional, theirs.option_count = 1);
	EXPECT(SOURCE, "option 'isolate' is reserved", theirs.options = &isolate, theirs.option_count = 1);
	EXPECT(SINK, "option 'isolate' is reserved", theirs.options = &isolate, theirs.option_count = 1);
	EXPECT(DECODER, "option 'isolate' is reserved", theirs.options = &isolate, theirs.option_count = 1);
	EXPECT(SINK, "option 'output' is reserved: iaprof adds it to every sink (rename it)", theirs.options = &output,
	       theirs.option_count = 1);
	EXPECT(SINK, "option 'output' is reserved", theirs.flags = IAPROF_PLUGIN_NO_OUTPUT, theirs.options = &output,
	       theirs.option_count = 1);
	EXPECT(SOURCE, NULL, theirs.options = &output, theirs.option_count = 1);
	EXPECT(DECODER, NULL, theirs.options = &output, theirs.option_count = 1);
}

TEST(files_are_named_after_their_plugin)
{
	static const char *const others[] = {
		"iaprof-.so", "iaprof-a.so.1", "iaprof_a.so", "iaprof-a", "/iaprof-a.so/b", "x-iaprof-a.so", ""
	};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		ck_assert_msg(!plugin_name_of_file(others[i]), "%s", others[i]);
	char *name = plugin_name_of_file("iaprof-a.so");
	ck_assert_str_eq(name, "a");
	free(name);
	name = plugin_name_of_file("/some.so/folder/iaprof-xe-eustall.so");
	ck_assert_str_eq(name, "xe-eustall");
	free(name);
}

/* Files of a folder of its own; the text of an error after an attempt to load one. */
static char folder[] = "/tmp/iaprof-test-loader-XXXXXX";
static char path[sizeof folder + 32];

static void set_up(void)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/iaprof-a.so", folder);
	int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	ck_assert_int_ge(file, 0);
	close(file);
}

static void tear_down(void)
{
	unlink(path);
	rmdir(folder);
}

static void expect_failure(const char *of, const char *reason)
{
	struct error error = { 0 };
	ck_assert_ptr_null(plugin_load(of, &error));
	ck_assert_msg(strstr(error.text, reason) != NULL, "\"%s\" does not say \"%s\"", error.text, reason);
	ck_assert_msg(!strncmp(error.text, "plugin ", 7) && !strncmp(error.text + 7, of, strlen(of)), "%s", error.text);
}

TEST(files_that_are_no_plugins_say_why)
{
	char other[sizeof path + 32];
	plugin_free(NULL);
	expect_failure("/no/such/iaprof-a.so", "No such file");
	snprintf(other, sizeof other, "%s/a.so", folder);
	ck_assert_int_eq(rename(path, other), 0);
	expect_failure(other, "is named iaprof-NAME.so");
	ck_assert_int_eq(rename(other, path), 0);
	struct error error = { 0 };
	ck_assert_ptr_null(plugin_load(path, &error));
	snprintf(other, sizeof other, "plugin %s: file too short",
		 path); /* the path once, though dlerror() has it, too */
	ck_assert_str_eq(error.text, other);
	/* A library that is no plugin. */
	Dl_info library;
	ck_assert(dladdr((const void *)(uintptr_t)gnu_get_libc_version, &library));
	unlink(path);
	ck_assert_int_eq(symlink(library.dli_fname, path), 0);
	expect_failure(path, "has no symbol");
}

/* Only root's rights make it matter who can write a file. */
TEST(privileged_files_are_written_by_nobody_else)
{
	if (geteuid() != 0)
		return;
	ck_assert(plugin_loading_is_privileged());
	unsetenv("SUDO_UID");
	expect_failure(path, "file too short");
	ck_assert_int_eq(chmod(path, 0646), 0);
	expect_failure(path, "chmod go-w");
	ck_assert_int_eq(chmod(path, 0664), 0);
	expect_failure(path, "file too short"); /* the group is root's */
	ck_assert_int_eq(chown(path, 0, 12345), 0);
	expect_failure(path, "chmod go-w");
	ck_assert_int_eq(chmod(path, 0644), 0);
	expect_failure(path, "file too short");
	ck_assert_int_eq(chown(path, 12345, 0), 0);
	expect_failure(path, "belongs to user 12345");
	setenv("SUDO_UID", "12345", 1);
	expect_failure(path, "file too short");
	setenv("SUDO_UID", "12346", 1);
	expect_failure(path, "belongs to user 12345");
	setenv("SUDO_UID", "12345x", 1);
	expect_failure(path, "belongs to user 12345");
	unsetenv("SUDO_UID");
	ck_assert_int_eq(chown(path, 0, 0), 0);
	ck_assert_int_eq(chmod(folder, 0777), 0);
	expect_failure(path, "chmod go-w");
	ck_assert_int_eq(chmod(folder, 0700), 0);
	ck_assert_int_eq(chown(folder, 12345, 0), 0);
	expect_failure(path, "belongs to user 12345");
	ck_assert_int_eq(chown(folder, 0, 0), 0);
}

int main(void)
{
	return run_all_tests(0, set_up, tear_down);
}
