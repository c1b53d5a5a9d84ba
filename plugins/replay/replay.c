/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source replay: sends the contents of a file as if the run happened again. The file is a capture (sink capture), or a
 * profile that another program wrote as text; its beginning indicates which. Or sends a range of a ring (sink ring).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <iaprof/plugin.h>

#include "base/clock.h"
#include "capture_replay.h"
#include "ring_replay.h"
#include "text/file_kind.h"
#include "text/input_file.h"
#include "text/text_replay.h"

#define READ_SIZE ((size_t)64 << 10)

struct replay {
	const char *file;                     /* "-": standard input */
	const char *given_value, *given_unit; /* set by the user; NULL: not set */
	const char *value, *unit;             /* of folded stacks */

	struct input_file input;
	struct capture_replay capture;
	struct text_replay *text; /* NULL: the file is a capture */
	bool is_ring;
	struct ring_replay ring;
};

#define OPTION(...) IAPROF_OPTION(struct replay, __VA_ARGS__)

static const struct iaprof_option options[] = {
	OPTION(file, STRING, "file", NULL,
	       "Capture, folded stacks, output of perf script, or stream of sink iaprof to replay; \"-\" is standard "
	       "input; ring:FROM..TO or FOLDER:FROM..TO is a range of a ring; mandatory"),
	OPTION(given_value, STRING, "value", NULL,
	       "Value type of folded stacks, whose format does not include it: cpu, gpu-stalls; without it, from a "
	       "file name such as run.cpu.folded, else samples"),
	OPTION(given_unit, STRING, "unit", NULL,
	       "Unit of the values of folded stacks: count, nanoseconds, bytes; without it, that of the value type in "
	       "the file name, else count"),
	OPTION(capture.budget.memory, SIZE, "memory", NULL,
	       "Memory limit for replaying a capture; without it, the limit depends on the size of the file"),
};

/*
 * Sets the value type of folded stacks if the user did not. Sink folded writes that of iaprof's sources into the file
 * name; without its unit, nanoseconds would be shown as samples.
 */
static void choose_value(struct replay *replay)
{
	static const struct {
		const char *ending, *value, *unit;
	} known[] = {
		{ ".cpu.folded", "cpu", "nanoseconds" },
		{ ".gpu-stalls.folded", "gpu-stalls", "count" },
		{ ".npu-time.folded", "npu-time", "nanoseconds" },
		{ ".npu-calls.folded", "npu-calls", "count" },
		{ "", "samples", "count" },
	};
	size_t i = replay->given_value ? sizeof known / sizeof *known - 1 : 0, length = strlen(replay->file);
	while (length < strlen(known[i].ending) ||
	       strcmp(replay->file + length - strlen(known[i].ending), known[i].ending) != 0)
		i++;
	replay->value = replay->given_value ? replay->given_value : known[i].value;
	replay->unit = replay->given_unit ? replay->given_unit : known[i].unit;
}

static int check_range(const struct iaprof_host *host, const char *path)
{
	struct ring_range range;
	char wrong[256];
	int result = ring_range_parse(&range, path, clock_read(CLOCK_REALTIME), wrong, sizeof wrong);
	free(range.folder);
	return result ? host->fail(host, -result, "%s: %s", path, wrong) : 0;
}

static int replay_configure(const struct iaprof_host *host, void *instance)
{
	struct replay *replay = instance;
	if (!replay->file || !replay->file[0])
		return host->fail(host, EINVAL, "file= is missing: set it to the capture to replay");
	choose_value(replay);
	if (!replay->value[0] || !replay->unit[0] || strlen(replay->value) + strlen(replay->unit) > 200)
		return host->fail(host, EINVAL,
				  "value= and unit= must not be empty and must not contain more than two words");
	return ring_range_is(replay->file) ? check_range(host, replay->file) : 0;
}

static bool has_format(const char *bytes, size_t size, bool is_whole)
{
	return text_format_of(bytes, size, is_whole, NULL) != TEXT_FORMAT_MORE;
}

/* Appends the command that converts the file: " (use perf script -i perf.data | iaprof --replay -)". */
static void append_remedy(struct text *text, const char *command, const char *file)
{
	static const char *const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+=@%,:-";
	const char *quote = file[strspn(file, safe)] ? "'" : "";
	bool has_name = file[0] != '-' && !strchr(file, '\'');
	text_append_format(text, " (use %s %s%s%s | iaprof --replay -)", command, has_name ? quote : "",
			   has_name ? file : "FILE", has_name ? quote : "");
}

static void append_kind(struct text *text, const struct file_kind *kind, const struct text_line *strange,
			const char *file)
{
	if (kind->name)
		text_append_format(text, ": it looks like %s", kind->name);
	if (kind->inside)
		text_append_format(text, " that contains %s", kind->inside);
	if (kind->command)
		append_remedy(text, kind->command, file);
	else if (kind->flags & FILE_KIND_TEXT && strange->number) {
		struct text_refused refused = { 0 };
		text_refused_add(&refused, strange, "");
		text_append_format(text, " (line %" PRIu64 " is not a stack: \"%s\")", strange->number, refused.text);
	}
}

/* Rejects a file that is not a profile, and reports what kind of file it seems to be. */
static int refuse(const struct iaprof_host *host, const struct replay *replay, const struct file_kind *kind,
		  const struct text_line *strange)
{
	struct text text = { 0 };
	append_kind(&text, kind, strange, replay->file);
	int result = host->fail(host, EINVAL,
				"%s: not a capture of iaprof, nor folded stacks, text of perf script or a stream of "
				"sink iaprof%s",
				replay->file, text_string(&text));
	text_free(&text);
	return result;
}

static int prepare_text(const struct iaprof_host *host, struct replay *replay, enum text_format format)
{
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
	replay->is_ring = ring_range_is(replay->file);
	if (replay->is_ring)
		return ring_replay_open(&replay->ring, host, replay->file, &replay->capture.budget);
	int result = input_file_open(&replay->input, host, replay->file);
	if (result < 0)
		return result;
	result = input_file_peek(&replay->input, TEXT_FORMAT_SIZE, has_format);
	if (result < 0)
		return host->fail(host, result, "%s: %s", replay->file, strerror(-result));
	struct text_line strange;
	struct text_span begin = { replay->input.begin, replay->input.begin_size };
	enum text_format format = text_format_of(begin.text, begin.length, true, &strange);
	if (format == TEXT_FORMAT_CAPTURE)
		return capture_replay_open(&replay->capture, host, &replay->input);
	struct file_kind kind = file_kind_of(begin, replay->file);
	return format == TEXT_FORMAT_NONE || kind.flags & FILE_KIND_CERTAIN ? refuse(host, replay, &kind, &strange)
									    : prepare_text(host, replay, format);
}

static int replay_start(const struct iaprof_host *host, void *instance)
{
	return 0;
}

static int run_text(const struct iaprof_host *host, struct replay *replay)
{
	char *bytes = malloc(READ_SIZE);
	if (!bytes)
		return host->fail(host, ENOMEM, "not enough memory");
	ssize_t got;
	int result = 0;
	while (result == 0 && (got = input_file_read_some(&replay->input, bytes, READ_SIZE)) > 0)
		result = text_replay_feed(replay->text, bytes, (size_t)got);
	free(bytes);
	if (result < 0)
		return result;
	if (got < 0 && got != -ECANCELED)
		return host->fail(host, (int)got, "cannot read %s: %s", replay->file, strerror((int)-got));
	return text_replay_end(replay->text, got == 0);
}

static int replay_thread(const struct iaprof_host *host, void *instance, const volatile int *stopping)
{
	struct replay *replay = instance;
	replay->input.stopping = stopping;
	if (replay->is_ring)
		return ring_replay_run(&replay->ring, host, stopping);
	return replay->text ? run_text(host, replay) : capture_replay_run(&replay->capture, host);
}

static int replay_stop(const struct iaprof_host *host, void *instance)
{
	return 0;
}

static void replay_destroy(const struct iaprof_host *host, void *instance)
{
	struct replay *replay = instance;
	ring_replay_close(&replay->ring);
	capture_replay_close(&replay->capture);
	if (replay->text)
		text_replay_free(replay->text);
	free(replay->text);
	input_file_close(&replay->input);
}

static const struct iaprof_source_operations operations = {
	.size = sizeof operations,
	.prepare = replay_prepare,
	.start = replay_start,
	.stop = replay_stop,
	.thread = replay_thread,
};

static const struct iaprof_plugin replay_plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags = IAPROF_PLUGIN_REPLAYS | IAPROF_PLUGIN_LOSSLESS | IAPROF_PLUGIN_ONLY_BY_NAME | IAPROF_PLUGIN_CAPTURES,
	.name = "replay",
	.version = PLUGIN_VERSION,
	.description = "Replay of a capture, or of stacks written by another profiler",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct replay),
	.source = &operations,
	.configure = replay_configure,
	.destroy = replay_destroy,
};

IAPROF_REGISTER_PLUGIN(replay_plugin)
