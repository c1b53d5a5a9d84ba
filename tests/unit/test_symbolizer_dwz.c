/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Debug information that several files share, as dwz makes it: found by its build id or by its path, or not
 * used at all.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include "base/cleanup.h"
#include "symbolizer/fixture_tools.h"
#include "../run_suite.h"

static size_t resolve(const char *library, uint64_t address, const char *debug_path, struct symbol *symbols,
		      uint64_t *failed)
{
	struct process process = fixture_process();
	struct mapping mapping = fixture_mapping(library, 1);
	struct symbolizer *symbolizer =
		symbolizer_new(&(struct symbolizer_options){ .lines = true, .debug_path = debug_path });
	size_t count = symbolizer_resolve_user(symbolizer, &process, &mapping, fixture_address(library, address),
					       symbols, SYMBOLIZER_INLINE_DEPTH_MAX);
	*failed = symbolizer_statistics(symbolizer).images_failed;
	for (size_t i = 0; i < count; i++) {
		symbols[i].name = strdup(symbols[i].name);
		symbols[i].file = symbols[i].file ? strdup(symbols[i].file) : NULL;
	}
	symbolizer_free(symbolizer);
	return count;
}

static void free_symbols(struct symbol *symbols, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free((char *)symbols[i].name);
		free((char *)symbols[i].file);
	}
}

/*
 * The two libraries, whose shared file was moved away, and what puts it where it is found: by its build id, or where
 * the library or its debug file names it. The folder of the test is the current one.
 */
static const struct {
	const char *make, *provide;
	const char *needs; /* a command that succeeds if this can be made; NULL: always */
} forms[] = {
	{ "dwz -q -m shared a.so b.so && mv shared away",
	  "id=$(readelf -n away | sed -n 's/.*Build ID: //p') && folder=debug/.build-id/$(echo $id | cut -c1-2) && "
	  "mkdir -p $folder && cp away $folder/$(echo $id | cut -c3-).debug",
	  NULL },
	{ "dwz -q -m shared a.so b.so && mv shared away", "cp away shared", NULL },
	{ "dwz -q -m shared -M $PWD/other/names a.so b.so && mv shared away", "mkdir other && cp away other/names",
	  NULL },
	/* As distributions do: the link is in the debug file, relative to that. */
	{ "for name in a b; do objcopy --only-keep-debug $name.so $name.debug; strip -g $name.so; "
	  "objcopy --add-gnu-debuglink=$name.debug $name.so; done && dwz -q -m shared -M ../shared a.debug b.debug && "
	  "for name in a b; do objcopy --remove-section .gnu_debuglink $name.so; "
	  "objcopy --add-gnu-debuglink=$name.debug $name.so; done && mkdir .debug && mv a.debug b.debug .debug && "
	  "mv shared away",
	  "cp away shared", NULL },
	{ "dwz -q -m shared a.so b.so && mv shared away && objcopy --compress-debug-sections=zstd away && "
	  "objcopy --compress-debug-sections=zstd a.so",
	  "cp away shared", "objcopy --help | grep -q zstd" },
};
#define FORM_COUNT (sizeof forms / sizeof *forms)

static void prepare(const char *folder, const char *original, const char *make)
{
	command_run("cd '%s' && cp '%s' a.so && cp '%s' b.so && %s", folder, original, original, make);
}

/* Compares each address of a function with the file before dwz, whose answers are compared with addr2line's. */
static size_t compare(const char *library, const char *original, const char *debug_path, uint64_t address,
		      uint64_t size)
{
	struct symbol shared[SYMBOLIZER_INLINE_DEPTH_MAX], whole[SYMBOLIZER_INLINE_DEPTH_MAX];
	size_t inlined = 0;
	for (uint64_t offset = 0; offset < size; offset++) {
		uint64_t failed;
		size_t count = resolve(library, address + offset, debug_path, shared, &failed);
		ck_assert_uint_eq(failed, 0);
		size_t whole_count = resolve(original, address + offset, "/nonexistent", whole, &failed);
		ck_assert_uint_eq(count, whole_count);
		for (size_t j = 0; j < count; j++) {
			ck_assert_str_eq(shared[j].name, whole[j].name);
			ck_assert_str_eq(shared[j].file, whole[j].file);
			ck_assert_uint_eq(shared[j].line, whole[j].line);
		}
		inlined += count - 1;
		free_symbols(shared, count);
		free_symbols(whole, whole_count);
	}
	return inlined;
}

TEST_LOOP(shared_debug_information_is_found_in_each_place, 0, FORM_COUNT)
{
	CLEANUP_FREE char *folder = fixture_folder(), *original = fixture_path("libfixture_dwarf4.so");
	CLEANUP_FREE char *library = NULL, *debug_path = NULL;
	if (forms[_i].needs && system(forms[_i].needs))
		return;
	ck_assert_int_gt(asprintf(&library, "%s/a.so", folder), 0);
	ck_assert_int_gt(asprintf(&debug_path, "%s/debug", folder), 0);
	prepare(folder, original, forms[_i].make);
	fixture_symbol_array functions = fixture_symbols("-nS", original);
	size_t inlined = 0;
	for (size_t i = 0; i < functions.count; i++) {
		if (strcmp(functions.items[i].name, "outer") != 0)
			continue;
		/* Without the shared file: symbols only, and that is counted. */
		struct symbol plain[SYMBOLIZER_INLINE_DEPTH_MAX];
		uint64_t failed, address = functions.items[i].address;
		size_t plain_count = resolve(library, address, debug_path, plain, &failed);
		ck_assert_uint_eq(plain_count, 1);
		ck_assert_str_eq(plain[0].name, "outer");
		ck_assert_ptr_null(plain[0].file);
		ck_assert_uint_eq(failed, 1);
		free_symbols(plain, plain_count);
		command_run("cd '%s' && %s", folder, forms[_i].provide);
		inlined += compare(library, original, debug_path, address, functions.items[i].size);
		/* One with another build id is not used. */
		command_run("cd '%s' && ! test -e shared || cp a.so shared", folder);
		plain_count = resolve(library, address, "/nonexistent", plain, &failed);
		ck_assert(_i == 2 || !plain[0].file);
		free_symbols(plain, plain_count);
	}
	ck_assert_uint_gt(inlined, 0);
	fixture_symbols_free(&functions);
	command_run("rm -r '%s'", folder);
}

int main(void)
{
	if (system("command -v dwz > /dev/null") != 0)
		skip_all("dwz is not installed");
	return run_all_tests(300, NULL, NULL);
}
