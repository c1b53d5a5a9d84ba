/* SPDX-License-Identifier: Apache-2.0 */
/* Sink ring: a capture of each interval, in a folder of limited size; read by source replay as ring:FROM..TO. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <iaprof/plugin.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/private_folder.h"
#include "base/regular_file.h"
#include "ring/ring_folder.h"
#include "segment.h"
#include "text/plural.h"

#define INTERVAL_DEFAULT (60 * NANOSECONDS_PER_SECOND)

static const char no_default_folder[] = "the default folder is not known (set folder=)";

/* Numbers of intervals. */
struct ring_counts {
	uint64_t written;
	uint64_t dropped; /* that could not be written */
};

struct ring {
	const char *folder; /* NULL: the default */
	uint64_t size, age; /* limits: bytes, ns */
	uint64_t level;
	bool group, spans;

	char *path;
	int descriptor; /* of the folder; valid if is_open */
	bool is_open;
	bool is_recorded; /* a replay, whose processes are not those of this machine */
	struct services services;
	bool is_failing; /* the last interval could not be written */
	struct ring_counts counts;
	uint64_t unstated; /* dropped intervals that no segment reports yet */
	uint64_t stored;   /* bytes of all segments */
};

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct ring, folder, STRING, "folder", NULL,
		      "Ring folder; default: ring in the state folder of the service, /var/lib/iaprof/ring for "
		      "root, or ~/.local/state/iaprof/ring",
		      .flags = IAPROF_OPTION_EXCLUSIVE),
	IAPROF_OPTION(struct ring, size, SIZE, "size", "1GiB",
		      "Maximum size of the ring; the oldest segments are removed", .minimum = 65536),
	IAPROF_OPTION(struct ring, age, DURATION, "age", "24h", "Maximum age of segments",
		      .minimum = NANOSECONDS_PER_SECOND, .maximum = 366 * 86400 * NANOSECONDS_PER_SECOND),
	IAPROF_OPTION(struct ring, group, BOOL, "group", "no",
		      "The group of the folder can read the ring: modes 0750 and 0640 instead of 0700 and 0600"),
	IAPROF_OPTION(struct ring, spans, BOOL, "spans", "no",
		      "Keep the spans of traces that threads worked on; each has stacks and values of its own"),
	IAPROF_OPTION(struct ring, level, UINT, "level", "3", "zstd compression level", .minimum = 1, .maximum = 19),
};

static int ring_configure(const struct iaprof_host *host, void *instance)
{
	const struct ring *ring = instance;
	if (ring->folder && !*ring->folder)
		return host->fail(host, EINVAL, "folder= is empty (omit it for the default folder)");
	host->request(host,
		      IAPROF_REQUEST_PRODUCERS | IAPROF_REQUEST_THREADS | (ring->spans ? IAPROF_REQUEST_SPANS : 0u));
	host->default_interval(host, INTERVAL_DEFAULT);
	return 0;
}

static char *folder_path(const struct ring *ring)
{
	return ring->folder ? strdup(ring->folder) : ring_folder_default();
}

static void ring_check(const struct iaprof_host *host, void *instance)
{
	const struct ring *ring = instance;
	CLEANUP_FREE char *path = folder_path(ring);
	if (path)
		private_folder_report(host, "folder", path, !ring->folder, NULL);
	else
		host->check_item(host, IAPROF_CHECK_MISSING, "folder", "%s", no_default_folder);
}

static void remove_segment(const struct ring *ring, const char *prefix, const char *name)
{
	char path[sizeof RING_PARTIAL + RING_NAME_SIZE];
	snprintf(path, sizeof path, "%s%s", prefix, name);
	unlinkat(ring->descriptor, path, 0);
}

/* Removes the oldest segments until there is room for more bytes. Returns 0 or a negative errno. */
static int make_room(struct ring *ring, uint64_t more)
{
	struct ring_segments segments = { 0 };
	uint64_t total = more, now = clock_read(CLOCK_REALTIME), oldest = now > ring->age ? now - ring->age : 0;
	int result = ring_folder_list(ring->descriptor, &segments);
	for (size_t i = 0; i < segments.count; i++)
		total += segments.items[i].size;
	for (size_t i = 0; i < segments.count && (total > ring->size || segments.items[i].end < oldest); i++) {
		remove_segment(ring, "", segments.items[i].name);
		total -= segments.items[i].size;
	}
	array_free(&segments);
	ring->stored = total - more;
	return result;
}

static bool is_partial(const void *context, const char *name)
{
	struct ring_segment segment;
	return !strncmp(name, RING_PARTIAL, strlen(RING_PARTIAL)) &&
	       ring_segment_parse(&segment, name + strlen(RING_PARTIAL));
}

/* Segments get the folder's group if its setgid bit is set, which stays. Returns 0 or a negative errno. */
static int open_to_group(int folder)
{
	struct stat status;
	return fstat(folder, &status) || fchmod(folder, (status.st_mode & S_ISGID) | 0750) ? -errno : 0;
}

static void close_folder(struct ring *ring)
{
	if (ring->is_open) {
		private_folder_unlock(ring->descriptor);
		close(ring->descriptor);
	}
	ring->is_open = false;
	free(STEAL_POINTER(ring->path));
}

/* Opens and creates the folder. Returns a descriptor or a negative errno, as private_folder_open(). */
static int open_folder(const struct ring *ring, const char **why)
{
	/* A misspelled folder= is not created somewhere else; a machine that never had a ring has no parents of it. */
	int result = ring->folder ? 0 : private_folder_make_parents(ring->path);
	return result ? result : private_folder_open(ring->path, true, why);
}

/* Makes the folder again if it was removed. Returns whether it was. */
static bool make_folder_again(struct ring *ring)
{
	const char *why;
	struct stat status;
	if (fstat(ring->descriptor, &status) || status.st_nlink)
		return false;
	int folder = open_folder(ring, &why);
	if (folder < 0)
		return false;
	if (private_folder_lock(folder) || (ring->group && open_to_group(folder))) {
		close(folder);
		return false;
	}
	close(ring->descriptor);
	ring->descriptor = folder;
	return true;
}

static void report_delivery(const struct iaprof_host *host, const struct ring *ring)
{
	host->delivery(host, &(struct iaprof_delivery){ .size = sizeof(struct iaprof_delivery),
							.delivered = ring->counts.written,
							.refused = IAPROF_COUNT_UNKNOWN,
							.dropped = ring->counts.dropped,
							.waiting = IAPROF_COUNT_UNKNOWN,
							.stored = ring->stored });
}

static int ring_prepare(const struct iaprof_host *host, void *instance)
{
	struct ring *ring = instance;
	const char *why = NULL;
	ring->path = folder_path(ring);
	if (!ring->path)
		return host->fail(host, ENOENT, "%s", no_default_folder);
	int folder = open_folder(ring, &why);
	if (folder < 0)
		return host->fail(host, -folder, "%s: %s", ring->path, why ? why : strerror(-folder));
	ring->descriptor = folder;
	ring->is_open = true;
	ring->is_recorded = host->target(host)->flags & IAPROF_TARGET_RECORDED;
	/* Not in start(), where CAP_FSETID is gone, without which the folder would lose its set-group-ID bit. */
	int result = ring->group ? open_to_group(folder) : 0;
	return result ? host->fail(host, result, "%s: %s", ring->path, strerror(-result)) : 0;
}

/*
 * Writes a segment under a temporary name and renames it once it is on the disk, so that after a crash or power
 * failure, a segment is complete or absent.
 */
static int write_segment(const struct ring *ring, const struct ring_segment *segment, const struct text *contents)
{
	char partial[sizeof RING_PARTIAL + RING_NAME_SIZE];
	snprintf(partial, sizeof partial, "%s%s", RING_PARTIAL, segment->name);
	unlinkat(ring->descriptor, partial, 0);
	int file = openat(ring->descriptor, partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0)
		return -errno;
	/* Independent of the umask. */
	int result = ring->group && fchmod(file, 0640) ? -errno : 0;
	if (!result)
		result = file_write(file, contents->data, contents->size);
	if (!result && fdatasync(file))
		result = -errno;
	if (close(file) && !result)
		result = -errno;
	if (!result && renameat(ring->descriptor, partial, ring->descriptor, segment->name))
		result = -errno;
	if (result)
		unlinkat(ring->descriptor, partial, 0);
	else
		(void)fsync(ring->descriptor); /* on failure, only the name may be lost */
	return result;
}

static int write_interval(struct ring *ring, const struct iaprof_profile *profile)
{
	CLEANUP(text_free) struct text contents = { 0 };
	uint64_t length = profile->end - profile->begin;
	struct ring_segment segment = { .begin = profile->begin_realtime ? profile->begin_realtime
									 : clock_read(CLOCK_REALTIME) - length };
	segment.end = segment.begin + length;
	services_begin(&ring->services);
	int result = segment_append(&contents, profile, ring->is_recorded ? NULL : &ring->services, ring->spans,
				    (int)ring->level, ring->unstated);
	if (!result && contents.size > ring->size)
		result = -EFBIG;
	if (!result)
		result = make_room(ring, contents.size);
	if (!result && !ring_segment_name(&segment))
		result = -ERANGE;
	if (!result)
		result = write_segment(ring, &segment, &contents);
	if (result)
		return result;
	ring->unstated = 0;
	ring->counts.written++;
	ring->stored += contents.size;
	return 0;
}

/* A full disk does not end the run: the interval is dropped and counted. */
static int ring_profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile)
{
	struct ring *ring = instance;
	struct iaprof_profile shortest;
	if (profile->end <= profile->begin) {
		if (!profile->value_count)
			return 0;
		/* Device samples that were held until the end of the run, after the last SYNC had ended an interval. */
		shortest = *profile;
		shortest.end = shortest.begin + 1;
		profile = &shortest;
	}
	int result = write_interval(ring, profile);
	if (result && make_folder_again(ring))
		result = write_interval(ring, profile);
	if (result) {
		ring->counts.dropped++;
		ring->unstated++;
		if (!ring->is_failing)
			host->log(host, IAPROF_LOG_WARNING,
				  "%s: %s (intervals are dropped until it can be written again)", ring->path,
				  result == -EFBIG ? "an interval is larger than the ring" : strerror(-result));
	} else if (ring->is_failing) {
		host->log(host, IAPROF_LOG_WARNING, "%s: writing resumed (%" PRIu64 " interval%s dropped so far)",
			  ring->path, ring->counts.dropped, plural(ring->counts.dropped));
	}
	ring->is_failing = result;
	report_delivery(host, ring);
	return 0;
}

/* An earlier run has the lock until then. */
static int ring_start(const struct iaprof_host *host, void *instance)
{
	struct ring *ring = instance;
	int result = private_folder_lock(ring->descriptor);
	if (result)
		return host->fail(host, result, "%s: %s", ring->path,
				  result == -EWOULDBLOCK ? "in use by another iaprof" : strerror(-result));
	private_folder_clean(ring->descriptor, is_partial, NULL);
	result = make_room(ring, 0);
	if (result)
		return host->fail(host, result, "%s: %s", ring->path, strerror(-result));
	report_delivery(host, ring);
	return 0;
}

static int ring_finish(const struct iaprof_host *host, void *instance)
{
	const struct ring *ring = instance;
	const struct ring_counts *counts = &ring->counts;
	return counts->dropped ? host->fail(host, EIO, "%s: %" PRIu64 " of %" PRIu64 " intervals could not be written",
					    ring->path, counts->dropped, counts->dropped + counts->written)
			       : 0;
}

static void ring_destroy(const struct iaprof_host *host, void *instance)
{
	struct ring *ring = instance;
	close_folder(ring);
	services_free(&ring->services);
}

static const struct iaprof_sink_operations operations = {
	.size = sizeof operations,
	.check = ring_check,
	.prepare = ring_prepare,
	.start = ring_start,
	.finish = ring_finish,
	.profile = ring_profile,
};

static const struct iaprof_plugin ring_plugin = {
	IAPROF_PLUGIN_VERSIONS,
	IAPROF_PLUGIN_OPTIONS(options),
	.kind = IAPROF_PLUGIN_SINK,
	.flags = IAPROF_PLUGIN_INTERVALS | IAPROF_PLUGIN_NO_OUTPUT | IAPROF_PLUGIN_DEFAULT_OF_CONTINUOUS,
	.name = "ring",
	.version = PLUGIN_VERSION,
	.description = "Captures of the last hours in a folder of limited size, for --replay ring:FROM..TO",
	.instance_size = sizeof(struct ring),
	.sink = &operations,
	.configure = ring_configure,
	.destroy = ring_destroy,
};

IAPROF_REGISTER_PLUGIN(ring_plugin)
