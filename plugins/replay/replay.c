/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source replay: sends the records of a capture (sink capture) as if the run happened again. The file is read twice:
 * what addresses mean was written after the samples that have them, so names are sent first and then all the rest. What
 * a SYNC put into the profile is sent before it: then the intervals that end there are those of the recorded run.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <iaprof/plugin.h>

#include "common/capture_format.h"
#include "values.h"

struct replay {
	const char *file; /* "-": standard input */

	int descriptor; /* when prepared */
	struct capture_reader reader;
	const volatile int *stopping; /* NULL before the thread runs */
	char *selected;               /* records of a block that are sent in this pass */
	bool has_values;              /* the first pass saw PROFILE_VALUE records */
	struct replay_values values;
	FILE *spool; /* in the first pass: what came from a pipe, to read it again; else NULL */
};

enum pass {
	PASS_NAMES,  /* what strings, sources, value types, addresses, functions of code objects and stacks are */
	PASS_EVENTS, /* everything else */
	PASS_VALUES  /* within the second one, by a reader of their own */
};

static const struct iaprof_option options[] = {
	{ .name = "file",
	  .type = IAPROF_OPTION_STRING,
	  .offset = offsetof(struct replay, file),
	  .help = "the capture to replay, \"-\" for standard input; has to be given" },
};

static int replay_configure(const struct iaprof_host *host, void *instance)
{
	struct replay *replay = instance;
	replay->descriptor = -1;
	if (!replay->file || !replay->file[0])
		return host->fail(host, EINVAL, "file= is missing: name the capture to replay");
	return 0;
}

static bool is_stopping(const struct replay *replay)
{
	return replay->stopping && __atomic_load_n(replay->stopping, __ATOMIC_ACQUIRE);
}

/* Waits for a pipe's writer, but not when the run is to end. Files are ready at once. */
static int wait_readable(const struct replay *replay)
{
	struct pollfd descriptor = { .fd = replay->descriptor, .events = POLLIN };
	for (;;) {
		if (is_stopping(replay))
			return -ECANCELED;
		int ready = poll(&descriptor, 1, 100);
		if (ready > 0)
			return 0;
		if (ready < 0 && errno != EINTR)
			return -errno;
	}
}

static ssize_t replay_read(void *context, void *data, size_t size)
{
	struct replay *replay = context;
	size_t done = 0;
	while (done < size) {
		int result = wait_readable(replay);
		if (result < 0)
			return result;
		ssize_t got = read(replay->descriptor, (char *)data + done, size - done);
		if (got == 0)
			break;
		if (got > 0)
			done += (size_t)got;
		else if (errno != EINTR && errno != EAGAIN)
			return -errno;
	}
	if (replay->spool && fwrite(data, 1, done, replay->spool) != done)
		return errno ? -errno : -EIO;
	return (ssize_t)done;
}

static void close_descriptor(struct replay *replay)
{
	if (replay->descriptor > STDIN_FILENO)
		close(replay->descriptor);
	replay->descriptor = -1;
}

static int open_reader(const struct iaprof_host *host, struct replay *replay)
{
	capture_reader_close(&replay->reader);
	replay->reader = (struct capture_reader){ .read = replay_read, .context = replay };
	int result = capture_reader_open(&replay->reader);
	if (result == -ECANCELED)
		return result;
	return result < 0 ? host->fail(host, result, "%s: %s", replay->file, replay->reader.wrong) : 0;
}

/* Goes back to the beginning: of what was read so far, for a pipe. */
static int rewind_file(const struct iaprof_host *host, struct replay *replay)
{
	if (replay->spool) {
		int copy = fflush(replay->spool) ? -1 : fcntl(fileno(replay->spool), F_DUPFD_CLOEXEC, 3);
		if (copy < 0)
			return host->fail(host, errno, "%s: %s", replay->file, strerror(errno));
		close_descriptor(replay);
		replay->descriptor = copy;
		fclose(replay->spool);
		replay->spool = NULL;
	}
	if (lseek(replay->descriptor, 0, SEEK_SET) < 0)
		return host->fail(host, errno, "%s: %s", replay->file, strerror(errno));
	return open_reader(host, replay);
}

static int replay_prepare(const struct iaprof_host *host, void *instance)
{
	struct replay *replay = instance;
	replay->descriptor = strcmp(replay->file, "-") == 0 ? STDIN_FILENO : open(replay->file, O_RDONLY | O_CLOEXEC);
	if (replay->descriptor < 0) {
		int error = errno;
		return host->fail(host, error, "open %s: %s", replay->file, strerror(error));
	}
	replay->selected = malloc(CAPTURE_BLOCK_SIZE_MAX);
	if (!replay->selected)
		return host->fail(host, ENOMEM, "not enough memory");
	if (lseek(replay->descriptor, 0, SEEK_CUR) < 0) {
		replay->spool = tmpfile();
		if (!replay->spool)
			return host->fail(host, errno, "%s: a file to read it twice from: %s", replay->file,
					  strerror(errno));
	}
	return open_reader(host, replay);
}

static int replay_start(const struct iaprof_host *host, void *instance)
{
	(void)host;
	(void)instance;
	return 0;
}

static enum pass pass_of(const struct iaprof_record *record)
{
	switch (record->type) {
	case IAPROF_RECORD_STRING:
	case IAPROF_RECORD_SOURCE:
	case IAPROF_RECORD_VALUE_TYPE:
	case IAPROF_RECORD_FRAMES:
	case IAPROF_RECORD_STACK_FRAMES:
	case IAPROF_RECORD_CODE_FUNCTION:
	case IAPROF_RECORD_PROFILE_STACK:
		return PASS_NAMES;
	case IAPROF_RECORD_PROFILE_VALUE:
		return PASS_VALUES;
	default:
		return PASS_EVENTS;
	}
}

static int emit(const struct iaprof_host *host, const struct replay *replay, const struct iaprof_batch *batch)
{
	int sent = batch->count ? host->emit(host, batch) : 0;
	return sent < 0 ? host->fail(host, sent, "%s: the records of block %" PRIu64 " are refused: %s", replay->file,
				     replay->reader.totals.blocks - 1, strerror(-sent))
			: 0;
}

/* What damage there is in the file is told by the pass that meets it. */
static int emit_values(const struct iaprof_host *host, struct replay *replay, uint64_t until)
{
	const struct iaprof_record *record;
	int result = 0;
	while (replay->has_values && (result = replay_values_next(&replay->values, until, &record)) > 0) {
		struct iaprof_batch batch = { .records = record, .size = record->size, .count = 1 };
		result = emit(host, replay, &batch);
		if (result < 0)
			return result;
	}
	if (result == 0 || result == -EBADMSG || result == -ECANCELED)
		return result == -ECANCELED ? result : 0;
	return host->fail(host, result, "%s: %s", replay->file, replay->values.reader.wrong);
}

static int emit_selected(const struct iaprof_host *host, struct replay *replay, const struct iaprof_batch *batch,
			 enum pass pass)
{
	struct iaprof_batch selected = { .records = replay->selected };
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(batch, record));) {
		if (pass == PASS_NAMES)
			replay->has_values |= record->type == IAPROF_RECORD_PROFILE_VALUE;
		if (pass_of(record) != pass)
			continue;
		if (record->type == IAPROF_RECORD_SYNC && replay->has_values) {
			int result = emit(host, replay, &selected);
			selected.size = selected.count = 0;
			if (result == 0)
				result = emit_values(host, replay, record->time);
			if (result < 0)
				return result;
		}
		memcpy(replay->selected + selected.size, record, record->size);
		selected.size += record->size;
		selected.count++;
	}
	return emit(host, replay, &selected);
}

/* Sends what belongs to a pass. -ECANCELED when the run is to end. What is damaged is told by the last pass. */
static int send_pass(const struct iaprof_host *host, struct replay *replay, enum pass pass)
{
	struct iaprof_batch batch;
	int result;
	while ((result = capture_reader_next(&replay->reader, &batch)) > 0) {
		int sent = emit_selected(host, replay, &batch, pass);
		if (sent < 0)
			return sent;
		if (is_stopping(replay))
			return -ECANCELED;
	}
	if (result == -ECANCELED)
		return result;
	if (pass == PASS_NAMES)
		return 0;
	int sent = emit_values(host, replay, UINT64_MAX);
	if (sent < 0)
		return sent;
	if (result < 0)
		return host->fail(host, result, "%s: %s; the %" PRIu64 " records before it were replayed", replay->file,
				  replay->reader.wrong, replay->reader.totals.records);
	return 0;
}

static int replay_thread(const struct iaprof_host *host, void *instance, const volatile int *stopping)
{
	struct replay *replay = instance;
	replay->stopping = stopping;
	int result = send_pass(host, replay, PASS_NAMES);
	if (result == 0)
		result = rewind_file(host, replay);
	if (result == 0 && replay->has_values) {
		result = replay_values_open(&replay->values, replay->descriptor, stopping);
		if (result < 0 && result != -ECANCELED)
			result = host->fail(host, result, "%s: %s", replay->file, replay->values.reader.wrong);
	}
	if (result == 0)
		result = send_pass(host, replay, PASS_EVENTS);
	return result == -ECANCELED ? 0 : result;
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
	capture_reader_close(&replay->reader);
	replay_values_close(&replay->values);
	free(replay->selected);
	if (replay->spool)
		fclose(replay->spool);
	close_descriptor(replay);
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
	.description = "the records of a capture, as if its run happened again",
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
