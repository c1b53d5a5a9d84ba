/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run with samples of a GPU costs from the read of a row on: CPU time at rising numbers of rows a second, how
 * long after its interval a sample is in the profile, and memory with 10,000 kernels. The rows come from memory
 * (stall_load.c), all else is a whole iaprof.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "child.h"
#include "ratio.h"

#define SECONDS 5
#define KERNELS 200
#define MANY_KERNELS 10000
#define FEW_KERNELS 10
/* Other work on the machine makes runs more expensive: the cheapest one counts. */
#define ROUNDS 3
#define GOAL_RATE 30     /* million rows/s */
#define GOAL_PERCENT 10. /* of one CPU, the rest of the run included */

struct programs {
	const char *iaprof, *load, *delay, *image;
	char *folder;
};

static void show_file(const char *path, const char *launch_stack)
{
	FILE *file = fopen(path, "re");
	char line[4096];
	while (file && fgets(line, sizeof line, file))
		if (!launch_stack || strncmp(line, launch_stack, strlen(launch_stack)) == 0)
			printf("%s%s", launch_stack ? "    " : "", line);
	if (file)
		fclose(file);
}

/* delay: with the sink that measures it, which needs records of all that becomes a part of the profile. */
static struct child_usage run(const struct programs *programs, unsigned rate, unsigned kernels, bool delay)
{
	char source[8400], output[4200], messages[4200], duration[16];
	snprintf(source, sizeof source, "%s:rate=%u,kernels=%u,image=%s", programs->load, rate, kernels,
		 programs->image);
	snprintf(output, sizeof output, "folded:output=%s/profile", programs->folder);
	snprintf(messages, sizeof messages, "%s/messages", programs->folder);
	snprintf(duration, sizeof duration, "%d", SECONDS);
	char *arguments[] = { (char *)programs->iaprof,
			      (char *)"-d",
			      duration,
			      (char *)"-s",
			      source,
			      (char *)"-k",
			      output,
			      (char *)"-k",
			      (char *)programs->delay,
			      NULL };
	if (!delay)
		arguments[7] = NULL;
	struct child_usage usage = child_end(child_spawn(arguments, messages), 0);
	if (!WIFEXITED(usage.status) || WEXITSTATUS(usage.status)) {
		show_file(messages, NULL);
		exit(EXIT_FAILURE);
	}
	if (delay)
		show_file(messages, "profile-delay:");
	return usage;
}

static double cpu_seconds(const struct programs *programs, unsigned rate)
{
	struct rounds rounds = { 0 };
	for (unsigned round = 0; round < ROUNDS; round++)
		rounds_add(&rounds, run(programs, rate, KERNELS, false).cpu_seconds);
	return rounds.fastest;
}

int main(int argc, char **argv)
{
	static const unsigned millions[] = { 1, 10, GOAL_RATE };
	if (argc != 5) {
		fprintf(stderr, "usage: bench_correlator IAPROF STALL-LOAD PROFILE-DELAY IMAGE\n");
		return 2;
	}
	struct programs programs = { argv[1], argv[2], argv[3], argv[4], child_make_folder() };
	/* What starting, ending and waiting cost is not the rows'. */
	double idle = cpu_seconds(&programs, 1);
	printf("%d kernels, no rows: %.3f s of CPU time in a run of %d s\n", KERNELS, idle, SECONDS);
	for (size_t i = 0; i < sizeof millions / sizeof millions[0]; i++) {
		double seconds = cpu_seconds(&programs, millions[i] * 1000000);
		printf("%2u million rows/s: %.2f %% of one CPU, %.2f ns a row\n", millions[i], 100 * seconds / SECONDS,
		       (seconds - idle) / SECONDS * 1e3 / millions[i]);
		if (millions[i] == GOAL_RATE)
			printf("%.2f of the goal, %.0f %% of one CPU at most\n", 100 * seconds / SECONDS / GOAL_PERCENT,
			       GOAL_PERCENT);
	}
	printf("from the end of an interval of rows to the profile:\n");
	run(&programs, 1000000, KERNELS, true);
	double few = (double)run(&programs, 1000000, FEW_KERNELS, false).peak_memory / MEBIBYTE;
	double many = (double)run(&programs, 1000000, MANY_KERNELS, false).peak_memory / MEBIBYTE;
	printf("memory at the peak: %.1f MiB with %d kernels, %.1f MiB with %d\n", few, FEW_KERNELS, many,
	       MANY_KERNELS);
	printf("ratio of %d kernels to %d: %.2f; %.0f bytes for each\n", MANY_KERNELS, FEW_KERNELS, many / few,
	       (many - few) * MEBIBYTE / (MANY_KERNELS - FEW_KERNELS));
	child_remove_folder(programs.folder);
	return EXIT_SUCCESS;
}
