/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the Linux kernel, from files in the format of /proc/kallsyms that are made here. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include "base/cleanup.h"
#include "symbolizer/fixture_tools.h"
#include "../run_suite.h"

/* Writes a kallsyms file and opens a symbolizer on it; the path is freed by the caller. */
static struct symbolizer *open_with(const char *text, size_t length, char **path)
{
	const char *folder = getenv("TMPDIR");
	ck_assert_int_gt(asprintf(path, "%s/test_kallsyms_XXXXXX", folder ? folder : "/tmp"), 0);
	int descriptor = mkstemp(*path);
	ck_assert_int_ge(descriptor, 0);
	ck_assert_int_eq(write(descriptor, text, length), (ssize_t)length);
	close(descriptor);
	struct symbolizer *symbolizer = symbolizer_new(&(struct symbolizer_options){ .kallsyms = *path });
	ck_assert_ptr_nonnull(symbolizer);
	return symbolizer;
}

static void check_at(struct symbolizer *symbolizer, uint64_t address, const char *name, const char *module,
		     uint64_t offset)
{
	struct symbol symbol;
	ck_assert_uint_eq(symbolizer_resolve_kernel(symbolizer, address, &symbol, 1), 1);
	ck_assert_str_eq(symbol.name, name);
	ck_assert_str_eq(symbol.module, module);
	ck_assert_uint_eq(symbol.offset, offset);
	ck_assert_uint_eq(symbol.address, address);
	ck_assert_uint_eq(symbol.kind, IAPROF_FRAME_LINUX_KERNEL);
	ck_assert_uint_eq(symbol.flags, name[0] == '[' ? IAPROF_FRAME_UNKNOWN : 0);
}

TEST(functions_and_modules)
{
	static const char text[] = "0000000000000000 A fixed_percpu_data\n"
				   "ffffffff81000000 T _stext\n"
				   "ffffffff81000000 T _text\n"
				   "ffffffff81000010 t do_one\n"
				   "ffffffff81000040 T __sys_two\n"
				   "ffffffff81000040 T sys_two\n"
				   "ffffffff81000040 W weak_two_with_a_long_name\n"
				   "ffffffff81000080 D some_data\n"
				   "ffffffff81000090 T after_data\n"
				   "ffffffffc0a02000 t second\t[beta]\n"
				   "ffffffffc0a01000 t first\t[alpha]\n"
				   "ffffffffc0a01020 d alpha_data\t[alpha]\n"
				   "ffffffffc0b00000 t bpf_prog_0123456789abcdef_sample\t[bpf]\n";
	CLEANUP_FREE char *path = NULL;
	struct symbolizer *symbolizer = open_with(text, sizeof text - 1, &path);
	check_at(symbolizer, 0xffffffff81000005, "_stext", "[kernel]", 5);
	check_at(symbolizer, 0xffffffff81000010, "do_one", "[kernel]", 0);
	check_at(symbolizer, 0xffffffff8100003f, "do_one", "[kernel]", 0x2f);
	check_at(symbolizer, 0xffffffff81000041, "sys_two", "[kernel]", 1);
	check_at(symbolizer, 0xffffffff81000080, "[kernel]", "[kernel]", 0);
	check_at(symbolizer, 0xffffffff81000091, "after_data", "[kernel]", 1);
	/* The last function before a gap ends with its page. */
	check_at(symbolizer, 0xffffffff81000fff, "after_data", "[kernel]", 0xf6f);
	check_at(symbolizer, 0xffffffff81001000, "[kernel]", "[kernel]", 0);
	check_at(symbolizer, 0xffffffffc0a01004, "first", "[alpha]", 4);
	check_at(symbolizer, 0xffffffffc0a01020, "[kernel]", "[kernel]", 0);
	check_at(symbolizer, 0xffffffffc0a02fff, "second", "[beta]", 0xfff);
	check_at(symbolizer, 0xffffffffc0a03000, "[kernel]", "[kernel]", 0);
	check_at(symbolizer, 0xffffffffc0b00001, "bpf_prog_0123456789abcdef_sample", "[bpf]", 1);
	check_at(symbolizer, 0x1000, "[kernel]", "[kernel]", 0);
	ck_assert_ptr_null(symbolizer_warning(symbolizer));
	symbolizer_free(symbolizer);
	unlink(path);
}

TEST(a_hundred_thousand_functions)
{
	CLEANUP_FREE char *path = NULL;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	for (unsigned i = 0; i < 100000; i++)
		fprintf(file, "%016lx t function_%u\n", 0xffffffff81000000 + (unsigned long)i * 32, i);
	fclose(file);
	struct symbolizer *symbolizer = open_with(text, size, &path);
	for (unsigned i = 0; i < 100000; i += 7) {
		char name[64];
		snprintf(name, sizeof name, "function_%u", i);
		check_at(symbolizer, 0xffffffff81000000 + (uint64_t)i * 32 + i % 32, name, "[kernel]", i % 32);
	}
	symbolizer_free(symbolizer);
	free(text);
	unlink(path);
}

TEST(hidden_addresses_give_one_warning)
{
	static const char text[] = "0000000000000000 T _text\n0000000000000000 T do_one\n";
	CLEANUP_FREE char *path = NULL;
	struct symbolizer *symbolizer = open_with(text, sizeof text - 1, &path);
	ck_assert_ptr_null(symbolizer_warning(symbolizer));
	check_at(symbolizer, 0xffffffff81000000, "[kernel]", "[kernel]", 0);
	check_at(symbolizer, 0, "[kernel]", "[kernel]", 0);
	ck_assert_ptr_nonnull(strstr(symbolizer_warning(symbolizer), "kernel.kptr_restrict"));
	ck_assert_ptr_null(strchr(symbolizer_warning(symbolizer), '\n'));
	symbolizer_free(symbolizer);
	unlink(path);
}

/* Texts that are not kallsyms: each ends with a warning that names the file, and no function. */
static const char *const bad_texts[] = {
	"",
	"\n",
	"ffffffff81000000",
	"ffffffff81000000 T\n",
	"ffffffff81000000 T \n",
	"zzz T name\n",
	"\xff\xfe\xfd",
	"ffffffff81000000\tT name\n",
	"ffffffff8100000000000000 T name\n",
};

TEST_LOOP(bad_texts_are_refused, 0, sizeof bad_texts / sizeof *bad_texts)
{
	CLEANUP_FREE char *path = NULL;
	struct symbolizer *symbolizer = open_with(bad_texts[_i], strlen(bad_texts[_i]), &path);
	check_at(symbolizer, 0xffffffff81000000, "[kernel]", "[kernel]", 0);
	ck_assert_ptr_nonnull(strstr(symbolizer_warning(symbolizer), path));
	symbolizer_free(symbolizer);
	unlink(path);
}

TEST(a_missing_file_gives_a_warning)
{
	struct symbolizer *symbolizer =
		symbolizer_new(&(struct symbolizer_options){ .kallsyms = "/nonexistent/kallsyms" });
	check_at(symbolizer, 0xffffffff81000000, "[kernel]", "[kernel]", 0);
	ck_assert_ptr_nonnull(strstr(symbolizer_warning(symbolizer), "No such file"));
	symbolizer_free(symbolizer);
}

int main(void)
{
	return run_all_tests(300, NULL, NULL);
}
