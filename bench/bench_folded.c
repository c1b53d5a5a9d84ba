/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MiB a second that sink folded writes, from a profile in memory to a complete file, against stackcollapse-perf.pl on
 * the text of perf script for the same profile, with a check that both say the same; and against a plain write of the
 * same bytes. stackcollapse-perf.pl is looked for in FLAMEGRAPH_DIR and in PATH.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "child.h"
#include "config/instance_configuration.h"
#include "plugin/instance.h"
#include "profile/snapshot.h"
#include "ratio.h"

#define STACKS 20000u
#define DEPTH 30u
#define FUNCTIONS 2000u
#define PERIOD 10101010u
#define ROUNDS 7
#define MEBIBYTE 1048576.0

/* The function at a level of a stack: the same near the root, and different ones towards the leaf. */
static unsigned function_at(uint32_t stack, unsigned level)
{
	uint32_t branch = stack >> (level < 15 ? 15 - level : 0);
	return (level * 131u + branch * 7u) % FUNCTIONS;
}

static void function_name(unsigned function, char name[64])
{
	snprintf(name, 64, "library_%u_process_item_%u", function % 13, function);
}

static void check(bool good, const char *what)
{
	if (good)
		return;
	fprintf(stderr, "bench_folded: %s\n", what);
	exit(EXIT_FAILURE);
}

static void make_profile(struct frame_table *frames, struct value_table *values)
{
	uint32_t ids[FUNCTIONS], stack[DEPTH + 1];
	stack[0] = frame_table_add(frames, &(struct iaprof_frame){ .name = "program", .kind = IAPROF_FRAME_PROCESS });
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		char name[64];
		function_name(i, name);
		ids[i] = frame_table_add(frames, &(struct iaprof_frame){ .name = name,
									 .module = "/usr/lib/library.so",
									 .kind = IAPROF_FRAME_USER });
	}
	for (uint32_t i = 0; i < STACKS; i++) {
		for (unsigned level = 0; level < DEPTH; level++)
			stack[level + 1] = ids[function_at(i, level)];
		uint32_t number = frame_table_add_stack(frames, stack, DEPTH + 1);
		check(number != FRAME_NONE && value_table_add(values, number, 0, PERIOD, 1), "out of memory");
	}
}

/* The same as perf script prints it: one sample after the other, the leaf first. */
static void write_perf_text(const char *path)
{
	FILE *file = fopen(path, "we");
	check(file, path);
	for (uint32_t i = 0; i < STACKS; i++) {
		fprintf(file, "program  4242 [%03u] %u.%06u: %10u cpu-clock:pppH: \n", i % 8, 1000 + i / 1000000,
			i % 1000000, PERIOD);
		for (unsigned level = DEPTH; level-- > 0;) {
			char name[64];
			unsigned function = function_at(i, level);
			function_name(function, name);
			fprintf(file, "\t%16x %s+0x%x (/usr/lib/library.so)\n", 0x401000 + function * 64, name,
				level * 4);
		}
		fputc('\n', file);
	}
	check(!fclose(file), path);
}

static struct instance *make_sink(const char *path, const char *output, struct instance_services *services)
{
	struct error error = { 0 };
	struct instance_configuration configuration = { 0 };
	struct plugin *plugin = plugin_load(path, &error);
	struct instance *sink = NULL;
	if (plugin && !instance_read_argument(&configuration, "folded", "--sink", &error))
		sink = instance_new(plugin, &configuration, 1, services, &error);
	if (!sink || output_target_set(&sink->output, output, &error) || instance_configure(sink, &error))
		check(false, error.text);
	instance_release(&configuration);
	return sink;
}

static double sink_round(struct instance *sink, const struct iaprof_profile *profile)
{
	uint64_t begin = clock_read(CLOCK_THREAD_CPUTIME_ID);
	check(!instance_profile(sink, profile), sink->error.text);
	return cpu_seconds_since(begin);
}

static double write_round(const char *bytes, size_t size, const char *path)
{
	uint64_t begin = clock_read(CLOCK_THREAD_CPUTIME_ID);
	CLEANUP_CLOSE int descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	check(descriptor >= 0 && write(descriptor, bytes, size) == (ssize_t)size, path);
	return cpu_seconds_since(begin);
}

static char *read_file(const char *path, size_t *size)
{
	CLEANUP_CLOSE int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	check(descriptor >= 0 && !fstat(descriptor, &status), path);
	*size = (size_t)status.st_size;
	char *bytes = malloc(*size + 1);
	check(bytes && read(descriptor, bytes, *size) == (ssize_t)*size, path);
	return bytes;
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
		struct child_usage usage = child_end(child_start(command, output), 0);
		check(!usage.status, "stackcollapse-perf.pl failed");
		rounds_add(&theirs, usage.cpu_seconds);
	}
	size_t their_size;
	CLEANUP_FREE char *text = read_file(output, &their_size);
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

	struct frame_table frames = { 0 };
	struct value_table values = { 0 };
	struct loss loss = { 0 };
	struct iaprof_value_type cpu = { .name = "cpu", .unit = "nanoseconds", .period = PERIOD };
	make_profile(&frames, &values);
	struct snapshot *snapshot = snapshot_new(&(struct snapshot_content){ .frames = &frames,
									     .values = &values,
									     .value_types = &cpu,
									     .value_type_count = 1,
									     .loss = &loss,
									     .total = true });
	check(snapshot, "out of memory");
	struct instance_services services = { 0 };
	struct instance *sink = make_sink(argv[1], output, &services);

	struct rounds ours = { 0 }, plain = { 0 };
	size_t size = 0;
	CLEANUP_FREE char *bytes = NULL;
	for (int i = 0; i < ROUNDS; i++) {
		rounds_add(&ours, sink_round(sink, &snapshot->profile));
		if (!bytes)
			bytes = read_file(output, &size);
		rounds_add(&plain, write_round(bytes, size, copy));
	}
	double mebibytes = (double)size / MEBIBYTE;
	printf("%u stacks of %u frames, %.1f MiB of folded text; CPU time\n", STACKS, DEPTH + 1, mebibytes);
	rounds_print(&plain, "plain write of the same bytes", mebibytes, "MiB");
	rounds_print(&ours, "sink folded", mebibytes, "MiB");
	printf("ratio to a plain write: %.2f\n", plain.fastest / ours.fastest);
	CLEANUP_FREE char *script = find_stackcollapse();
	if (script)
		compare(script, folder, bytes, size, ours.fastest);
	else
		puts("stackcollapse-perf.pl is neither in FLAMEGRAPH_DIR nor in PATH: no comparison");

	instance_free(sink);
	snapshot_release(snapshot);
	frame_table_free(&frames);
	value_table_free(&values);
	child_remove_folder(folder);
	return EXIT_SUCCESS;
}
