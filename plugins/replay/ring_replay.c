/* SPDX-License-Identifier: Apache-2.0 */
/* See ring_replay.h. */
#include "ring_replay.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/private_folder.h"
#include "base/regular_file.h"
#include "capture/capture_format.h"

static int out_of_memory(const struct iaprof_host *host)
{
	return host->fail(host, ENOMEM, "not enough memory");
}

static int refuse_empty(struct ring_replay *ring, const struct iaprof_host *host, uint64_t first, uint64_t last)
{
	char begin[32], end[32];
	if (!last)
		return host->fail(host, ENOENT, "%s: there is no segment in %s", ring->path, ring->range.folder);
	ring_time_describe(first, begin);
	ring_time_describe(last, end);
	return host->fail(host, ENOENT, "%s: no data in this range (%s has %s..%s)", ring->path, ring->range.folder,
			  begin, end);
}

/* Keeps the segments that overlap the range. */
static int select_segments(struct ring_replay *ring, const struct iaprof_host *host)
{
	struct ring_segments *segments = &ring->segments;
	uint64_t first = segments->count ? segments->items[0].begin : 0, last = 0;
	size_t kept = 0;
	for (size_t i = 0; i < segments->count; i++) {
		struct ring_segment segment = segments->items[i];
		last = segment.end > last ? segment.end : last;
		if (segment.begin < ring->range.to && segment.end > ring->range.from)
			segments->items[kept++] = segment;
	}
	segments->count = kept;
	return kept ? 0 : refuse_empty(ring, host, first, last);
}

int ring_replay_open(struct ring_replay *ring, const struct iaprof_host *host, const char *path,
		     struct replay_budget *budget)
{
	char wrong[256];
	const char *why = NULL;
	ring->path = path;
	ring->budget = budget;
	int result = ring_range_parse(&ring->range, path, clock_read(CLOCK_REALTIME), wrong, sizeof wrong);
	if (result)
		return host->fail(host, -result, "%s: %s", path, wrong);
	ring->folder = private_folder_open(ring->range.folder, false, &why);
	if (ring->folder < 0)
		return host->fail(host, -ring->folder, "%s: %s: %s", path, ring->range.folder, strerror(-ring->folder));
	ring->is_open = true;
	result = ring_folder_list(ring->folder, &ring->segments);
	if (result)
		return host->fail(host, -result, "%s: %s", ring->range.folder, strerror(-result));
	replay_budget_open(budget);
	result = record_batch_init(&ring->run.batch, host);
	return result ? result : select_segments(ring, host);
}

/* Sends the records of a segment. Returns 0, or a negative errno with *wrong: -EBADMSG, -EINVAL: it is damaged. */
static int send_records(struct ring_replay *ring, const struct iaprof_host *host, struct capture_reader *reader,
			const char *name, const volatile int *stopping)
{
	struct iaprof_batch batch;
	int result = capture_reader_open(reader);
	while (result == 0 && (result = capture_reader_next(reader, &batch)) > 0) {
		const struct iaprof_record *record = NULL;
		result = __atomic_load_n(stopping, __ATOMIC_ACQUIRE) ? -ECANCELED : 0;
		if (result == 0 && replay_budget_count(ring->budget, &batch))
			result = -ENOMEM;
		if (result == 0)
			result = replay_budget_check(ring->budget, host, name, ring->size + reader->offset,
						     ring->records + reader->totals.bytes,
						     ring->blocks + reader->totals.blocks);
		while (result == 0 && (record = iaprof_batch_next(&batch, record))) {
			result = ring_records_take(&ring->run, host, record);
			if (result == -EBADMSG || result == -EINVAL)
				snprintf(reader->wrong, sizeof reader->wrong,
					 "a record of type %u is not one of a ring", record->type);
		}
		if (result == 0)
			result = record_batch_flush(&ring->run.batch);
	}
	ring->size += reader->offset;
	ring->records += reader->totals.bytes;
	ring->blocks += reader->totals.blocks;
	return result;
}

static int send_segment(struct ring_replay *ring, const struct iaprof_host *host, const struct ring_segment *segment,
			const volatile int *stopping)
{
	CLEANUP_CLOSE int descriptor = regular_file_open(ring->folder, segment->name, O_NOFOLLOW);
	struct capture_reader reader = { .read = capture_read_file, .context = &descriptor };
	int result = descriptor < 0 ? descriptor : send_records(ring, host, &reader, segment->name, stopping);
	capture_reader_close(&reader);
	ring_records_end_segment(&ring->run);
	if (result == -ENOMEM)
		return out_of_memory(host);
	if (result == 0 || result == -ECANCELED || result == -EFBIG)
		return result;
	/* The writer may have removed it meanwhile. */
	ring->skipped += result != -ENOENT;
	host->log(host, IAPROF_LOG_WARNING, "%s/%s: %s", ring->range.folder, segment->name,
		  reader.wrong[0] ? reader.wrong : strerror(-result));
	return 0;
}

int ring_replay_run(struct ring_replay *ring, const struct iaprof_host *host, const volatile int *stopping)
{
	int result = 0;
	for (size_t i = 0; result == 0 && i < ring->segments.count; i++)
		result = send_segment(ring, host, &ring->segments.items[i], stopping);
	if (result == 0 && ring->skipped)
		return host->fail(host, EBADMSG, "%s: %zu of %zu segments could not be read completely", ring->path,
				  ring->skipped, ring->segments.count);
	return result == -ECANCELED ? 0 : result;
}

void ring_replay_close(struct ring_replay *ring)
{
	ring_records_free(&ring->run);
	array_free(&ring->segments);
	free(ring->range.folder);
	if (ring->is_open)
		close(ring->folder);
}
