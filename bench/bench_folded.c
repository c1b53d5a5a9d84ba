/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MiB a second that sink folded writes, from a profile in memory to a complete file, against stackcollapse-perf.pl on
 * the text of perf script for the same profile, with a check that both are equal; and against a plain write of the
 * same bytes. stackcollapse-perf.pl is looked for in FLAMEGRAPH_DIR and in PATH.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "child.h"
#include "ratio.h"
#include "sink_profile.h"

#define STACKS 20000u
#define ROUNDS 7

/* The same as perf script prints it: one sample after the other, the leaf first. */
static void write_perf_text(const char *path)
{
	FILE *file = fopen(path, "we");
	need(file, path);
	for (uint32_t i = 0; i < STACKS; i++) {
		fprintf(file, "program  4242 [%03u] %u.%06u: %10" PRIu64 " cpu-clock:pppH: \n", i % 8,
			1000 + i / 1000000, i % 1000000, sink_profile_value(STACKS, i));
		for (unsigned level = SINK_PROFILE_DEPTH; level-- > 0;) {
			char name[SINK_PROFILE_NAME_MAX];
			unsigned function = sink_profile_function(STACKS, i, level);
			sink_profile_function_name(function, name);
			fprintf(file, "\t%16x %s+0x%x (/usr/lib/library.so)\n", 0x401000 + function * 64, name,
				level * 4);
		}
		fputc('\n', file);
	}
	need(!fclose(file), path);
}

/* Where stackcollapse-perf.pl is; NULL: nowhere. */
static char *find_stackcollapse(void)
{
	static const char name[] = "stackcollapse-perf.pl";
	const char *folder = getenv("FLAMEGRAPH_DIR");
	char *path = NULL;
	if (folder && asprintf(&path, "%s/%s", folder, name) >= 0 && access(path, R_OK) == 0)
		return path;
	free(path);
	return child_exists(name) ? strdup(name) : NULL;
}

static void compare(const char *script, const char *folder, const char *ours, size_t size, double seconds)
{
	char input[4096], output[4096];
	snprintf(input, sizeof input, "%s/perf.txt", folder);
	snprintf(output, sizeof output, "%s/theirs.folded", folder);
	write_perf_text(input);
	char *arguments[] = { (char *)"perl", (char *)script, input, NULL };
	char **command = strchr(script, '/') ? arguments : arguments + 1;
	struct rounds theirs = { 0 };
	for (int i = 0; i < 2; i++) {
		struct child_usage usage = child_end(child_spawn(command, output), 0);
		need(!usage.status, "stackcollapse-perf.pl failed");
		rounds_add(&theirs, usage.cpu_seconds);
	}
	size_t their_size;
	CLEANUP_FREE char *text = file_read(output, &their_size);
	rounds_print(&theirs, "stackcollapse-perf.pl", (double)their_size / MEBIBYTE, "MiB");
	printf("both say the same: %s\n", their_size == size && !memcmp(text, ours, size) ? "yes" : "NO");
	printf("ratio to stackcollapse-perf.pl: %.1f (goal: at least 20)\n", theirs.fastest / seconds);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: bench_folded PLUGIN\n");
		return 2;
	}
	char *folder = child_make_folder();
	char output[4096], copy[4096];
	snprintf(output, sizeof output, "%s/ours.folded", folder);
	snprintf(copy, sizeof copy, "%s/copy.folded", folder);

	struct sink_profile profile;
	sink_profile_make(&profile, SINK_PROFILE_CPU, STACKS);

	struct rounds ours = { 0 }, plain = { 0 };
	size_t size = 0;
	CLEANUP_FREE char *bytes = NULL;
	for (int i = 0; i < ROUNDS; i++) {
		rounds_add(&ours, sink_write_seconds(argv[1], "folded", output, &profile));
		if (!bytes)
			bytes = file_read(output, &size);
		rounds_add(&plain, file_write_seconds(bytes, size, copy));
	}
	double mebibytes = (double)size / MEBIBYTE;
	printf("%u stacks of %u frames, %.1f MiB of folded text; CPU time\n", STACKS, SINK_PROFILE_DEPTH + 1,
	       mebibytes);
	rounds_print(&plain, "plain write of the same bytes", mebibytes, "MiB");
	rounds_print(&ours, "sink folded", mebibytes, "MiB");
	printf("ratio to a plain write: %.2f\n", plain.fastest / ours.fastest);
	CLEANUP_FREE char *script = find_stackcollapse();
	if (script)
		compare(script, folder, bytes, size, ours.fastest);
	else
		puts("stackcollapse-perf.pl is neither in FLAMEGRAPH_DIR nor in PATH: no comparison");

	sink_profile_free(&profile);
	child_remove_folder(folder);
	return EXIT_SUCCESS;
}
