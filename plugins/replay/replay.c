/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source replay: sends what a file has as if its run happened again: a capture (sink capture), or a profile that
 * another program wrote as text. Which of them it is, is seen by how it begins.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <iaprof/plugin.h>

#include "capture_replay.h"
#include "replay_input.h"
#include "text/text_replay.h"

#define READ_SIZE ((size_t)64 << 10)

struct replay {
	const char *file; /* "-": standard input */
	const char *value, *unit;

	struct replay_input input;
	struct capture_replay capture;
	struct text_replay *text; /* NULL: the file is a capture */
};

static const struct iaprof_option options[] = {
	{ .name = "file",
	  .type = IAPROF_OPTION_STRING,
	  .offset = offsetof(struct replay, file),
	  .help = "the capture, folded stacks, text of perf script or stream of sink iaprof to replay, \"-\" for "
		  "standard "
		  "input; has to be given" },
	{ .name = "value",
	  .type = IAPROF_OPTION_STRING,
	  .offset = offsetof(struct replay, value),
	  .default_value = "samples",
	  .help = "what the values of folded stacks are of, which do not say it: cpu, gpu-stalls" },
	{ .name = "unit",
	  .type = IAPROF_OPTION_STRING,
	  .offset = offsetof(struct replay, unit),
	  .default_value = "count",
	  .help = "the unit of the values of folded stacks: count, nanoseconds, bytes" },
	{ .name = "memory",
	  .type = IAPROF_OPTION_SIZE,
	  .offset = offsetof(struct replay, capture.budget.memory),
	  .help = "memory that the replay of a capture may use, in bytes, instead of limits that follow its size" },
};

static int replay_configure(const struct iaprof_host *host, void *instance)
{
	struct replay *replay = instance;
	replay->input.descriptor = -1;
	if (!replay->file || !replay->file[0])
		return host->fail(host, EINVAL, "file= is missing: name the capture to replay");
	if (!replay->value[0] || !replay->unit[0] || strlen(replay->value) + strlen(replay->unit) > 200)
		return host->fail(host, EINVAL, "value= and unit= are names: give each one or two words");
	return 0;
}

static bool can_tell(const char *bytes, size_t size, bool is_whole)
{
	return text_format_of(bytes, size, is_whole) != TEXT_FORMAT_MORE;
}

static int prepare_text(const struct iaprof_host *host, struct replay *replay, enum text_format format)
{
	if (format == TEXT_FORMAT_NONE)
		return host->fail(host, EINVAL,
				  "%s: not a capture of iaprof, nor folded stacks, text of perf script or a stream of "
				  "sink iaprof",
				  replay->file);
	const struct text_replay_options of_text = {
		.file = replay->file, .format = format, .value_type = replay->value, .unit = replay->unit
	};
	replay->text = calloc(1, sizeof *replay->text);
	return replay->text ? text_replay_init(replay->text, host, &of_text)
			    : host->fail(host, ENOMEM, "not enough memory");
}

static int replay_prepare(const struct iaprof_host *host, void *instance)
{
	struct replay *replay = instance;
	int result = replay_input_open(&replay->input, host, replay->file);
	if (result < 0)
		return result;
	result = replay_input_look(&replay->input, TEXT_FORMAT_SIZE, can_tell);
	if (result < 0)
		return host->fail(host, result, "%s: %s", replay->file, strerror(-result));
	enum text_format format = text_format_of(replay->input.begin, replay->input.begin_size, true);
	return format == TEXT_FORMAT_CAPTURE ? capture_replay_open(&replay->capture, host, &replay->input)
					     : prepare_text(host, replay, format);
}

static int replay_start(const struct iaprof_host *host, void *instance)
{
	(void)host;
	(void)instance;
	return 0;
}

static int run_text(const struct iaprof_host *host, struct replay *replay)
{
	char *bytes = malloc(READ_SIZE);
	if (!bytes)
		return host->fail(host, ENOMEM, "not enough memory");
	ssize_t got;
	int result = 0;
	while (result == 0 && (got = replay_input_read_some(&replay->input, bytes, READ_SIZE)) > 0)
		result = text_replay_feed(replay->text, bytes, (size_t)got);
	free(bytes);
	if (result < 0)
		return result;
	if (got < 0 && got != -ECANCELED)
		return host->fail(host, (int)got, "read %s: %s", replay->file, strerror((int)-got));
	return text_replay_end(replay->text, got == 0);
}

static int replay_thread(const struct iaprof_host *host, void *instance, const volatile int *stopping)
{
	struct replay *replay = instance;
	replay->input.stopping = stopping;
	return replay->text ? run_text(host, replay) : capture_replay_run(&replay->capture, host);
}

static int replay_stop(const struct iaprof_host *host, void *instance)
{
	(void)host;
	(void)instance;
	return 0;
}

static void replay_destroy(const struct iaprof_host *host, void *instance)
{
	(void)host;
	struct replay *replay = instance;
	capture_replay_close(&replay->capture);
	if (replay->text)
		text_replay_free(replay->text);
	free(replay->text);
	replay_input_close(&replay->input);
}

static const struct iaprof_plugin replay_plugin = {
	.abi_version = IAPROF_ABI_VERSION,
	.size = sizeof replay_plugin,
	.schema_version = IAPROF_SCHEMA_VERSION,
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags = IAPROF_PLUGIN_REPLAYS | IAPROF_PLUGIN_LOSSLESS | IAPROF_PLUGIN_ONLY_BY_NAME,
	.option_size = sizeof(struct iaprof_option),
	.name = "replay",
	.version = PLUGIN_VERSION,
	.description = "a capture, or a profile that another program wrote as text, as if its run happened again",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
	.instance_size = sizeof(struct replay),
	.configure = replay_configure,
	.destroy = replay_destroy,
	.prepare = replay_prepare,
	.start = replay_start,
	.stop = replay_stop,
	.thread = replay_thread,
};

IAPROF_REGISTER_PLUGIN(replay_plugin)
