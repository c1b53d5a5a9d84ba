/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast each sink writes, from a profile in memory to a complete file: stacks and bytes a second, and for how long
 * that is beside what a reader knows, gzip -6 of the same stacks as folded text, and a plain write of that text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "child.h"
#include "base/gzip.h"
#include "ratio.h"
#include "sink_profile.h"

#define STACKS 20000u
#define ROUNDS 5

/*
 * Arguments as after -k; the first is what the others are measured by. A sink that is added gets a line.
 */
static const char *const sinks[] = {
	"folded",     "csv:rows=stacks",       "pprof",  "pprof:reasons=types", "speedscope", "firefox", "perfetto",
	"flamegraph", "flamegraph:format=svg", "iaprof", "top:batch=yes",
};

struct peers {
	size_t folded_size, gzip_size;
	double gzip_seconds, plain_seconds;
};

/* zlib's default level is 6. */
static double gzip_round(const char *bytes, size_t size, size_t *compressed_size)
{
	struct text compressed = { 0 };
	uint64_t begin = clock_read(CLOCK_THREAD_CPUTIME_ID);
	gzip_append(&compressed, bytes, size);
	double seconds = cpu_seconds_since(begin);
	need(!compressed.failed, "out of memory");
	*compressed_size = compressed.size;
	text_free(&compressed);
	return seconds;
}

static void print_row(const char *what, double seconds, size_t size, const struct peers *peers)
{
	printf("%-24s %11.0f %8.1f %10.0f %12.2f %12.1f %12.2f\n", what, STACKS / seconds,
	       (double)size / MEBIBYTE / seconds, (double)size / 1024, seconds / peers->gzip_seconds,
	       seconds / peers->plain_seconds, (double)size / (double)peers->gzip_size);
}

static void measure_peers(const char *folded, const char *folder, struct peers *peers)
{
	struct rounds gzip = { 0 }, plain = { 0 };
	char copy[4096];
	CLEANUP_FREE char *bytes = file_read(folded, &peers->folded_size);
	snprintf(copy, sizeof copy, "%s/copy", folder);
	for (int i = 0; i < ROUNDS; i++) {
		rounds_add(&gzip, gzip_round(bytes, peers->folded_size, &peers->gzip_size));
		rounds_add(&plain, file_write_seconds(bytes, peers->folded_size, copy));
	}
	peers->gzip_seconds = gzip.fastest;
	peers->plain_seconds = plain.fastest;
	print_row("(gzip -6)", peers->gzip_seconds, peers->gzip_size, peers);
	print_row("(plain write)", peers->plain_seconds, peers->folded_size, peers);
}

static double measure_sink(const char *plugins, const char *argument, const char *output,
			   const struct sink_profile *profile)
{
	char path[4096];
	int name = (int)strcspn(argument, ":");
	struct rounds rounds = { 0 };
	snprintf(path, sizeof path, "%s/sink-%.*s/iaprof-%.*s.so", plugins, name, argument, name, argument);
	for (int i = 0; i < ROUNDS; i++)
		rounds_add(&rounds, sink_write_seconds(path, argument, output, profile));
	return rounds.fastest;
}

static void measure_shape(const char *plugins, const char *folder, enum sink_profile_shape shape, const char *what)
{
	struct sink_profile profile;
	struct peers peers;
	sink_profile_make(&profile, shape, STACKS);
	printf("%u %s; CPU time, the fastest of %d rounds\n", STACKS, what, ROUNDS);
	printf("%-24s %11s %8s %10s %12s %12s %12s\n", "", "stacks/s", "MiB/s", "KiB", "time/gzip", "time/write",
	       "size/gzip");
	for (size_t i = 0; i < sizeof sinks / sizeof *sinks; i++) {
		char output[4096];
		size_t size;
		snprintf(output, sizeof output, "%s/out.%zu", folder, i);
		double seconds = measure_sink(plugins, sinks[i], output, &profile);
		if (i == 0)
			measure_peers(output, folder, &peers);
		free(file_read(output, &size));
		print_row(sinks[i], seconds, size, &peers);
	}
	sink_profile_free(&profile);
	puts("");
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: bench_sinks FOLDER-OF-PLUGINS\n");
		return 2;
	}
	char *folder = child_make_folder();
	measure_shape(argv[1], folder, SINK_PROFILE_CPU, "stacks of a CPU, 31 frames each");
	measure_shape(argv[1], folder, SINK_PROFILE_GPU, "stacks of a GPU, 19 frames each");
	puts("time/gzip, time/write: how many times as long as gzip -6 of the folded text, and as a plain write of "
	     "it.\n"
	     "size/gzip: how many times as large as the folded text by gzip -6.");
	child_remove_folder(folder);
	return EXIT_SUCCESS;
}
