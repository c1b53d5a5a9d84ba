/* SPDX-License-Identifier: Apache-2.0 */
/* Peak memory of a run with 20,000 different stacks, and of one that is ten times longer. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "child.h"
#include "ratio.h"

#define STACKS 20000
#define ROUNDS 10
#define RUNS 2
#define LONGER 10
#define GOAL_MEBIBYTES 64

static size_t count_lines(const char *path)
{
	size_t count = 0;
	CLEANUP_FCLOSE FILE *file = fopen(path, "re");
	for (int c; file && (c = getc(file)) != EOF;)
		count += c == '\n';
	return count;
}

static double run_once(const char *iaprof, const char *plugin, const char *folder, unsigned rounds)
{
	char source[4200], output[4096], messages[4096];
	snprintf(source, sizeof source, "%s:stacks=%d,rounds=%u", plugin, STACKS, rounds);
	snprintf(output, sizeof output, "%s/profile.folded", folder);
	snprintf(messages, sizeof messages, "%s/messages", folder);
	char *arguments[] = { (char *)iaprof, (char *)"-s", source, (char *)"-o", output, NULL };
	struct child_usage usage = child_end(child_spawn(arguments, messages), 0);
	if (!WIFEXITED(usage.status) || WEXITSTATUS(usage.status)) {
		CLEANUP_FCLOSE FILE *file = fopen(messages, "re");
		for (int c; file && (c = getc(file)) != EOF;)
			putchar(c);
		exit(EXIT_FAILURE);
	}
	double peak = (double)usage.peak_memory / MEBIBYTE;
	printf("%d different stacks, each sampled %4u times: %.1f MiB at the peak, %zu stacks in the profile\n", STACKS,
	       rounds, peak, count_lines(output));
	return peak;
}

/* In MiB. A busy machine lets more wait in queues than there would be: the smallest peak is the program's own. */
static double measure(const char *iaprof, const char *plugin, const char *folder, unsigned rounds)
{
	double smallest = run_once(iaprof, plugin, folder, rounds);
	for (int run = 1; run < RUNS; run++) {
		double peak = run_once(iaprof, plugin, folder, rounds);
		smallest = peak < smallest ? peak : smallest;
	}
	return smallest;
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: bench_memory IAPROF PLUGIN\n");
		return 2;
	}
	char *folder = child_make_folder();
	double first = measure(argv[1], argv[2], folder, ROUNDS);
	double longer = measure(argv[1], argv[2], folder, LONGER * ROUNDS);
	child_remove_folder(folder);
	printf("ratio to the goal of %d MiB: %.2f\n", GOAL_MEBIBYTES, longer / GOAL_MEBIBYTES);
	printf("ratio of the run that is %d times longer to the first: %.2f (goal: 1)\n", LONGER, longer / first);
	return EXIT_SUCCESS;
}
