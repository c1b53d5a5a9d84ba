/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The GPU program beside a stream of raw rows, without iaprof's engine: what the hardware and the driver deliver. One
 * time, rows are not read for a while, so that a ring may overflow.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "child/child.h"
#include "collect.h"
#include "observations.h"
#include "xe-eustall/device.h"
#include "xe-eustall/fold.h"
#include "xe-eustall/stream.h"

/* Rows that are kept as they are. */
#define RAW_ROWS ((1u << 20) / ROW_SIZE)
/* During this kernel, rows are not read for a while. */
#define UNREAD_KERNEL "begin self_test_caller "
#define UNREAD_TIME UINT64_C(300000000) /* ns */
/* Rows arrive this long after the program's end: the driver's period is 5 ms. */
#define LAST_ROWS_TIME UINT64_C(50000000) /* ns */
/* The first compilation of the kernels can take long. */
#define PROGRAM_TIME_MAX (120 * NANOSECONDS_PER_SECOND)

struct collection {
	FILE *output;
	const struct device *device;
	int stream;
	struct fold fold;
	unsigned char *buffer;
	size_t size;
	uint64_t rows, raw_rows, overflows, reads_after_overflow;
	uint64_t unread_until; /* rows are not read before; 0: read them */
};

static char problem[256];

IAPROF_PRINTF(3, 4)
static int host_fail(const struct iaprof_host *host, int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(problem, sizeof problem, format, arguments);
	va_end(arguments);
	return -error;
}

static void host_log(const struct iaprof_host *host, int level, const char *format, ...)
{
}

static const struct iaprof_host quiet_host = { .fail = host_fail, .log = host_log };

static const struct query_gt *first_gt(const struct device *device)
{
	for (size_t i = 0; i < device->gts.count; i++)
		if (device->gts.gts[i].main && device->gts.gts[i].xe_cores)
			return &device->gts.gts[i];
	return NULL;
}

static void write_raw_row(struct collection *collection, const unsigned char *row)
{
	size_t length = ROW_SIZE;

	while (length && !row[length - 1])
		length--;
	fputs("row ", collection->output);
	for (size_t i = 0; i < length; i++)
		fprintf(collection->output, "%02x", row[i]);
	fputs(length ? "\n" : "00\n", collection->output);
}

static void write_sums(struct collection *collection)
{
	for (uint32_t i = 0; i < collection->fold.count; i++) {
		uint64_t address, sums[STALL_REASON_COUNT];
		fold_get(&collection->fold, i, &address, sums);
		fprintf(collection->output, "sum %#" PRIx64, address);
		for (size_t reason = 0; reason < STALL_REASON_COUNT; reason++)
			fprintf(collection->output, " %" PRIu64, sums[reason]);
		fputc('\n', collection->output);
	}
	fold_clear(&collection->fold);
}

static void add_rows(struct collection *collection, size_t count)
{
	for (size_t i = 0; i < count && collection->raw_rows < RAW_ROWS; i++, collection->raw_rows++)
		write_raw_row(collection, collection->buffer + i * ROW_SIZE);
	for (size_t taken = 0; taken < count;) {
		taken += fold_rows(&collection->fold, collection->buffer + taken * ROW_SIZE, count - taken, 1);
		if (taken < count)
			write_sums(collection);
	}
	collection->rows += count;
}

/* Reads the rows that have arrived. */
static void read_rows(struct collection *collection)
{
	for (;;) {
		ssize_t length = read(collection->stream, collection->buffer, collection->size);
		bool has_overflowed = length < 0 && errno == EIO;
		/* The driver reports an overflow once: another one directly after it is an error. */
		if (length <= 0 && !(has_overflowed && (!collection->overflows || collection->reads_after_overflow)))
			break;
		collection->overflows += has_overflowed;
		if (has_overflowed) {
			collection->reads_after_overflow = 0;
			continue;
		}
		collection->reads_after_overflow += collection->overflows > 0;
		add_rows(collection, (size_t)length / ROW_SIZE);
	}
}

/* Handles what the program printed: complete lines. Returns false at its end. */
static bool read_program(struct collection *collection, FILE *program, int start)
{
	CLEANUP_FREE char *line = NULL;
	size_t capacity = 0;

	if (getline(&line, &capacity, program) <= 0)
		return false;
	if (!strncmp(line, "begin ", 6)) {
		fprintf(stderr, "  running %.*s\n", (int)strcspn(line + 6, " \n"), line + 6);
		if (!strncmp(line, UNREAD_KERNEL, sizeof UNREAD_KERNEL - 1))
			collection->unread_until = clock_monotonic() + UNREAD_TIME;
	} else if (!strcmp(line, "ready\n")) {
		/* Rows of earlier code are dropped by this. */
		if (collection->stream >= 0)
			stream_enable(collection->stream);
		if (write(start, "\n", 1) != 1)
			return false;
	} else if (strncmp(line, "launches ", 9) != 0) {
		fputs(line, collection->output);
	}
	return true;
}

/* Reads both until the program ends. Returns whether it did in time. */
static bool run_program(struct collection *collection, int output, int start)
{
	CLEANUP_FCLOSE FILE *program = fdopen(output, "r");
	uint64_t limit = clock_monotonic() + PROGRAM_TIME_MAX;

	if (!program)
		return false;
	/* Lines are polled for, so none may wait in the buffer of the stream. */
	setvbuf(program, NULL, _IONBF, 0);
	for (;;) {
		bool reads = collection->stream >= 0 && clock_monotonic() >= collection->unread_until;
		struct pollfd files[] = { { .fd = output, .events = POLLIN },
					  { .fd = reads ? collection->stream : -1, .events = POLLIN } };
		if (clock_monotonic() > limit)
			return false;
		if (poll(files, 2, 10) < 0 && errno != EINTR)
			return false;
		if (reads)
			read_rows(collection);
		if (files[0].revents && !read_program(collection, program, start))
			break;
	}
	for (uint64_t end = clock_monotonic() + LAST_ROWS_TIME; collection->stream >= 0 && clock_monotonic() < end;
	     usleep(5000))
		read_rows(collection);
	return true;
}

static const char *start_program(const struct collect_setup *setup, struct collection *collection)
{
	struct child child = CHILD_NONE;
	char duration[24];
	char *arguments[] = { "iaprof-self-test-gpu", duration, "events", NULL };
	int output[2], start[2];

	snprintf(duration, sizeof duration, "%" PRIu64, setup->duration);
	if (pipe2(output, O_CLOEXEC) || pipe2(start, O_CLOEXEC))
		return "out of files";
	const int streams[] = { start[0], output[1], STDERR_FILENO };
	int result = child_start(&child, &(struct child_setup){ .path = setup->gpu_program,
								.arguments = arguments,
								.streams = streams,
								.dies_with_us = true });
	close(output[1]);
	close(start[0]);
	bool ended = !result && run_program(collection, output[0], start[1]);
	close(start[1]);
	if (result)
		return strerror(-result);
	if (!child_wait(&child, NANOSECONDS_PER_SECOND))
		child_kill(&child, NANOSECONDS_PER_SECOND);
	bool failed = child.status != 0;
	child_close(&child);
	return !ended ? "it did not end in time" : failed ? "it failed, see above" : NULL;
}

static void describe_device(struct collection *collection, const struct device *device, const struct query_gt *gt,
			    uint32_t period)
{
	fprintf(collection->output, "device %s gt %u xe-cores %u layout %s period %u name %s\n", device->address,
		gt->id, gt->xe_cores, device->layout->name, period, device->name);
}

/* Opens the stream with the slowest rate, as a profile begins. Returns NULL, or why it is missing. */
static const char *open_stream(struct collection *collection, const struct device *device)
{
	const struct query_gt *gt = first_gt(device);
	uint32_t period = device->eu_stall.rates[device->eu_stall.rate_count - 1];

	describe_device(collection, device, gt, period);
	collection->size = (size_t)device->eu_stall.buffer_size * gt->xe_cores;
	collection->buffer = malloc(collection->size);
	if (!collection->buffer || fold_init(&collection->fold, device->layout, FOLD_SLOTS_MAX))
		return "out of memory";
	collection->stream = stream_open(device->node, gt->id, period, 1);
	if (collection->stream >= 0)
		return NULL;
	if (collection->stream != -EBUSY)
		return strerror(-collection->stream);
	char owner[200];
	stream_owner_describe(device->node, owner, sizeof owner);
	snprintf(problem, sizeof problem, "the stream is in use by %.200s", owner);
	return problem;
}

bool collect_rows(const struct collect_setup *setup, FILE *output)
{
	struct collection collection = { .output = output, .stream = -1 };
	struct devices devices = { 0 };

	if (devices_open(&devices, &quiet_host, NULL, IAPROF_LOG_DEBUG)) {
		fprintf(output, "missing stream: %s\n", problem);
		return false;
	}
	fprintf(stderr, "Raw rows of EU stalls:\n");
	const char *why = open_stream(&collection, &devices.items[0]);
	if (why)
		fprintf(output, "missing stream: %s\n", why);
	why = start_program(setup, &collection);
	if (why)
		fprintf(output, "missing program: %s\n", why);
	if (collection.stream >= 0) {
		write_sums(&collection);
		fprintf(output,
			"rows %" PRIu64 " saturated %" PRIu64 " overflows %" PRIu64 " reads-after-overflow %" PRIu64
			"\n",
			collection.rows, collection.fold.saturated, collection.overflows,
			collection.reads_after_overflow);
		close(collection.stream);
	}
	free(collection.buffer);
	fold_free(&collection.fold);
	devices_close(&devices);
	return true;
}
