/* SPDX-License-Identifier: Apache-2.0 */
/* Time from the start of the program iaprof to the first sample that it records, on a machine that is busy. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "child.h"
#include "load.h"
#include "ratio.h"

#define ROUNDS 9
#define GOAL_MILLISECONDS 200

/* The field at a position, without its end; a quoted field may hold commas. */
static const char *field(const char *line, unsigned position)
{
	bool quoted = false;
	for (; position && *line; line++) {
		quoted ^= *line == '"';
		position -= *line == ',' && !quoted;
	}
	return line;
}

/* Returns the position of a column in the first line, which has the names: see iaprof-csv(7). */
static unsigned column(const char *names, const char *name)
{
	unsigned position = 0;
	size_t length = strlen(name);
	while (*names && !(strncmp(names, name, length) == 0 && strchr(",\n", names[length]))) {
		names += strcspn(names, ",");
		names += *names == ',';
		position++;
	}
	return position;
}

/* When the first sample of a run was; UINT64_MAX when there is none. */
static uint64_t first_sample(const char *path)
{
	uint64_t first = UINT64_MAX;
	CLEANUP_FCLOSE FILE *file = fopen(path, "re");
	CLEANUP_FREE char *line = NULL;
	size_t capacity = 0;
	if (!file || getline(&line, &capacity, file) <= 0)
		return first;
	unsigned record = column(line, "record"), time = column(line, "begin");
	while (getline(&line, &capacity, file) > 0) {
		if (strncmp(field(line, record), "sample,", strlen("sample,")) != 0)
			continue;
		uint64_t begin = strtoull(field(line, time), NULL, 10);
		first = begin < first ? begin : first;
	}
	return first;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: bench_start IAPROF\n");
		return 2;
	}
	if (geteuid() != 0) {
		puts("skipped: profiling all of a machine needs root");
		return EXIT_SUCCESS;
	}
	char *folder = child_make_folder();
	char path[4096], sink[4200];
	snprintf(path, sizeof path, "%s/events.csv", folder);
	snprintf(sink, sizeof sink, "csv:rows=events,output=%s", path);
	char *arguments[] = { argv[1], (char *)"-q", (char *)"-d", (char *)"300ms", (char *)"-k", sink, NULL };
	double milliseconds[ROUNDS];
	unsigned count = 0;
	struct load load = load_start();
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t begin = clock_monotonic();
		child_end(child_spawn(arguments, NULL), 0);
		uint64_t first = first_sample(path);
		if (first != UINT64_MAX)
			milliseconds[count++] = (double)(first - begin) / 1e6;
	}
	load_end(&load);
	child_remove_folder(folder);
	if (!count) {
		puts("no sample was recorded (iaprof --check shows the cause)");
		return EXIT_FAILURE;
	}
	qsort(milliseconds, count, sizeof *milliseconds, compare);
	printf("start of iaprof to its first sample: %.0f ms (median of %u; %.0f to %.0f ms)\n",
	       milliseconds[count / 2], count, milliseconds[0], milliseconds[count - 1]);
	printf("ratio to the goal of %d ms: %.2f\n", GOAL_MILLISECONDS, milliseconds[count / 2] / GOAL_MILLISECONDS);
	return EXIT_SUCCESS;
}
