/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses symbolized per second, cold (nothing is known when the clock starts; files are in the page cache), against
 * eu-addr2line with the same 10,000 addresses of this machine's libraries, and against perf script on one capture.
 */
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include "base/array.h"
#include "base/clock.h"
#include "symbolizer/elf_file.h"
#include "base/regular_file.h"
#include "symbolizer/symbolizer.h"
#include "child.h"

#define ADDRESS_COUNT 10000
#define ROUNDS 3

struct file {
	char *path;
	struct mapping mapping;
	elf_segment_array segments;
};

/* An address to resolve: of the file at this position, or of a process of a capture. */
struct question {
	uint32_t file;
	uint32_t pid;
	uint64_t address;     /* in the process */
	uint64_t elf_address; /* for eu-addr2line */
};

typedef ARRAY(struct file) file_array;
typedef ARRAY(struct question) question_array;

static double seconds_since(uint64_t begin)
{
	return (double)(clock_monotonic() - begin) / (double)NANOSECONDS_PER_SECOND;
}

static void *must(void *pointer)
{
	if (pointer)
		return pointer;
	perror("bench_symbolizer");
	exit(EXIT_FAILURE);
}

static void add_file(file_array *files, const char *name)
{
	char *path = realpath(name, NULL);
	struct stat status;
	for (size_t i = 0; path && i < files->count; i++)
		if (strcmp(files->items[i].path, path) == 0) {
			free(path);
			path = NULL;
		}
	struct elf_file elf;
	if (!path || stat(path, &status) || elf_file_open(&elf, regular_file_open(-1, path, 0))) {
		free(path);
		return;
	}
	struct file file = { .path = path };
	elf_file_segments(&elf, &file.segments);
	elf_file_close(&elf);
	file.mapping = (struct mapping){ .start = (uint64_t)(files->count + 1) << 40,
					 .end = ((uint64_t)(files->count + 1) << 40) + (uint64_t)status.st_size,
					 .inode = status.st_ino,
					 .device_major = major(status.st_dev),
					 .device_minor = minor(status.st_dev),
					 .serial = (uint32_t)files->count + 1,
					 .path = path };
	if (!array_push(files, file))
		exit(EXIT_FAILURE);
}

/* Large and small, with and without debug files; those that are installed. */
static file_array find_files(void)
{
	static const char *const patterns[] = { "/lib*/*/libc.so.6",     "/lib64/libc.so.6",
						"/usr/bin/python3",      "/usr/lib*/*/libstdc++.so.6",
						"/usr/lib64/libstdc++*", "/usr/lib*/*/libLLVM*.so*",
						"/usr/lib64/libLLVM*",   "/usr/lib*/libLLVM*.so*",
						"/proc/self/exe" };
	file_array files = { 0 };
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		glob_t found;
		if (glob(patterns[i], 0, NULL, &found))
			continue;
		for (size_t j = 0; j < found.gl_pathc; j++)
			add_file(&files, found.gl_pathv[j]);
		globfree(&found);
	}
	return files;
}

/* The same number of addresses of each file, anywhere in its code. */
static question_array choose_addresses(const file_array *files)
{
	question_array questions = { 0 };
	uint64_t random = 88172645463325252u;
	for (size_t i = 0; questions.count < ADDRESS_COUNT; i++) {
		uint32_t number = (uint32_t)(i % files->count);
		const struct file *file = &files->items[number];
		for (size_t j = 0; j < file->segments.count; j++) {
			const struct elf_segment *segment = &file->segments.items[j];
			if (!segment->executable || !segment->size)
				continue;
			random ^= random << 13, random ^= random >> 7, random ^= random << 17; /* xorshift64 */
			uint64_t at = random % segment->size;
			struct question question = { .file = number,
						     .address = file->mapping.start + segment->file_offset + at,
						     .elf_address = segment->address + at };
			if (!array_push(&questions, question))
				exit(EXIT_FAILURE);
			break;
		}
	}
	return questions;
}

/* Seconds of the fastest round, and how many addresses got a name. */
static double time_ours(const file_array *files, const question_array *questions, bool lines, size_t *named)
{
	double best = 1e9;
	for (int round = 0; round < ROUNDS; round++) {
		struct symbol symbols[SYMBOLIZER_INLINE_DEPTH_MAX];
		uint64_t begin = clock_monotonic();
		struct symbolizer *symbolizer = must(symbolizer_new(&(struct symbolizer_options){ .lines = lines }));
		*named = 0;
		for (size_t i = 0; i < questions->count; i++) {
			const struct question *question = &questions->items[i];
			struct process process = { .pid = 1, .serial = question->pid + 1, .end = 1, .root = -1 };
			if (question->file == UINT32_MAX)
				symbolizer_resolve_kernel(symbolizer, question->address, symbols, 1);
			else
				symbolizer_resolve_user(symbolizer, &process, &files->items[question->file].mapping,
							question->address, symbols, SYMBOLIZER_INLINE_DEPTH_MAX);
			*named += !(symbols[0].flags & IAPROF_FRAME_UNKNOWN);
		}
		double seconds = seconds_since(begin);
		best = seconds < best ? seconds : best;
		symbolizer_free(symbolizer);
	}
	return best;
}

/* Seconds of a command; negative when there is no such command. eu-addr2line fails when one address has no answer. */
static double time_command(const char *command)
{
	uint64_t begin = clock_monotonic();
	int status = system(command);
	return WIFEXITED(status) && WEXITSTATUS(status) != 127 ? seconds_since(begin) : -1;
}

/* The sum for all files, each asked about all of its addresses at once. */
static double time_eu_addr2line(const file_array *files, const question_array *questions, const char *folder,
				const char *options)
{
	double sum = 0;
	for (uint32_t i = 0; i < files->count; i++) {
		char list[4096];
		snprintf(list, sizeof list, "%s/addresses", folder);
		FILE *output = must(fopen(list, "we"));
		for (size_t j = 0; j < questions->count; j++)
			if (questions->items[j].file == i)
				fprintf(output, "0x%" PRIx64 "\n", questions->items[j].elf_address);
		fclose(output);
		char command[8192];
		snprintf(command, sizeof command, "eu-addr2line %s -e '%s' < '%s' > /dev/null 2>&1", options,
			 files->items[i].path, list);
		double seconds = time_command(command);
		if (seconds < 0)
			return -1;
		sum += seconds;
	}
	return sum;
}

static void print_rate(const char *who, size_t count, double seconds)
{
	printf("%-46s %10.0f addresses/s (%.3f s)\n", who, (double)count / seconds, seconds);
}

static void print_ratio(const char *peer, double theirs, double ours)
{
	printf("ratio to %s: %.1f (goal >= 10)\n", peer, theirs / ours);
}

static void compare_with_eu_addr2line(const char *folder)
{
	file_array files = find_files();
	question_array questions = choose_addresses(&files);
	for (size_t i = 0; i < files.count; i++)
		printf("file: %s\n", files.items[i].path);
	for (int lines = 0; lines < 2; lines++) {
		size_t named;
		double ours = time_ours(&files, &questions, lines, &named);
		print_rate(lines ? "iaprof, lines and inlined functions" : "iaprof, functions", questions.count, ours);
		printf("addresses with a name: %zu of %zu\n", named, questions.count);
		double theirs = time_eu_addr2line(&files, &questions, folder, lines ? "-f -i" : "-f");
		if (theirs < 0) {
			puts("eu-addr2line: not installed, or it failed");
			continue;
		}
		print_rate(lines ? "eu-addr2line -f -i" : "eu-addr2line -f", questions.count, theirs);
		print_ratio(lines ? "eu-addr2line with lines" : "eu-addr2line", theirs, ours);
	}
	for (size_t i = 0; i < files.count; i++) {
		free(files.items[i].path);
		array_free(&files.items[i].segments);
	}
	array_free(&files);
	array_free(&questions);
}

/* "... PERF_RECORD_MMAP2 PID/TID: [0xSTART(0xSIZE) @ OFFSET MAJOR:MINOR INODE GENERATION]: r-xp PATH" */
static bool parse_mapping(const char *line, struct file *file, uint32_t *pid)
{
	const char *at = strstr(line, "PERF_RECORD_MMAP2 ");
	struct mapping mapping = { 0 };
	uint64_t size;
	char permissions[8], path[4096];
	if (!at || sscanf(at,
			  "PERF_RECORD_MMAP2 %" SCNu32 "/%*d: [%" SCNx64 "(%" SCNx64 ") @ %" SCNx64 " %x:%x %" SCNu64
			  " %*u]: %7s %4095[^\n]",
			  pid, &mapping.start, &size, &mapping.file_offset, &mapping.device_major,
			  &mapping.device_minor, &mapping.inode, permissions, path) != 9)
		return false;
	mapping.end = mapping.start + size;
	*file = (struct file){ .path = must(strdup(path)), .mapping = mapping };
	file->mapping.path = file->path;
	return strchr(permissions, 'x') != NULL;
}

static int compare_questions(const void *left, const void *right)
{
	return memcmp(left, right, sizeof(struct question));
}

/*
 * The distinct addresses of a capture and the mappings that they are in, from perf's own text of it. Only a sample's
 * own address: perf prints those of callers as offsets in their files.
 */
static void read_capture(FILE *input, file_array *files, question_array *questions)
{
	ARRAY(uint32_t) pids = { 0 }; /* of the files */
	char line[8192];
	uint32_t pid = 0;
	while (fgets(line, sizeof line, input)) {
		struct file file;
		uint32_t mapping_pid;
		if (parse_mapping(line, &file, &mapping_pid)) {
			file.mapping.serial = (uint32_t)files->count + 1;
			if (!array_push(files, file) || !array_push(&pids, mapping_pid))
				exit(EXIT_FAILURE);
			continue;
		}
		struct question question;
		memset(&question, 0, sizeof question);
		if (sscanf(line, " %" SCNu32 " %" SCNx64, &pid, &question.address) != 2)
			continue;
		question.file = UINT32_MAX;
		if (question.address >> 63 == 0) {
			question.pid = pid;
			for (size_t i = files->count; i-- > 0 && question.file == UINT32_MAX;)
				if (pids.items[i] == pid && question.address >= files->items[i].mapping.start &&
				    question.address < files->items[i].mapping.end)
					question.file = (uint32_t)i;
			if (question.file == UINT32_MAX)
				continue;
		}
		if (!array_push(questions, question))
			exit(EXIT_FAILURE);
	}
	array_free(&pids);
	qsort(questions->items, questions->count, sizeof *questions->items, compare_questions);
	size_t kept = 0;
	for (size_t i = 0; i < questions->count; i++)
		if (!kept || compare_questions(&questions->items[kept - 1], &questions->items[i]) != 0)
			questions->items[kept++] = questions->items[i];
	questions->count = kept;
}

static void compare_with_perf(const char *folder)
{
	char data[4096], command[8192];
	snprintf(data, sizeof data, "%s/perf.data", folder);
	/* A compiler and an interpreter: many functions of large files. Fewer distinct addresses without a compiler. */
	snprintf(command, sizeof command,
		 "cd '%s' && for i in $(seq 800); do echo \"int f$i(int *p, int n) { int s = $i; while (n--) s += p[n] "
		 "* "
		 "f(p, n); return s; }\"; done | sed '1i int f(int *p, int n);' > input.c && "
		 "timeout 60 perf record -q --no-buildid-mmap -e cpu-clock -F 8000 -o perf.data -- sh -c 'cc -O2 -w "
		 "-c "
		 "input.c; clang -O2 -w -c input.c; python3 -c \"import json, re, decimal, argparse, asyncio; "
		 "[json.loads(json.dumps(list(range(50000)))) for i in range(30)]\"' > /dev/null 2>&1; "
		 "test -s perf.data || exit 127",
		 folder);
	if (time_command(command) < 0) {
		puts("perf: not installed, or not allowed here");
		return;
	}
	snprintf(command, sizeof command, "perf script -i '%s' --show-mmap-events -F pid,ip 2> /dev/null", data);
	FILE *input = must(popen(command, "re"));
	file_array files = { 0 };
	question_array questions = { 0 };
	read_capture(input, &files, &questions);
	pclose(input);
	snprintf(command, sizeof command, "perf script -i '%s' --no-inline -F pid,ip,sym > /dev/null 2>&1", data);
	double theirs = time_command(command);
	if (theirs > 0 && questions.count) {
		size_t named;
		double ours = time_ours(&files, &questions, false, &named);
		printf("capture: %zu distinct addresses in %zu mappings and the Linux kernel\n", questions.count,
		       files.count);
		print_rate("iaprof, functions", questions.count, ours);
		printf("addresses with a name: %zu of %zu\n", named, questions.count);
		print_rate("perf script, reading the capture included", questions.count, theirs);
		print_ratio("perf script", theirs, ours);
	}
	for (size_t i = 0; i < files.count; i++)
		free(files.items[i].path);
	array_free(&files);
	array_free(&questions);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	char *folder = child_make_folder();
	compare_with_eu_addr2line(folder);
	compare_with_perf(folder);
	child_remove_folder(folder);
	return EXIT_SUCCESS;
}
