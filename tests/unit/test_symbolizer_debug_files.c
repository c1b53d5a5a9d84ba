/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols that were taken out of a file: by build id, by .gnu_debuglink, and as mini debug info. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "base/cleanup.h"
#include "symbolizer/fixture_tools.h"
#include "../run_suite.h"

/* A folder with a stripped copy of the C fixture in it (lib.so), and where the fixture's local function is. */
struct bench {
	char *folder, *library, *original;
	uint64_t local; /* ELF address of local_function, which only .symtab names */
	char *nameless; /* what it is called without a name: .eh_frame has where it begins */
};

static struct bench bench_new(void)
{
	struct bench bench = { .folder = fixture_folder(), .original = fixture_path("libfixture_c.so") };
	ck_assert_int_gt(asprintf(&bench.library, "%s/lib.so", bench.folder), 0);
	command_run("strip --strip-all -o '%s' '%s'", bench.library, bench.original);
	fixture_symbol_array symbols = fixture_symbols("-n", bench.original);
	for (size_t i = 0; i < symbols.count; i++)
		if (strcmp(symbols.items[i].name, "local_function") == 0)
			bench.local = symbols.items[i].address;
	fixture_symbols_free(&symbols);
	ck_assert_uint_ne(bench.local, 0);
	bench.nameless = fixture_nameless(bench.library, bench.local);
	return bench;
}

static void bench_free(struct bench *bench)
{
	command_run("rm -r '%s'", bench->folder);
	free(bench->folder);
	free(bench->library);
	free(bench->nameless);
	free(bench->original);
}

/* Asserts the name that an address gets, with this folder of debug files, and how many files or parts failed. */
static void check_name(const struct bench *bench, const char *debug_path, uint64_t address, const char *name,
		       uint64_t failed)
{
	struct process process = fixture_process();
	struct mapping mapping = fixture_mapping(bench->library, 1);
	struct symbolizer *symbolizer = symbolizer_new(&(struct symbolizer_options){ .debug_path = debug_path });
	struct symbol symbol;
	ck_assert_uint_eq(symbolizer_resolve_user(symbolizer, &process, &mapping,
						  fixture_address(bench->library, address), &symbol, 1),
			  1);
	ck_assert_str_eq(symbol.name, name);
	ck_assert_str_eq(symbol.module, bench->library);
	ck_assert_uint_eq(symbolizer_statistics(symbolizer).images_failed, failed);
	symbolizer_free(symbolizer);
}

TEST(without_a_debug_file_it_is_its_place)
{
	struct bench bench = bench_new();
	check_name(&bench, "/nonexistent", bench.local, bench.nameless, 0);
	/* All code of a function has one name. */
	check_name(&bench, "/nonexistent", bench.local + 1, bench.nameless, 0);
	/* Without .eh_frame, it is where the code is. */
	command_run("objcopy -R .eh_frame -R .eh_frame_hdr '%s'", bench.library);
	CLEANUP_FREE char *inside = fixture_nameless(bench.library, bench.local + 1);
	check_name(&bench, "/nonexistent", bench.local + 1, inside, 0);
	bench_free(&bench);
}

/* Puts a file where the library's build id says. */
static void install_by_build_id(const struct bench *bench, const char *file)
{
	CLEANUP_FREE char *id = command_line_output("readelf -n '%s' | sed -n 's/.*Build ID: //p'", bench->original);
	command_run("mkdir -p '%s/debug/.build-id/%.2s' && objcopy --only-keep-debug '%s' "
		    "'%s/debug/.build-id/%.2s/%s.debug'",
		    bench->folder, id, file, bench->folder, id, id + 2);
}

TEST(by_build_id)
{
	struct bench bench = bench_new();
	CLEANUP_FREE char *debug_path = NULL;
	ck_assert_int_gt(asprintf(&debug_path, "%s/debug", bench.folder), 0);
	install_by_build_id(&bench, bench.original);
	check_name(&bench, debug_path, bench.local, "local_function", 0);
	bench_free(&bench);
}

TEST(a_file_with_another_build_id_is_refused)
{
	struct bench bench = bench_new();
	CLEANUP_FREE char *debug_path = NULL, *other = fixture_path("libfixture_cpp.so");
	ck_assert_int_gt(asprintf(&debug_path, "%s/debug", bench.folder), 0);
	install_by_build_id(&bench, other);
	check_name(&bench, debug_path, bench.local, bench.nameless, 1);
	bench_free(&bench);
}

/* The folders in which a debug link is looked for, inside of the bench's. */
static const char *const link_folders[] = { ".", ".debug", "debug" };

TEST_LOOP(by_debug_link, 0, sizeof link_folders / sizeof *link_folders)
{
	struct bench bench = bench_new();
	CLEANUP_FREE char *debug_path = NULL, *folder = NULL;
	ck_assert_int_gt(asprintf(&debug_path, "%s/debug", bench.folder), 0);
	/* The global folder has the library's own path in it. */
	ck_assert_int_gt(asprintf(&folder, "%s/%s%s", bench.folder, link_folders[_i],
				  strcmp(link_folders[_i], "debug") == 0 ? bench.folder : ""),
			 0);
	command_run("mkdir -p '%s' && cd '%s' && objcopy --only-keep-debug '%s' lib.debug && "
		    "objcopy --add-gnu-debuglink=lib.debug '%s'",
		    folder, folder, bench.original, bench.library);
	check_name(&bench, debug_path, bench.local, "local_function", 0);

	/* One byte more, and the checksum is wrong. */
	command_run("printf x >> '%s/lib.debug'", folder);
	check_name(&bench, debug_path, bench.local, bench.nameless, 1);
	bench_free(&bench);
}

TEST(a_link_to_what_is_no_file_is_refused)
{
	struct bench bench = bench_new();
	command_run("cd '%s' && objcopy --only-keep-debug '%s' lib.debug && "
		    "objcopy --add-gnu-debuglink=lib.debug '%s' && rm lib.debug && mkfifo lib.debug",
		    bench.folder, bench.original, bench.library);
	check_name(&bench, "/nonexistent", bench.local, bench.nameless, 0);
	bench_free(&bench);
}

/* As rpm's find-debuginfo makes it: the functions that .dynsym lacks, alone in a file, compressed. */
static void add_mini_debug_info(const struct bench *bench, const char *compress)
{
	command_run("cd '%s' && nm -D '%s' --format=posix --defined-only | awk '{ print $1 }' | sort > dynamic && "
		    "nm '%s' --format=posix --defined-only | awk '$2 ~ /[Tt]/ { print $1 }' | sort > all && "
		    "comm -13 dynamic all > keep && objcopy --only-keep-debug '%s' debug.so && "
		    "objcopy -S --remove-section .comment --keep-symbols=keep debug.so mini && %s < mini > mini.xz && "
		    "objcopy --add-section .gnu_debugdata=mini.xz '%s'",
		    bench->folder, bench->original, bench->original, bench->original, compress, bench->library);
}

TEST(mini_debug_info)
{
	struct bench bench = bench_new();
	add_mini_debug_info(&bench, "xz");
	check_name(&bench, "/nonexistent", bench.local, "local_function", 0);
	bench_free(&bench);
}

static const char *const bad_compressors[] = { "cat", "xz | head -c 100", "true", "sh -c 'xz | tail -c +9'",
					       "sh -c 'head -c 300000000 /dev/zero | xz -0'" };

TEST_LOOP(bad_mini_debug_info_is_refused, 0, sizeof bad_compressors / sizeof *bad_compressors)
{
	struct bench bench = bench_new();
	add_mini_debug_info(&bench, bad_compressors[_i]);
	/* objcopy adds no section for an empty file. */
	check_name(&bench, "/nonexistent", bench.local, bench.nameless, strcmp(bad_compressors[_i], "true") != 0);
	bench_free(&bench);
}

TEST(lines_come_from_the_debug_file)
{
	struct bench bench = bench_new();
	CLEANUP_FREE char *debug_path = NULL;
	ck_assert_int_gt(asprintf(&debug_path, "%s/debug", bench.folder), 0);
	install_by_build_id(&bench, bench.original);
	struct process process = fixture_process();
	struct mapping mapping = fixture_mapping(bench.library, 1);
	struct symbolizer *symbolizer =
		symbolizer_new(&(struct symbolizer_options){ .lines = true, .debug_path = debug_path });
	struct symbol symbols[SYMBOLIZER_INLINE_DEPTH_MAX];
	size_t count =
		symbolizer_resolve_user(symbolizer, &process, &mapping, fixture_address(bench.library, bench.local),
					symbols, SYMBOLIZER_INLINE_DEPTH_MAX);
	CLEANUP_FREE char *wanted = command_line_output("addr2line -e '%s' 0x%" PRIx64, bench.original, bench.local);
	char place[4096];
	snprintf(place, sizeof place, "%s:%u", symbols[count - 1].file, symbols[count - 1].line);
	ck_assert_str_eq(strrchr(place, '/'), strrchr(wanted, '/'));
	symbolizer_free(symbolizer);
	bench_free(&bench);
}

TEST(calls_of_other_files_are_named_as_objdump_does)
{
	struct bench bench = bench_new();
	struct process process = fixture_process();
	struct mapping mapping = fixture_mapping(bench.library, 1);
	struct symbolizer *symbolizer = symbolizer_new(&(struct symbolizer_options){ .debug_path = "/nonexistent" });
	static const char *const functions[] = { "strdup@plt", "abort@plt", "__cxa_finalize@plt" };
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		CLEANUP_FREE char *line =
			command_line_output("objdump -d '%s' | grep '<%s>:'", bench.library, functions[i]);
		uint64_t address = strtoull(line, NULL, 16);
		struct symbol symbol;
		symbolizer_resolve_user(symbolizer, &process, &mapping, fixture_address(bench.library, address + 1),
					&symbol, 1);
		ck_assert_str_eq(symbol.name, functions[i]);
		ck_assert_uint_eq(symbol.offset, 1);
	}
	symbolizer_free(symbolizer);
	bench_free(&bench);
}

int main(void)
{
	return run_all_tests(300, NULL, NULL);
}
