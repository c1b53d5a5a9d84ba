/* SPDX-License-Identifier: Apache-2.0 */
/* Source replay: sends the records of a capture (sink capture) as if the run happened again. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include <iaprof/plugin.h>

#include "common/capture_format.h"

struct replay {
	const char *file; /* "-": standard input */

	int descriptor; /* when prepared */
	struct capture_reader reader;
	const volatile int *stopping; /* NULL before the thread runs */
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

/* Waits for a pipe's writer, but not when the run is to end. Files are ready at once. */
static int wait_readable(const struct replay *replay)
{
	struct pollfd descriptor = { .fd = replay->descriptor, .events = POLLIN };
	for (;;) {
		if (replay->stopping && __atomic_load_n(replay->stopping, __ATOMIC_ACQUIRE))
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
	return (ssize_t)done;
}

static int replay_prepare(const struct iaprof_host *host, void *instance)
{
	struct replay *replay = instance;
	replay->descriptor = strcmp(replay->file, "-") == 0 ? STDIN_FILENO : open(replay->file, O_RDONLY | O_CLOEXEC);
	if (replay->descriptor < 0) {
		int error = errno;
		return host->fail(host, error, "open %s: %s", replay->file, strerror(error));
	}
	replay->reader.read = replay_read;
	replay->reader.context = replay;
	int result = capture_reader_open(&replay->reader);
	return result < 0 ? host->fail(host, result, "%s: %s", replay->file, replay->reader.wrong) : 0;
}

static int replay_start(const struct iaprof_host *host, void *instance)
{
	(void)host;
	(void)instance;
	return 0;
}

static int replay_thread(const struct iaprof_host *host, void *instance, const volatile int *stopping)
{
	struct replay *replay = instance;
	replay->stopping = stopping;
	struct iaprof_batch batch;
	int result;
	while ((result = capture_reader_next(&replay->reader, &batch)) > 0) {
		int sent = host->emit(host, &batch);
		if (sent < 0)
			return host->fail(host, sent, "%s: the records of block %" PRIu64 " are refused: %s",
					  replay->file, replay->reader.totals.blocks - 1, strerror(-sent));
		if (__atomic_load_n(stopping, __ATOMIC_ACQUIRE))
			return 0;
	}
	if (result == -ECANCELED)
		return 0;
	if (result < 0)
		return host->fail(host, result, "%s: %s; the %" PRIu64 " records before it were replayed", replay->file,
				  replay->reader.wrong, replay->reader.totals.records);
	return 0;
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
	if (replay->descriptor > STDIN_FILENO)
		close(replay->descriptor);
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
