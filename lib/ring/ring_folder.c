/* SPDX-License-Identifier: Apache-2.0 */
/* See ring_folder.h. */
#include "ring/ring_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define FOLDER_OF_ROOT "/var/lib/iaprof/ring"
/* Limit on files; a sink does not write more. */
#define SEGMENTS_MAX 1000000u
/* Limit on the length of a segment, one year, so that a foreign file name cannot overflow a time. */
#define LENGTH_MAX (366 * 86400 * NANOSECONDS_PER_SECOND)

static char *join(const char *folder, const char *rest)
{
	char *path;
	return asprintf(&path, "%s%s", folder, rest) < 0 ? NULL : path;
}

char *ring_folder_default(void)
{
	/* Set by systemd, with colons between several. */
	const char *service = getenv("STATE_DIRECTORY"), *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char *path;
	if (service && *service)
		return asprintf(&path, "%.*s/ring", (int)strcspn(service, ":"), service) < 0 ? NULL : path;
	if (!geteuid())
		return strdup(FOLDER_OF_ROOT);
	if (state && *state == '/')
		return join(state, "/iaprof/ring");
	return home && *home ? join(home, "/.local/state/iaprof/ring") : NULL;
}

bool ring_segment_name(struct ring_segment *segment)
{
	time_t seconds = (time_t)(segment->begin / NANOSECONDS_PER_SECOND);
	struct tm broken;
	char date[32];
	if (segment->end < segment->begin || segment->end - segment->begin > LENGTH_MAX ||
	    !gmtime_r(&seconds, &broken) || broken.tm_year > 8099 ||
	    !strftime(date, sizeof date, "%Y%m%dT%H%M%S", &broken))
		return false;
	int length = snprintf(segment->name, sizeof segment->name, "%s.%09" PRIu64 "Z-%" PRIu64 ".iaprof", date,
			      segment->begin % NANOSECONDS_PER_SECOND, segment->end - segment->begin);
	return length > 0 && (size_t)length < sizeof segment->name;
}

/* Reads count digits. */
static bool read_digits(const char **text, size_t count, uint64_t *value)
{
	*value = 0;
	for (size_t i = 0; i < count; i++, ++*text) {
		if (**text < '0' || **text > '9')
			return false;
		*value = *value * 10 + (uint64_t)(**text - '0');
	}
	return true;
}

static bool skip_character(const char **text, char expected)
{
	return *(*text)++ == expected;
}

bool ring_segment_parse(struct ring_segment *segment, const char *name)
{
	const char *next = name;
	uint64_t year, month, day, hour, minute, second, fraction, length;
	if (!read_digits(&next, 4, &year) || !read_digits(&next, 2, &month) || !read_digits(&next, 2, &day) ||
	    !skip_character(&next, 'T') || !read_digits(&next, 2, &hour) || !read_digits(&next, 2, &minute) ||
	    !read_digits(&next, 2, &second) || !skip_character(&next, '.') || !read_digits(&next, 9, &fraction) ||
	    !skip_character(&next, 'Z') || !skip_character(&next, '-'))
		return false;
	size_t digits = strspn(next, "0123456789");
	if (!digits || digits > 17 || !read_digits(&next, digits, &length) || length > LENGTH_MAX)
		return false;
	struct tm broken = { .tm_year = (int)year - 1900,
			     .tm_mon = (int)month - 1,
			     .tm_mday = (int)day,
			     .tm_hour = (int)hour,
			     .tm_min = (int)minute,
			     .tm_sec = (int)second };
	time_t begin = timegm(&broken);
	struct ring_segment again = { 0 };
	if (begin < 0)
		return false;
	again.begin = (uint64_t)begin * NANOSECONDS_PER_SECOND + fraction;
	again.end = again.begin + length;
	/* Also rejects times such as the 31st of February. */
	if (!ring_segment_name(&again) || strcmp(again.name, name) != 0)
		return false;
	again.size = segment->size;
	*segment = again;
	return true;
}

static int compare_segments(const void *left, const void *right)
{
	const struct ring_segment *a = left, *b = right;
	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

static int add_segment(int folder, struct ring_segments *segments, const char *name)
{
	struct stat status;
	struct ring_segment segment = { 0 };
	const char *whole = strncmp(name, RING_PARTIAL, strlen(RING_PARTIAL)) ? name : name + strlen(RING_PARTIAL);
	if (!ring_segment_parse(&segment, whole) || fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) ||
	    !S_ISREG(status.st_mode))
		return 0;
	if (whole != name) {
		segments->partial++;
		return 0;
	}
	segment.size = (uint64_t)status.st_size;
	return segments->count < SEGMENTS_MAX && array_push(segments, segment) ? 0 : -ENOMEM;
}

int ring_folder_list(int folder, struct ring_segments *segments)
{
	/* A new descriptor, whose position is at the beginning. */
	int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CLEANUP_CLOSEDIR DIR *listed = again < 0 ? NULL : fdopendir(again);
	if (!listed) {
		int error = errno;
		if (again >= 0)
			close(again);
		return -error;
	}
	int result = 0;
	for (struct dirent *found; result == 0 && (found = readdir(listed));)
		result = add_segment(folder, segments, found->d_name);
	if (segments->count > 1)
		qsort(segments->items, segments->count, sizeof *segments->items, compare_segments);
	return result;
}
