/* SPDX-License-Identifier: Apache-2.0 */
/* Functions from ELF symbol tables, against nm; files that are replaced, deleted or damaged. */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "base/cleanup.h"
#include "symbolizer/fixture_tools.h"
#include "../run_suite.h"

static struct symbolizer *open_symbolizer(void)
{
	struct symbolizer *symbolizer = symbolizer_new(&(struct symbolizer_options){ .debug_path = "/nonexistent" });
	ck_assert_ptr_nonnull(symbolizer);
	return symbolizer;
}

static bool is_function(const struct fixture_symbol *symbol)
{
	return strchr("tTwWi", symbol->type) != NULL;
}

static bool is_name_at(const fixture_symbol_array *symbols, uint64_t address, const char *name)
{
	for (size_t i = 0; i < symbols->count; i++) {
		/* "malloc@@GLIBC_2.2.5" is malloc with a version. */
		size_t length = strcspn(symbols->items[i].name, "@");
		if (symbols->items[i].address == address && strlen(name) == length &&
		    strncmp(symbols->items[i].name, name, length) == 0)
			return true;
	}
	return false;
}

/* Each function's first and last byte has one of the names that nm gives its address, and the right offset. */
static size_t compare_with_nm(const char *path, const char *options)
{
	struct symbolizer *symbolizer = open_symbolizer();
	struct process process = fixture_process();
	struct mapping mapping = fixture_mapping(path, 1);
	fixture_symbol_array symbols = fixture_symbols(options, path);
	uint64_t segment = fixture_address(path, symbols.items[0].address) - symbols.items[0].address;
	size_t compared = 0;
	for (size_t i = 0; i < symbols.count; i++) {
		const struct fixture_symbol *wanted = &symbols.items[i];
		if (!is_function(wanted) || !wanted->size)
			continue;
		for (int last = 0; last < 2; last++) {
			uint64_t offset = last ? wanted->size - 1 : 0;
			struct symbol symbol;
			ck_assert_uint_eq(symbolizer_resolve_user(symbolizer, &process, &mapping,
								  segment + wanted->address + offset, &symbol, 1),
					  1);
			ck_assert_msg(is_name_at(&symbols, wanted->address, symbol.name) || last, "%s is not %s",
				      symbol.name, wanted->name);
			ck_assert_uint_eq(symbol.address, wanted->address + offset);
			ck_assert(is_name_at(&symbols, symbol.address - symbol.offset, symbol.name));
			ck_assert_str_eq(symbol.module, path);
			ck_assert_uint_eq(symbol.kind, IAPROF_FRAME_USER);
			ck_assert_uint_eq(symbol.flags, 0);
		}
		compared++;
	}
	fixture_symbols_free(&symbols);
	symbolizer_free(symbolizer);
	return compared;
}

TEST(symtab_is_what_nm_says)
{
	CLEANUP_FREE char *path = fixture_path("libfixture_c.so");
	ck_assert_uint_ge(compare_with_nm(path, "-nS"), 10);
}

TEST(dynsym_is_what_nm_says)
{
	CLEANUP_FREE char *path = fixture_path("fixture_stripped.so");
	ck_assert_uint_ge(compare_with_nm(path, "-DnS"), 5);
}

TEST(real_library_is_what_nm_says)
{
	CLEANUP_FREE char *path =
		command_line_output("ldd \"$FIXTURE_FOLDER\"/libfixture_c.so | awk '/libc\\.so/ { print $3 }'");
	CLEANUP_FREE char *real_path = realpath(path, NULL);
	ck_assert_ptr_nonnull(real_path);
	ck_assert_uint_ge(compare_with_nm(real_path, "-DnS"), 1000);
}

/* The name of the function of the fixture's symbol table that has an ELF address. */
static const char *name_at(struct symbolizer *symbolizer, const struct mapping *mapping, uint64_t elf_address)
{
	struct process process = fixture_process();
	struct symbol symbol;
	ck_assert_uint_eq(symbolizer_resolve_user(symbolizer, &process, mapping,
						  fixture_address(mapping->path, elf_address), &symbol, 1),
			  1);
	ck_assert_int_eq(symbol.flags & IAPROF_FRAME_UNKNOWN, symbol.name[0] == '[' ? IAPROF_FRAME_UNKNOWN : 0);
	return symbol.name;
}

static uint64_t address_of(const char *path, const char *name)
{
	fixture_symbol_array symbols = fixture_symbols("-n", path);
	uint64_t address = 0;
	for (size_t i = 0; i < symbols.count; i++)
		if (strcmp(symbols.items[i].name, name) == 0)
			address = symbols.items[i].address;
	fixture_symbols_free(&symbols);
	ck_assert_msg(address, "no %s in %s", name, path);
	return address;
}

TEST(the_best_of_several_names_is_taken)
{
	CLEANUP_FREE char *path = fixture_path("libfixture_c.so");
	struct symbolizer *symbolizer = open_symbolizer();
	struct mapping mapping = fixture_mapping(path, 1);
	/* sum, total, __total and weak_sum: global, without underscores, and the longest of these. */
	ck_assert_str_eq(name_at(symbolizer, &mapping, address_of(path, "sum")), "total");
	ck_assert_str_eq(name_at(symbolizer, &mapping, address_of(path, "only_weak")), "only_weak");
	symbolizer_free(symbolizer);
}

TEST(labels_name_only_what_no_function_covers)
{
	CLEANUP_FREE char *path = fixture_path("libfixture_c.so");
	struct symbolizer *symbolizer = open_symbolizer();
	struct mapping mapping = fixture_mapping(path, 1);
	ck_assert_str_eq(name_at(symbolizer, &mapping, address_of(path, "label_inside")), "sized_assembler");
	/* sized_assembler is three bytes long; the padding up to the next symbol is nobody's. */
	CLEANUP_FREE char *padding = fixture_nameless(path, address_of(path, "sized_assembler") + 3);
	ck_assert_str_eq(name_at(symbolizer, &mapping, address_of(path, "sized_assembler") + 3), padding);
	ck_assert_str_eq(name_at(symbolizer, &mapping, address_of(path, "unsized_assembler") + 5), "unsized_assembler");
	ck_assert_str_eq(name_at(symbolizer, &mapping, address_of(path, "after_assembler")), "after_assembler");
	symbolizer_free(symbolizer);
}

/* A private copy of a fixture; the caller unlinks and frees it. */
static char *copy_fixture(const char *name)
{
	CLEANUP_FREE char *path = fixture_path(name);
	char *copy = NULL;
	const char *folder = getenv("TMPDIR");
	ck_assert_int_gt(asprintf(&copy, "%s/test_symbolizer_XXXXXX", folder ? folder : "/tmp"), 0);
	int descriptor = mkstemp(copy);
	ck_assert_int_ge(descriptor, 0);
	close(descriptor);
	command_run("cp '%s' '%s'", path, copy);
	return copy;
}

static const char *name_in(const struct mapping *mapping, struct symbolizer *symbolizer, uint64_t address)
{
	struct process process = fixture_process();
	struct symbol symbol;
	ck_assert_uint_eq(symbolizer_resolve_user(symbolizer, &process, mapping, address, &symbol, 1), 1);
	return symbol.name;
}

TEST(a_replaced_file_gives_no_name)
{
	CLEANUP_FREE char *path = copy_fixture("libfixture_c.so");
	uint64_t address = fixture_address(path, address_of(path, "outer"));
	for (int with_build_id = 0; with_build_id < 2; with_build_id++) {
		struct mapping mapping = fixture_mapping(path, 1);
		if (with_build_id)
			fixture_mapping_use_build_id(&mapping, path);
		struct symbolizer *symbolizer = open_symbolizer();
		ck_assert_str_eq(name_in(&mapping, symbolizer, address), "outer");
		symbolizer_free(symbolizer);

		CLEANUP_FREE char *other = copy_fixture("libfixture_cpp.so");
		ck_assert_int_eq(rename(path, other), 0);
		command_run("cp \"$FIXTURE_FOLDER\"/libfixture_cpp.so '%s'", path);
		symbolizer = open_symbolizer();
		ck_assert_str_eq(name_in(&mapping, symbolizer, address), "[deleted]");
		ck_assert_uint_eq(symbolizer_statistics(symbolizer).deleted, 1);
		ck_assert_uint_eq(symbolizer_statistics(symbolizer).images_failed, 1);
		symbolizer_free(symbolizer);
		ck_assert_int_eq(rename(other, path), 0);
	}
	unlink(path);
}

/* Where stat() gives an anonymous device (overlay, btrfs), that of the mapping is another one. */
TEST(another_device_proves_nothing_where_it_is_anonymous)
{
	struct stat status;
	CLEANUP_FREE char *path = fixture_path("libfixture_c.so");
	struct mapping mapping = fixture_mapping(path, 1);
	mapping.device_minor++;
	ck_assert_int_eq(stat(path, &status), 0);
	struct symbolizer *symbolizer = open_symbolizer();
	ck_assert_str_eq(name_at(symbolizer, &mapping, address_of(path, "outer")),
			 major(status.st_dev) ? "[deleted]" : "outer");
	symbolizer_free(symbolizer);
}

TEST(a_file_that_nothing_identifies_gives_no_name)
{
	CLEANUP_FREE char *path = fixture_path("libfixture_c.so");
	struct mapping mapping = fixture_mapping(path, 1);
	mapping.inode = 0;
	struct symbolizer *symbolizer = open_symbolizer();
	uint64_t address = address_of(path, "outer");
	CLEANUP_FREE char *wanted = fixture_nameless(path, fixture_address(path, address) - mapping.start);
	ck_assert_str_eq(name_at(symbolizer, &mapping, address), wanted);
	symbolizer_free(symbolizer);
}

TEST(a_cut_file_fails_alone)
{
	CLEANUP_FREE char *path = copy_fixture("libfixture_c.so");
	CLEANUP_FREE char *good = fixture_path("libfixture_cpp.so");
	uint64_t address = fixture_address(path, address_of(path, "outer"));
	uint64_t good_address = fixture_address(good, address_of(good, "_RNvNtCs1234_7mycrate3foo3bar"));
	CLEANUP_FREE char *in_file = fixture_nameless(path, address - FIXTURE_START);
	CLEANUP_FREE char *in_elf = fixture_nameless(path, address_of(path, "outer"));
	struct stat status;
	ck_assert_int_eq(stat(path, &status), 0);
	for (off_t size = status.st_size - 1; size > 0; size = size * 7 / 8) {
		ck_assert_int_eq(truncate(path, size), 0);
		struct mapping mapping = fixture_mapping(path, 1), good_mapping = fixture_mapping(good, 2);
		struct symbolizer *symbolizer = open_symbolizer();
		const char *name = name_in(&mapping, symbolizer, address);
		bool is_known = strcmp(name, "outer") == 0;
		ck_assert_msg(is_known || strcmp(name, in_file) == 0 || strcmp(name, in_elf) == 0, "%s", name);
		if (!is_known)
			ck_assert_uint_ge(symbolizer_statistics(symbolizer).unknown, 1);
		ck_assert_str_eq(name_in(&good_mapping, symbolizer, good_address), "mycrate::foo::bar");
		ck_assert_uint_ge(symbolizer_statistics(symbolizer).images, 1);
		symbolizer_free(symbolizer);
	}
	unlink(path);
}

TEST(one_image_serves_many_processes)
{
	CLEANUP_FREE char *path = fixture_path("libfixture_c.so");
	uint64_t address = fixture_address(path, address_of(path, "outer"));
	struct symbolizer *symbolizer = open_symbolizer();
	const char *first = NULL;
	for (uint32_t serial = 1; serial <= 1000; serial++) {
		struct process process = fixture_process();
		process.serial = serial;
		struct mapping mapping = fixture_mapping(path, serial);
		struct symbol symbol;
		symbolizer_resolve_user(symbolizer, &process, &mapping, address, &symbol, 1);
		first = first ? first : symbol.name;
		ck_assert_ptr_eq(symbol.name, first);
	}
	ck_assert_str_eq(first, "outer");
	ck_assert_uint_eq(symbolizer_statistics(symbolizer).images, 1);
	symbolizer_free(symbolizer);
}

TEST(no_mapping_is_unknown)
{
	struct symbolizer *symbolizer = open_symbolizer();
	struct process process = fixture_process();
	struct symbol symbol;
	ck_assert_uint_eq(symbolizer_resolve_user(symbolizer, &process, NULL, 0x1234, &symbol, 1), 1);
	ck_assert_str_eq(symbol.name, "[unknown]");
	ck_assert_uint_eq(symbol.flags, IAPROF_FRAME_UNKNOWN);
	ck_assert_uint_eq(symbol.address, 0x1234);
	ck_assert_uint_eq(symbolizer_statistics(symbolizer).unknown, 1);
	symbolizer_free(symbolizer);
}

int main(void)
{
	return run_all_tests(300, NULL, NULL);
}
