/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin's description as bytes, from the process that loads it: see plugin_description.h. */
#include "plugin/plugin_description.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/deadline.h"
#include "base/machine.h"
#include "child/channel.h"
#include "child/child.h"
#include "plugin/plugin_call.h"
#include "text/text.h"

/* Longest time for constructors and iaprof_plugin_register(), ns. Run delay does not count. */
#define TIME (4 * NANOSECONDS_PER_SECOND)
/* Time to end after the channel was closed, ns. */
#define END_TIME NANOSECONDS_PER_SECOND
/* The only message. */
enum { DESCRIPTION = 1 };
/* Largest description, in bytes, and longest list in it. */
#define SIZE_MAX_DESCRIPTION (1u << 20)
#define COUNT_MAX_DESCRIPTION 4096u
/* Length of a string that is NULL. */
#define NO_STRING UINT32_MAX

static void put_string(struct text *text, const char *string)
{
	uint32_t length = string ? (uint32_t)strlen(string) : NO_STRING;
	text_append(text, (const char *)&length, sizeof length);
	if (string)
		text_append(text, string, length);
}

/* A NULL-terminated list, or NULL. */
static void put_strings(struct text *text, const char *const *strings)
{
	uint32_t count = strings ? 0 : NO_STRING;
	while (strings && strings[count])
		count++;
	text_append(text, (const char *)&count, sizeof count);
	for (uint32_t i = 0; strings && i < count; i++)
		put_string(text, strings[i]);
}

static void put_option(struct text *text, const struct option_table *options, size_t index)
{
	struct iaprof_option option = { 0 };
	size_t size = options->option_size < sizeof option ? options->option_size : sizeof option;
	memcpy(&option, (const char *)options->options + index * options->option_size, size);
	text_append(text, (const char *)&option, sizeof option);
	put_string(text, option.name);
	put_string(text, option.default_value);
	put_string(text, option.help);
	put_strings(text, option.choices);
	put_string(text, option.unit);
	put_string(text, option.alias);
}

static void put_plugin(struct text *text, const struct plugin *plugin)
{
	const struct iaprof_plugin *description = &plugin->description;
	text_append(text, (const char *)description, sizeof *description);
	text_append(text, (const char *)&plugin->operations, sizeof plugin->operations);
	put_string(text, description->name);
	put_string(text, description->version);
	put_string(text, description->description);
	put_string(text, plugin->operations.extension);
	put_strings(text, plugin->operations.companions);
	for (size_t i = 0; i < plugin->options.count; i++)
		put_option(text, &plugin->options, i);
}

_Noreturn void plugin_description_main(const char *path)
{
	struct error error = { 0 };
	struct text text = { 0 };
	const struct plugin *plugin = plugin_load(path, &error);
	put_string(&text, error.text);
	if (plugin)
		put_plugin(&text, plugin);
	fflush(stdout);
	if (!text.failed)
		(void)channel_send_bytes(CHILD_CHANNEL, DESCRIPTION, text.data, text.size, -1, NULL);
	process_exit_immediately(0);
}

struct reader {
	struct arena *memory;
	const char *bytes;
	size_t left;
	bool failed;
};

static void read_bytes(struct reader *reader, void *bytes, size_t size)
{
	reader->failed |= size > reader->left;
	if (reader->failed) {
		memset(bytes, 0, size);
		return;
	}
	memcpy(bytes, reader->bytes, size);
	reader->bytes += size;
	reader->left -= size;
}

static const char *read_string(struct reader *reader)
{
	uint32_t length;
	read_bytes(reader, &length, sizeof length);
	if (reader->failed || length == NO_STRING)
		return NULL;
	reader->failed = length > reader->left;
	const char *string = reader->failed ? NULL : arena_text(reader->memory, reader->bytes, length);
	reader->failed |= !string;
	if (reader->failed)
		return NULL;
	reader->bytes += length;
	reader->left -= length;
	return string;
}

static const char *const *read_strings(struct reader *reader)
{
	uint32_t count;
	read_bytes(reader, &count, sizeof count);
	if (reader->failed || count == NO_STRING)
		return NULL;
	reader->failed = count > COUNT_MAX_DESCRIPTION;
	const char **strings =
		reader->failed ? NULL : arena_allocate(reader->memory, (count + (size_t)1) * sizeof *strings);
	reader->failed |= !strings;
	for (uint32_t i = 0; strings && i < count; i++)
		strings[i] = read_string(reader);
	if (strings)
		strings[count] = NULL;
	return strings;
}

static void read_option(struct reader *reader, struct iaprof_option *option)
{
	read_bytes(reader, option, sizeof *option);
	option->name = read_string(reader);
	option->default_value = read_string(reader);
	option->help = read_string(reader);
	option->choices = read_strings(reader);
	option->unit = read_string(reader);
	option->alias = read_string(reader);
}

/* Placeholder for a callback that is present in the plugin. */
static void not_loaded(void)
{
	abort();
}

static void replace_callbacks(struct iaprof_plugin *plugin, struct plugin_operations *operations)
{
#define REPLACE_IN(object, callback)                                                                                   \
	if ((object)->callback)                                                                                        \
	(object)->callback = (__typeof__((object)->callback))not_loaded
#define REPLACE(callback) REPLACE_IN(operations, callback)
#define REPLACE_IN_DECODER(callback) REPLACE_IN(&operations->decoder, callback)
	REPLACE_IN(plugin, configure);
	REPLACE_IN(plugin, destroy);
	REPLACE(probe);
	REPLACE(prepare);
	REPLACE(start);
	REPLACE(stop);
	REPLACE(thread);
	REPLACE(finish);
	REPLACE(records);
	REPLACE(profile);
	REPLACE(check);
	REPLACE_IN_DECODER(code_open);
	REPLACE_IN_DECODER(code_close);
	REPLACE_IN_DECODER(code_decode);
	REPLACE_IN_DECODER(code_producers);
	REPLACE_IN_DECODER(image_read);
	REPLACE_IN_DECODER(display_name);
#undef REPLACE_IN_DECODER
#undef REPLACE
#undef REPLACE_IN
	operations->decoder.relocations = NULL;
	operations->decoder.relocation_count = 0;
	plugin->source = NULL;
	plugin->sink = NULL;
	plugin->decoder = NULL;
}

static void read_plugin(struct reader *reader, struct iaprof_plugin *plugin, struct plugin_operations *operations)
{
	read_bytes(reader, plugin, sizeof *plugin);
	read_bytes(reader, operations, sizeof *operations);
	replace_callbacks(plugin, operations);
	plugin->size = sizeof *plugin;
	plugin->name = read_string(reader);
	plugin->version = read_string(reader);
	plugin->description = read_string(reader);
	operations->extension = read_string(reader);
	operations->companions = read_strings(reader);
	reader->failed |= plugin->option_count > COUNT_MAX_DESCRIPTION;
	size_t count = reader->failed ? 0 : plugin->option_count;
	struct iaprof_option *options = count ? arena_allocate(reader->memory, count * sizeof *options) : NULL;
	reader->failed |= count && !options;
	for (size_t i = 0; options && i < count; i++)
		read_option(reader, &options[i]);
	plugin->options = options;
	plugin->option_size = sizeof *options;
}

/* Builds a plugin from the description that the process wrote. */
static int parse(struct plugin *plugin, const char *path, const char *bytes, size_t size, struct error *error)
{
	struct reader reader = { .memory = &plugin->memory, .bytes = bytes, .left = size };
	CLEANUP_FREE char *name = plugin_name_of_file(path);
	const char *failure = read_string(&reader);
	if (failure && *failure)
		return error_set(error, EINVAL, "%s", failure);
	read_plugin(&reader, &plugin->description, &plugin->operations);
	if (reader.failed || !name)
		return error_set(error, EBADMSG, "plugin %s: its description is malformed", path);
	int result = plugin_check_description(plugin, name, error);
	return result ? error_wrap(error, "plugin %s", path) : 0;
}

/* Starts the process. Returns 0 or a negative errno. */
static int start(const char *path, struct child *child)
{
	/* Text that a constructor prints must not appear in the output of a sink. */
	static const int streams[] = { -1, STDERR_FILENO, STDERR_FILENO };
	CLEANUP_FREE char *program = program_path();
	char *arguments[] = { (char *)PLUGIN_DESCRIPTION_PROGRAM, (char *)path, NULL };
	const struct child_setup setup = { .path = program,
					   .arguments = arguments,
					   .channel = SOCK_STREAM,
					   .streams = streams,
					   .is_leader = true,
					   .dies_with_us = true };
	return program ? child_start(child, &setup) : -ENOMEM;
}

static int describe(struct plugin *plugin, const char *path, struct error *error)
{
	CLEANUP_FREE char *bytes = NULL;
	CLEANUP(child_close) struct child child = CHILD_NONE;
	CLEANUP(run_delay_release) struct run_delay delay = { 0 };
	struct channel_answer answer = { .type = DESCRIPTION, .rest_max = SIZE_MAX_DESCRIPTION };
	int result = start(path, &child);
	if (result)
		return error_set(error, result, "plugin %s: cannot start a process for it: %s", path,
				 strerror(-result));
	struct deadline deadline = deadline_make_with(&delay, &child.delayed, TIME);
	result = channel_receive_answer(child.channel, &answer, &deadline);
	if (!result)
		result = channel_read_new(child.channel, answer.rest, &bytes, &deadline);
	if (!result)
		return parse(plugin, path, bytes, answer.rest, error);
	if (result == -ETIMEDOUT)
		return error_set(error, ETIME, "plugin %s: callback %s does not return: ended after 4 s", path,
				 IAPROF_PLUGIN_SYMBOL);
	if (result != -EPIPE)
		return error_set(error, result, "plugin %s: its description cannot be read: %s", path,
				 strerror(-result));
	child_wait(&child, END_TIME);
	if (child.status != -1 && WIFSIGNALED(child.status))
		return error_set(error, ECHILD, "plugin %s: crashed with SIG%s in callback %s", path,
				 sigabbrev_np(WTERMSIG(child.status)) ?: "KILL", IAPROF_PLUGIN_SYMBOL);
	return error_set(error, ECHILD, "plugin %s: called exit() in callback %s", path, IAPROF_PLUGIN_SYMBOL);
}

struct plugin *plugin_description_read(const char *path, struct error *error)
{
	struct plugin *plugin = calloc(1, sizeof *plugin);
	if (!plugin) {
		error_set(error, ENOMEM, "out of memory");
		return NULL;
	}
	plugin->path = realpath(path, NULL);
	if (!plugin->path) {
		error_set(error, errno, "plugin %s: %s", path, strerror(errno));
	} else if (!describe(plugin, path, error)) {
		plugin->has_no_code = true;
		return plugin;
	}
	plugin_free(plugin);
	return NULL;
}
