/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU program under iaprof, as a user would profile it: what is in the profile. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "child/child.h"
#include "collect.h"
#include "observations.h"

#define PROFILE_TIME_MAX (180 * NANOSECONDS_PER_SECOND)
#define LINE_MAX_SIZE 1024u

#define KERNEL_PREFIX "self_test_"
#define CALLEE "self_test_callee"

/* Names of the program's kernels in order of their first mention, and numbers about each. */
struct tallies {
	size_t count;
	struct tally {
		char name[NAME_SIZE];
		uint64_t number, time;
	} items[KERNELS_MAX];
};

static void tally(struct tallies *tallies, const char *name, uint64_t number, uint64_t time)
{
	size_t i = 0;

	while (i < tallies->count && strcmp(tallies->items[i].name, name) != 0)
		i++;
	if (i == KERNELS_MAX || strlen(name) >= NAME_SIZE ||
	    strncmp(name, KERNEL_PREFIX, sizeof KERNEL_PREFIX - 1) != 0)
		return;
	if (i == tallies->count)
		strcpy(tallies->items[tallies->count++].name, name);
	tallies->items[i].number += number;
	tallies->items[i].time += time;
}

static void write_tallies(const struct tallies *tallies, const char *kind, bool has_time, FILE *output)
{
	for (size_t i = 0; i < tallies->count; i++) {
		fprintf(output, "%s %s %" PRIu64, kind, tallies->items[i].name, tallies->items[i].number);
		if (has_time)
			fprintf(output, " %" PRIu64, tallies->items[i].time);
		fputc('\n', output);
	}
}

static FILE *open_in(const char *folder, const char *name)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return fopen(path, "re");
}

/* Returns the length of the name of a program's kernel or function at the start of a frame; 0: another frame. */
static size_t own_name(const char *frame)
{
	size_t length = strspn(frame, "abcdefghijklmnopqrstuvwxyz_");

	if (strncmp(frame, KERNEL_PREFIX, sizeof KERNEL_PREFIX - 1) != 0 || length >= NAME_SIZE)
		return 0;
	/* Without lines, the mark of the device follows: NAME_[G]. */
	return length - (frame[length] == '[' && frame[length - 1] == '_');
}

/* Adds a folded stack, STACK;KERNEL:FILE:LINE_[G];...;REASON COUNT, to its kernel; *callee: samples in the callee. */
static void read_stack(char *line, struct tallies *kernels, uint64_t *callee)
{
	char *count = strrchr(line, ' ');
	char kernel[NAME_SIZE] = "";

	for (char *frame; count && (frame = strsep(&line, ";"));) {
		size_t length = own_name(frame);
		if (!length)
			continue;
		if (!kernel[0])
			snprintf(kernel, sizeof kernel, "%.*s", (int)length, frame);
		else if (!strncmp(frame, CALLEE, length))
			*callee += strtoull(count + 1, NULL, 10);
	}
	if (kernel[0])
		tally(kernels, kernel, strtoull(count + 1, NULL, 10), 0);
}

static void read_stalls(const char *folder, FILE *output)
{
	CLEANUP_FCLOSE FILE *file = open_in(folder, "stalls");
	CLEANUP_FREE char *line = NULL;
	struct tallies kernels = { 0 };
	size_t capacity = 0;
	uint64_t callee = 0;

	while (file && getline(&line, &capacity, file) > 0)
		read_stack(line, &kernels, &callee);
	write_tallies(&kernels, "profile-stalls", false, output);
	fprintf(output, "profile-callee %" PRIu64 "\n", callee);
}

/* Splits a row of a table without line breaks in its fields. Returns the number of fields. */
static size_t split_fields(char *line, char *fields[], size_t limit)
{
	size_t count = 0;
	char *from = line, *to = line;
	bool quoted = false;

	if (limit)
		fields[count++] = to;
	for (; *from && *from != '\n'; from++) {
		if (*from == '"') {
			quoted = !quoted;
		} else if (*from == ',' && !quoted) {
			*to++ = '\0';
			if (count < limit)
				fields[count++] = to;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
	return count;
}

#define FIELDS_MAX 64

static const char *field(char *titles[], char *fields[], size_t count, const char *title)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(titles[i], title))
			return fields[i];
	return "";
}

/* Executions of kernels: rows "job" of the table of events. */
static void read_executions(const char *folder, FILE *output)
{
	CLEANUP_FCLOSE FILE *file = open_in(folder, "events");
	CLEANUP_FREE char *header = NULL;
	CLEANUP_FREE char *line = NULL;
	char *titles[FIELDS_MAX], *fields[FIELDS_MAX];
	size_t header_capacity = 0, capacity = 0;
	struct tallies kernels = { 0 };

	if (!file || getline(&header, &header_capacity, file) <= 0)
		return;
	size_t count = split_fields(header, titles, FIELDS_MAX);
	while (getline(&line, &capacity, file) > 0)
		if (split_fields(line, fields, FIELDS_MAX) == count &&
		    !strcmp(field(titles, fields, count, "record"), "job"))
			tally(&kernels, field(titles, fields, count, "text"), 1,
			      strtoull(field(titles, fields, count, "value"), NULL, 10));
	write_tallies(&kernels, "profile-time", true, output);
}

/* What the program printed about its own launches. */
static void read_program(const char *folder, FILE *output)
{
	CLEANUP_FCLOSE FILE *file = open_in(folder, "program");
	CLEANUP_FREE char *line = NULL;
	struct tallies kernels = { 0 };
	size_t capacity = 0;

	while (file && getline(&line, &capacity, file) > 0) {
		char name[NAME_SIZE];
		uint64_t number, time;
		if (sscanf(line, "launches %63s %" SCNu64 " %" SCNu64, name, &number, &time) == 3)
			tally(&kernels, name, number, time);
	}
	write_tallies(&kernels, "profile-run", true, output);
}

/* The lines of all GTs at the end: "NAME GT 0: 10 rows, 20 samples: 18 matched, 1 ambiguous, 1 unmatched; ...". */
static void read_messages(const char *folder, int status, FILE *output)
{
	CLEANUP_FCLOSE FILE *file = open_in(folder, "messages");
	CLEANUP_FREE char *line = NULL;
	uint64_t sums[4] = { 0 };
	size_t capacity = 0;

	while (file && getline(&line, &capacity, file) > 0) {
		const char *numbers = strstr(line, " rows, ");
		uint64_t found[4];
		if (!numbers || !strstr(line, " GT "))
			continue;
		numbers += sizeof " rows, " - 1;
		found[0] = strtoull(numbers, NULL, 10);
		const char *matched = strstr(numbers, ": ");
		const char *ambiguous = matched ? strstr(matched, "matched") : NULL;
		ambiguous = ambiguous ? strstr(ambiguous, ", ") : NULL;
		const char *unmatched = ambiguous ? strstr(ambiguous + 2, ", ") : NULL;
		if (!unmatched)
			continue;
		found[1] = strtoull(matched + 2, NULL, 10);
		found[2] = strtoull(ambiguous + 2, NULL, 10);
		found[3] = strtoull(unmatched + 2, NULL, 10);
		for (size_t i = 0; i < 4; i++)
			sums[i] += found[i];
	}
	fprintf(output,
		"profile status %d samples %" PRIu64 " matched %" PRIu64 " ambiguous %" PRIu64 " unmatched %" PRIu64
		"\n",
		status, sums[0], sums[1], sums[2], sums[3]);
}

static int create_in(const char *folder, const char *name)
{
	char path[4096];

	snprintf(path, sizeof path, "%s/%s", folder, name);
	return open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
}

/* Returns the exit status of iaprof, or a negative errno. */
static int run_profile(const struct collect_setup *setup, const char *folder)
{
	struct child child = CHILD_NONE;
	char duration[24], stalls[LINE_MAX_SIZE], events[LINE_MAX_SIZE];
	char *arguments[] = { "iaprof",    "-s", "xe-eustall", "-s", "ze-usdt:tracer=yes,time=all", "-k",
			      stalls,      "-k", events,       "--", (char *)setup->gpu_program,    duration,
			      "no-events", NULL };
	int start[2];

	snprintf(duration, sizeof duration, "%" PRIu64, setup->duration);
	snprintf(stalls, sizeof stalls, "folded:value=gpu-stalls,lines=yes,output=%s/stalls", folder);
	snprintf(events, sizeof events, "csv:rows=events,newline=lf,output=%s/events", folder);
	if (pipe2(start, O_CLOEXEC))
		return -errno;
	CLEANUP_CLOSE int program = create_in(folder, "program");
	CLEANUP_CLOSE int messages = create_in(folder, "messages");
	const int streams[] = { start[0], program, messages };
	bool is_ready = program >= 0 && messages >= 0 && write(start[1], "\n", 1) == 1;
	int result = !is_ready ? -EIO
			       : child_start(&child, &(struct child_setup){ .path = setup->iaprof,
									    .arguments = arguments,
									    .streams = streams,
									    .dies_with_us = true });
	close(start[0]);
	close(start[1]);
	if (result)
		return result;
	bool ended = child_wait(&child, PROFILE_TIME_MAX);
	if (!ended)
		child_kill(&child, NANOSECONDS_PER_SECOND);
	int status = child.status;
	child_close(&child);
	return !ended ? -ETIMEDOUT : status & 0x7f ? 128 + (status & 0x7f) : status >> 8 & 0xff;
}

/* Copies the messages of a failed run to standard error. */
static void show_messages(const char *folder)
{
	CLEANUP_FCLOSE FILE *file = open_in(folder, "messages");
	CLEANUP_FREE char *line = NULL;
	size_t capacity = 0;

	while (file && getline(&line, &capacity, file) > 0)
		fprintf(stderr, "  %s", line);
}

static void remove_folder(const char *folder)
{
	static const char *const names[] = { "stalls", "events", "program", "messages" };
	char path[4096];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
}

void collect_profile(const struct collect_setup *setup, FILE *output)
{
	char folder[] = "/tmp/iaprof-self-test-XXXXXX";

	fprintf(stderr, "The same under iaprof:\n");
	if (!mkdtemp(folder)) {
		fprintf(output, "missing profile: cannot create a folder in /tmp: %s\n", strerror(errno));
		return;
	}
	int status = run_profile(setup, folder);
	if (status < 0) {
		fprintf(output, "missing profile: iaprof %s\n",
			status == -ETIMEDOUT ? "did not end in time" : strerror(-status));
	} else {
		if (status)
			show_messages(folder);
		read_messages(folder, status, output);
		read_stalls(folder, output);
		read_executions(folder, output);
		read_program(folder, output);
	}
	remove_folder(folder);
}
