/* SPDX-License-Identifier: Apache-2.0 */
/* See ring_range.h. */
#include "ring/ring_range.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "ring/ring_folder.h"

#define DEFAULT_PREFIX "ring:"

static bool is_folder(const char *path, size_t length)
{
	struct stat status;
	CLEANUP_FREE char *copy = strndup(path, length);
	return copy && !stat(copy, &status) && S_ISDIR(status.st_mode);
}

/* Returns the length of the folder in a path, and its times; 0: it is no range. */
static size_t split(const char *path, const char **times)
{
	struct stat status;
	size_t length = strlen(path);
	*times = "";
	if (!stat(path, &status))
		return S_ISDIR(status.st_mode) ? length : 0;
	for (const char *colon = path; (colon = strchr(colon, ':')); colon++) {
		bool has_folder = colon - path == strlen(DEFAULT_PREFIX) - 1
					  ? !strncmp(path, DEFAULT_PREFIX, strlen(DEFAULT_PREFIX))
					  : false;
		bool has_times = strstr(colon, "..") || !colon[1];
		if (!has_folder && (!has_times || colon == path || !is_folder(path, (size_t)(colon - path))))
			continue;
		*times = colon + 1;
		return (size_t)(colon - path);
	}
	return 0;
}

bool ring_range_is(const char *path)
{
	const char *times;
	return split(path, &times) > 0;
}

static bool read_number(const char *text, const char **end, double *value)
{
	char *after;
	if (!strchr("0123456789", *text) || !*text)
		return false;
	errno = 0;
	*value = strtod(text, &after);
	*end = after;
	return !errno && *value >= 0 && *value < 1e11;
}

/* "10m" before now. */
static bool read_ago(const char *text, uint64_t now, uint64_t *time)
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = { { "", 1 }, { "s", 1 }, { "m", 60 }, { "min", 60 }, { "h", 3600 }, { "d", 86400 } };
	const char *unit;
	double value;
	if (!read_number(text, &unit, &value))
		return false;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (!strcmp(unit, units[i].unit)) {
			double before = value * units[i].seconds * 1e9;
			*time = before < (double)now ? now - (uint64_t)before : 0;
			return true;
		}
	return false;
}

static const char *const not_a_time =
	"is not a time (use now, -10m, 13:00, 2026-11-26T13:00, with Z for UTC, or @SECONDS)";

/* UTC, because a time that local time skips is moved, too. */
static bool date_exists(const struct tm *date)
{
	struct tm moved = *date;
	return timegm(&moved) != -1 && moved.tm_mday == date->tm_mday && moved.tm_mon == date->tm_mon;
}

/* Returns NULL, or the problem, to be read behind the text. */
static const char *read_date(const char *text, uint64_t now, uint64_t *time)
{
	static const char *const forms[] = {
		"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M",
		"%Y-%m-%d",          "%H:%M:%S",          "%H:%M"
	};
	time_t today = (time_t)(now / NANOSECONDS_PER_SECOND);
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		struct tm broken = { 0 };
		const char *end = strptime(text, forms[i], &broken);
		bool is_utc = end && *end == 'Z';
		if (!end || end[is_utc])
			continue;
		if (forms[i][1] == 'H') {
			struct tm date;
			if (!(is_utc ? gmtime_r(&today, &date) : localtime_r(&today, &date)))
				return not_a_time;
			broken.tm_year = date.tm_year;
			broken.tm_mon = date.tm_mon;
			broken.tm_mday = date.tm_mday;
		}
		if (!date_exists(&broken))
			return "is a date that does not exist";
		broken.tm_isdst = -1;
		time_t seconds = is_utc ? timegm(&broken) : mktime(&broken);
		*time = (uint64_t)seconds * NANOSECONDS_PER_SECOND;
		return seconds >= 0 && seconds < 100000000000 ? NULL : not_a_time;
	}
	return not_a_time;
}

/* Returns as read_date(). */
static const char *read_time(const char *text, uint64_t now, uint64_t *time)
{
	const char *end;
	double seconds;
	if (!strcmp(text, "now")) {
		*time = now;
		return NULL;
	}
	if (*text == '-')
		return read_ago(text + 1, now, time) ? NULL : not_a_time;
	if (*text != '@')
		return read_date(text, now, time);
	if (!read_number(text + 1, &end, &seconds) || *end || seconds > 1e10)
		return not_a_time;
	*time = (uint64_t)(seconds * 1e9);
	return NULL;
}

bool ring_range_is_meant(const char *path)
{
	const char *colon = strchr(path, ':');
	return colon && colon > path &&
	       (!colon[1] || strstr(colon, "..") ||
		!read_time(colon + 1, clock_read(CLOCK_REALTIME), &(uint64_t){ 0 }));
}

static int read_times(struct ring_range *range, const char *times, uint64_t now, char *wrong, size_t size)
{
	CLEANUP_FREE char *from = strdup(times);
	char *to = from ? strstr(from, "..") : NULL;
	range->to = UINT64_MAX;
	if (!*times)
		return 0;
	if (!from)
		return -ENOMEM;
	if (!to) {
		snprintf(wrong, size, "'%.100s' is not a range of times (use FROM..TO, such as -10m..now)", times);
		return -EINVAL;
	}
	*to = '\0';
	to += 2;
	struct {
		const char *text;
		uint64_t *time;
	} const ends[] = { { from, &range->from }, { to, &range->to } };
	for (int i = 0; i < 2; i++) {
		const char *problem = *ends[i].text ? read_time(ends[i].text, now, ends[i].time) : NULL;
		if (problem) {
			snprintf(wrong, size, "'%.100s' %s", ends[i].text, problem);
			return -EINVAL;
		}
	}
	if (range->from < range->to)
		return 0;
	snprintf(wrong, size, "'%.100s' ends before it begins", times);
	return -EINVAL;
}

int ring_range_parse(struct ring_range *range, const char *path, uint64_t now, char *wrong, size_t size)
{
	const char *times;
	size_t length = split(path, &times);
	bool is_default =
		!strncmp(path, DEFAULT_PREFIX, strlen(DEFAULT_PREFIX)) && length == strlen(DEFAULT_PREFIX) - 1;
	*range = (struct ring_range){ .folder = is_default ? ring_folder_default() : strndup(path, length) };
	if (!range->folder) {
		snprintf(wrong, size, "the default folder is not known (set HOME, or use FOLDER:FROM..TO)");
		return -ENOMEM;
	}
	return read_times(range, times, now, wrong, size);
}

void ring_time_describe(uint64_t time, char text[32])
{
	time_t seconds = (time_t)(time / NANOSECONDS_PER_SECOND);
	struct tm broken;
	text[0] = '\0';
	if (localtime_r(&seconds, &broken))
		strftime(text, 32, "%Y-%m-%dT%H:%M:%S", &broken);
}
