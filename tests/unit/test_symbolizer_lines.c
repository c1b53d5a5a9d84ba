/* SPDX-License-Identifier: Apache-2.0 */
/* Source lines and inlined functions, against addr2line (binutils) and eu-addr2line (elfutils). */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "base/cleanup.h"
#include "symbolizer/fixture_tools.h"
#include "../run_suite.h"

struct expected_frame {
	char *name;
	char *file;
	uint32_t line;
};

/* What a tool prints for all bytes of a file's functions, one block for each address. */
struct expected_address {
	uint64_t address;
	ARRAY(struct expected_frame) frames; /* the innermost first */
};
typedef ARRAY(struct expected_address) expected_array;

static void expected_free(expected_array *all)
{
	for (size_t i = 0; i < all->count; i++) {
		for (size_t j = 0; j < all->items[i].frames.count; j++) {
			free(all->items[i].frames.items[j].name);
			free(all->items[i].frames.items[j].file);
		}
		array_free(&all->items[i].frames);
	}
	array_free(all);
}

/* "/path/fixture.c:12 (discriminator 3)" or "/path/fixture.c:12:7" or "??:?" */
static void parse_place(char *text, struct expected_frame *frame)
{
	char *colon = text;
	while (*colon && !(colon[0] == ':' && strchr("0123456789?", colon[1])))
		colon++;
	frame->line = *colon ? (uint32_t)strtoul(colon + 1, NULL, 10) : 0;
	*colon = '\0';
	frame->file = strcmp(text, "??") == 0 ? NULL : strdup(text);
}

/* Writes all addresses of a file's functions to a file for the tools' standard input. */
static void write_addresses(const char *path, const char *list)
{
	FILE *output = fopen(list, "we");
	ck_assert_ptr_nonnull(output);
	fixture_symbol_array symbols = fixture_symbols("-nS --defined-only", path);
	for (size_t i = 0; i < symbols.count; i++)
		if (strchr("tTW", symbols.items[i].type))
			for (uint64_t offset = 0; offset < symbols.items[i].size; offset++)
				fprintf(output, "0x%" PRIx64 "\n", symbols.items[i].address + offset);
	fixture_symbols_free(&symbols);
	ck_assert_int_eq(fclose(output), 0);
}

/* Runs addr2line -f -i -a; names without parameters, as ours. */
static expected_array ask_addr2line(const char *path)
{
	expected_array all = { 0 };
	CLEANUP_FREE char *folder = fixture_folder();
	CLEANUP_FREE char *list = NULL, *result = NULL;
	ck_assert_int_gt(asprintf(&list, "%s/addresses", folder), 0);
	ck_assert_int_gt(asprintf(&result, "%s/result", folder), 0);
	write_addresses(path, list);
	command_run("addr2line -f -i -a -e '%s' < '%s' | c++filt -p > '%s'", path, list, result);
	CLEANUP_FCLOSE FILE *input = fopen(result, "re");
	char line[8192], place[8192];
	while (fgets(line, sizeof line, input)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "0x", 2) == 0) {
			struct expected_address next = { .address = strtoull(line, NULL, 16) };
			ck_assert(array_push(&all, next));
			continue;
		}
		struct expected_frame frame = { .name = strdup(line) };
		ck_assert_ptr_nonnull(fgets(place, sizeof place, input));
		place[strcspn(place, "\n")] = '\0';
		parse_place(place, &frame);
		ck_assert(all.count && array_push(&all.items[all.count - 1].frames, frame));
	}
	command_run("rm -r '%s'", folder);
	return all;
}

/* The same file, however the paths are written, and whether or not it is still there. */
static bool is_same_file(const char *a, const char *b)
{
	if (strcmp(a, b) == 0)
		return true;
	CLEANUP_FREE char *real_a = realpath(a, NULL), *real_b = realpath(b, NULL);
	return real_a && real_b && strcmp(real_a, real_b) == 0;
}

static void compare_with_addr2line(const char *name)
{
	CLEANUP_FREE char *path = fixture_path(name);
	expected_array all = ask_addr2line(path);
	struct process process = fixture_process();
	struct mapping mapping = fixture_mapping(path, 1);
	/* All of the code is in one segment. */
	uint64_t segment = fixture_address(path, all.items[0].address) - all.items[0].address;
	struct symbolizer *symbolizer =
		symbolizer_new(&(struct symbolizer_options){ .lines = true, .debug_path = "/nonexistent" });
	size_t inlined = 0, with_line = 0;
	for (size_t i = 0; i < all.count; i++) {
		const struct expected_address *wanted = &all.items[i];
		struct symbol symbols[SYMBOLIZER_INLINE_DEPTH_MAX];
		size_t count = symbolizer_resolve_user(symbolizer, &process, &mapping, segment + wanted->address,
						       symbols, SYMBOLIZER_INLINE_DEPTH_MAX);
		if (count != wanted->frames.count) {
			/* binutils 2.40 misses parts of an inlined call that has several; elfutils does not. */
			CLEANUP_FREE char *frames = command_line_output("eu-addr2line -i -e '%s' 0x%" PRIx64 " | wc -l",
									path, wanted->address);
			ck_assert_msg(count == strtoul(frames, NULL, 10), "0x%" PRIx64 ": %zu frames, not %s or %zu",
				      wanted->address, count, frames, wanted->frames.count);
			ck_assert_uint_eq(symbols[count - 1].line, wanted->frames.items[0].line);
			continue;
		}
		for (size_t j = 0; j < count; j++) {
			const struct expected_frame *frame = &wanted->frames.items[count - 1 - j];
			/* addr2line finds no line for assembler code in a C file; eu-addr2line does, as the next test.
			 */
			if (!frame->line && count == 1)
				continue;
			ck_assert_msg(symbols[j].line == frame->line, "0x%" PRIx64 " %s: line %u, not %u",
				      wanted->address, symbols[j].name, symbols[j].line, frame->line);
			if (frame->file && frame->line)
				ck_assert_msg(is_same_file(symbols[j].file, frame->file), "%s is not %s",
					      symbols[j].file, frame->file);
			ck_assert_uint_eq(symbols[j].flags, j ? IAPROF_FRAME_INLINED : 0);
			/* The outermost one has the symbol table's choice of several names. */
			if (j)
				ck_assert_str_eq(symbols[j].name, frame->name);
			with_line += symbols[j].line != 0;
		}
		inlined += count - 1;
	}
	ck_assert_uint_gt(inlined, 10);
	ck_assert_uint_gt(with_line, 100);
	ck_assert_uint_eq(symbolizer_statistics(symbolizer).images_failed, 0);
	symbolizer_free(symbolizer);
	expected_free(&all);
}

/* The same code, as different compilers' DWARF. */
static const char *const fixtures[] = { "libfixture_c.so", "libfixture_cpp.so", "libfixture_dwarf4.so",
					"libfixture_compressed.so" };

TEST_LOOP(every_byte_is_what_addr2line_says, 0, sizeof fixtures / sizeof *fixtures)
{
	compare_with_addr2line(fixtures[_i]);
}

TEST(innermost_frames_are_left_out_when_there_is_no_room)
{
	CLEANUP_FREE char *path = fixture_path("libfixture_c.so");
	expected_array all = ask_addr2line(path);
	struct mapping mapping = fixture_mapping(path, 1);
	struct process process = fixture_process();
	struct symbolizer *symbolizer =
		symbolizer_new(&(struct symbolizer_options){ .lines = true, .debug_path = "/nonexistent" });
	size_t compared = 0;
	for (size_t i = 0; i < all.count; i++) {
		struct symbol full[8], cut[2];
		uint64_t address = fixture_address(path, all.items[i].address);
		if (all.items[i].frames.count < 3)
			continue;
		ck_assert_uint_eq(symbolizer_resolve_user(symbolizer, &process, &mapping, address, full, 8), 3);
		ck_assert_uint_eq(symbolizer_resolve_user(symbolizer, &process, &mapping, address, cut, 2), 2);
		for (int j = 0; j < 2; j++) {
			ck_assert_str_eq(cut[j].name, full[j].name);
			ck_assert_uint_eq(cut[j].line, full[j].line);
		}
		if (++compared == 5)
			break;
	}
	ck_assert_uint_ge(compared, 1);
	symbolizer_free(symbolizer);
	expected_free(&all);
}

/* Line numbers again, from a tool that shares no code with binutils. */
TEST_LOOP(lines_are_what_eu_addr2line_says, 0, sizeof fixtures / sizeof *fixtures)
{
	CLEANUP_FREE char *path = fixture_path(fixtures[_i]);
	fixture_symbol_array functions = fixture_symbols("-nS --defined-only", path);
	struct mapping mapping = fixture_mapping(path, 1);
	struct process process = fixture_process();
	struct symbolizer *symbolizer =
		symbolizer_new(&(struct symbolizer_options){ .lines = true, .debug_path = "/nonexistent" });
	size_t compared = 0;
	for (size_t i = 0; i < functions.count; i++) {
		if (!functions.items[i].size || !strchr("tT", functions.items[i].type))
			continue;
		uint64_t address = functions.items[i].address + functions.items[i].size / 2;
		CLEANUP_FREE char *text = command_line_output("eu-addr2line -e '%s' 0x%" PRIx64, path, address);
		struct expected_frame wanted = { 0 };
		parse_place(text, &wanted);
		struct symbol symbols[SYMBOLIZER_INLINE_DEPTH_MAX];
		size_t count = symbolizer_resolve_user(symbolizer, &process, &mapping, fixture_address(path, address),
						       symbols, SYMBOLIZER_INLINE_DEPTH_MAX);
		ck_assert_uint_eq(symbols[count - 1].line, wanted.line);
		compared += wanted.line != 0;
		free(wanted.file);
	}
	ck_assert_uint_ge(compared, 4);
	fixture_symbols_free(&functions);
	symbolizer_free(symbolizer);
}

int main(void)
{
	return run_all_tests(300, NULL, NULL);
}
