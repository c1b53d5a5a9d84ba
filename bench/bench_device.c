/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Device addresses resolved per second to kernel, inlined functions, files and lines: cold (the image is opened when
 * the clock starts), warm, warm with the instruction named by the decoder, and warm through the index of what was
 * loaded where and when; against eu-addr2line with the same image and the same addresses. All times are CPU time.
 * Arguments: the decoder plugin, and images as a runtime describes what it loaded.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include "base/array.h"
#include "run/decoders.h"
#include "symbolizer/device/code_reader.h"
#include "symbolizer/device/code_index.h"
#include "symbolizer/device/code_object.h"
#include "symbolizer/device/device_address.h"
#include "child.h"
#include "ratio.h"

#define ADDRESS_COUNT 20000
#define ROUNDS 10

static uint64_t addresses[ADDRESS_COUNT];

static void fail(const char *what)
{
	fprintf(stderr, "bench_device: %s failed\n", what);
	exit(EXIT_FAILURE);
}

static struct code_object *open_image(const char *path, struct decoder *decoder)
{
	struct code_object *object;
	if (code_object_open_file(&object, path, 0, decoder))
		fail(path);
	return object;
}

/* Anywhere in the functions, in proportion to their size. */
static void choose_addresses(const char *path, struct decoder *decoder)
{
	struct code_object *object = open_image(path, decoder);
	size_t count;
	const struct code_function *functions = code_object_functions(object, &count);
	uint64_t size = 0, random = 88172645463325252u;
	for (size_t i = 0; i < count; i++)
		size += functions[i].size;
	for (size_t i = 0; i < ADDRESS_COUNT; i++) {
		random ^= random << 13, random ^= random >> 7, random ^= random << 17; /* xorshift64 */
		uint64_t at = random % size;
		size_t function = 0;
		while (at >= functions[function].size)
			at -= functions[function++].size;
		addresses[i] = functions[function].address + at / 8 * 8;
	}
	code_object_release(object);
}

/* One pass; returns how many frames with a line there were. */
static size_t resolve(struct code_object *object)
{
	size_t with_line = 0;
	for (size_t i = 0; i < ADDRESS_COUNT; i++) {
		struct code_location location;
		struct debug_frame frames[CODE_INLINE_DEPTH_MAX];
		size_t count = code_object_find(object, addresses[i], &location, frames, CODE_INLINE_DEPTH_MAX);
		for (size_t j = 0; j < count; j++)
			with_line += frames[j].line != 0;
	}
	return with_line;
}

/* The same with instructions. */
static size_t resolve_with_instructions(struct code_reader *reader)
{
	size_t named = 0;
	for (size_t i = 0; i < ADDRESS_COUNT; i++) {
		struct code_place location;
		named += code_reader_find(reader, addresses[i], &location) && location.instruction.mnemonic;
	}
	return named;
}

/* Also what each waits for. */
static size_t find_producers(struct code_reader *reader)
{
	size_t count = 0;
	for (size_t i = 0; i < ADDRESS_COUNT; i++) {
		struct iaprof_producer producers[16];
		uint32_t flags;
		count += code_reader_producers(reader, addresses[i], producers, 16, &flags);
	}
	return count;
}

static struct code_index *load(struct code_object *object)
{
	struct code_index *index = code_index_new(&(struct code_index_options){ .window = NANOSECONDS_PER_SECOND });
	size_t count;
	const struct code_section *sections = code_object_sections(object, &count);
	/* 1,000 loads a section in 16 processes, as a program that loads modules again and again. */
	for (uint64_t time = 0; index && time < 1000; time++)
		for (size_t i = 0; i < count; i++) {
			struct code_load one = { .process = time % 16,
						 .start = device_address_plain(sections[i].address),
						 .size = sections[i].size,
						 .time = time,
						 .object = object,
						 .address = sections[i].address };
			if (code_index_load(index, &one))
				fail("code_index_load()");
		}
	if (!index)
		fail("code_index_new()");
	return index;
}

static size_t resolve_in_index(struct code_index *index)
{
	size_t with_line = 0;
	for (size_t i = 0; i < ADDRESS_COUNT; i++) {
		struct code_found found;
		struct code_location location;
		struct debug_frame frames[CODE_INLINE_DEPTH_MAX];
		if (!code_index_find(index, 0, i % 16, device_address_plain(addresses[i]), 1000, &found))
			fail("code_index_find()");
		size_t count = code_object_find(found.object, found.address, &location, frames, CODE_INLINE_DEPTH_MAX);
		for (size_t j = 0; j < count; j++)
			with_line += frames[j].line != 0;
	}
	return with_line;
}

/* CPU seconds of the fastest of three runs. */
static double time_eu_addr2line(const char *path)
{
	static char texts[ADDRESS_COUNT][20];
	static char *arguments[ADDRESS_COUNT + 6] = { "eu-addr2line", "-f", "-i", "-e" };
	arguments[4] = strdup(path);
	for (size_t i = 0; i < ADDRESS_COUNT; i++) {
		snprintf(texts[i], sizeof texts[i], "0x%" PRIx64, addresses[i]);
		arguments[5 + i] = texts[i];
	}
	struct rounds rounds = { 0 };
	for (int i = 0; i < 3; i++) {
		struct child_usage usage = child_end(child_spawn(arguments, NULL), 0);
		if (!WIFEXITED(usage.status))
			fail("eu-addr2line");
		rounds_add(&rounds, usage.cpu_seconds);
	}
	free(arguments[4]);
	rounds_print(&rounds, "eu-addr2line -f -i", ADDRESS_COUNT, "addresses");
	return rounds.fastest;
}

/* Whether it gives the line that we give for an address: elfutils 0.188 knows the functions of some machines, and no
 * line. */
static bool eu_addr2line_knows_lines(const char *path, struct decoder *decoder)
{
	struct code_object *object = open_image(path, decoder);
	struct code_location location;
	struct debug_frame frames[CODE_INLINE_DEPTH_MAX];
	char command[8192], text[4096], wanted[32] = "";
	uint64_t address = 0;
	for (size_t i = 0; i < ADDRESS_COUNT && !*wanted; i++) {
		address = addresses[i];
		size_t count = code_object_find(object, address, &location, frames, CODE_INLINE_DEPTH_MAX);
		if (frames[count - 1].line)
			snprintf(wanted, sizeof wanted, ":%" PRIu32, frames[count - 1].line);
	}
	code_object_release(object);
	snprintf(command, sizeof command, "eu-addr2line -f -i -e '%s' 0x%" PRIx64 " 2>&1", path, address);
	FILE *output = popen(command, "re");
	if (!output)
		fail("popen()");
	size_t length = fread(text, 1, sizeof text - 1, output);
	text[length] = '\0';
	pclose(output);
	return *wanted && strstr(text, wanted);
}

static void compare(const char *path, struct decoder *decoder)
{
	choose_addresses(path, decoder);
	struct rounds cold = { 0 }, warm = { 0 }, named = { 0 }, waits = { 0 }, indexed = { 0 };
	size_t with_line = 0, with_name = 0, producers = 0;
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t begin = clock_read(CLOCK_THREAD_CPUTIME_ID);
		struct code_object *object = open_image(path, decoder);
		with_line = resolve(object);
		rounds_add(&cold, cpu_seconds_since(begin));
		begin = clock_read(CLOCK_THREAD_CPUTIME_ID);
		with_line = resolve(object);
		rounds_add(&warm, cpu_seconds_since(begin));
		struct code_reader *reader = code_reader_new(object, decoder);
		if (!reader)
			fail("code_reader_new()");
		begin = clock_read(CLOCK_THREAD_CPUTIME_ID);
		with_name = resolve_with_instructions(reader);
		rounds_add(&named, cpu_seconds_since(begin));
		begin = clock_read(CLOCK_THREAD_CPUTIME_ID);
		producers = find_producers(reader);
		rounds_add(&waits, cpu_seconds_since(begin));
		code_reader_free(reader);
		struct code_index *index = load(object);
		begin = clock_read(CLOCK_THREAD_CPUTIME_ID);
		with_line = resolve_in_index(index);
		rounds_add(&indexed, cpu_seconds_since(begin));
		code_index_free(index);
		code_object_release(object);
	}
	printf("%s: %d addresses, %zu frames with a line, %zu instructions, %zu producers\n", path, ADDRESS_COUNT,
	       with_line, with_name, producers);
	rounds_print(&cold, "iaprof, cold", ADDRESS_COUNT, "addresses");
	rounds_print(&warm, "iaprof, warm", ADDRESS_COUNT, "addresses");
	rounds_print(&named, "iaprof, warm, with instructions", ADDRESS_COUNT, "addresses");
	rounds_print(&waits, "iaprof, what instructions wait for", ADDRESS_COUNT, "addresses");
	rounds_print(&indexed, "iaprof, warm, by process and time", ADDRESS_COUNT, "addresses");
	if (!child_exists("eu-addr2line")) {
		puts("ratio to eu-addr2line: skipped, it is not installed");
		return;
	}
	if (!eu_addr2line_knows_lines(path, decoder)) {
		puts("ratio to eu-addr2line: skipped, this version of it finds no lines in the image");
		return;
	}
	double theirs = time_eu_addr2line(path);
	printf("ratio to eu-addr2line: cold %.0f, warm %.0f, with instructions %.0f, by process and time %.0f "
	       "(goal >= 100)\n",
	       theirs / cold.fastest, theirs / warm.fastest, theirs / named.fastest, theirs / indexed.fastest);
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	struct registry registry = { 0 };
	struct instance_services services = { 0 };
	struct decoders decoders = { .registry = &registry, .services = &services };
	/* Names alone: text is libiga64's, whose speed bench_gt_code measures. */
	struct setting no_library = { .key = (char *)"library",
				      .value = (char *)"/nonexistent/libiga64.so",
				      .origin = (char *)"bench" };
	struct instance_configuration wanted = { .plugin = argc > 1 ? argv[1] : (char *)"intel-gt",
						 .settings = { .items = &no_library, .count = 1 } };
	struct error error = { 0 };
	if (decoders_add(&decoders, &wanted, &error))
		fail(error.text);
	for (int i = 2; i < argc; i++)
		compare(argv[i], &decoders.items.items[0]->decoder);
	decoders_release(&decoders);
	registry_free(&registry);
	return EXIT_SUCCESS;
}
