/* SPDX-License-Identifier: Apache-2.0 */
/* Which functions of a module are watched: by patterns, among those that a Linux kernel can trace. */
#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "function_list.h"
#include "../run_suite.h"

static char traceable[] = "/tmp/iaprof-test-traceable-XXXXXX", symbols[] = "/tmp/iaprof-test-symbols-XXXXXX";
static FILE *traceable_file, *symbols_file;
static char failure[512];
static int warnings;

IAPROF_PRINTF(3, 4) static int keep_failure(const struct iaprof_host *host, int error, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(failure, sizeof failure, format, arguments);
	va_end(arguments);
	return -abs(error);
}

static void log_line(const struct iaprof_host *host, int level, const char *format, ...)
{
	warnings += level == IAPROF_LOG_WARNING;
}

static const struct iaprof_host host = { .size = sizeof host, .fail = keep_failure, .log = log_line };

static FILE *make(char *path)
{
	strcpy(path + strlen(path) - 6, "XXXXXX");
	int descriptor = mkstemp(path);
	ck_assert_int_ge(descriptor, 0);
	return fdopen(descriptor, "w");
}

static void set_up(void)
{
	traceable_file = make(traceable);
	symbols_file = make(symbols);
	failure[0] = '\0';
	warnings = 0;
}

static void tear_down(void)
{
	unlink(traceable);
	unlink(symbols);
}

/* A function that can be traced, with its symbol. */
static void put(const char *name, const char *module, unsigned long address)
{
	fprintf(traceable_file, "%s [%s]\n", name, module);
	fprintf(symbols_file, "%016lx t %s\t[%s]\n", address, name, module);
}

static int read_list(struct function_list *list, const char *patterns, bool (*is_left_out)(const char *))
{
	fclose(traceable_file);
	fclose(symbols_file);
	return function_list_read(list, &host,
				  &(struct function_list_wanted){ .module = "intel_vpu",
								  .patterns = patterns,
								  .is_left_out = is_left_out,
								  .traceable_file = traceable,
								  .symbols_file = symbols });
}

static bool is_hot(const char *name)
{
	return !strcmp(name, "ivpu_map_page");
}

TEST(patterns_choose_of_one_module)
{
	struct function_list list;
	put("ivpu_open", "intel_vpu", 0x1000);
	put("ivpu_boot", "intel_vpu", 0x2000);
	put("ivpu_map_page", "intel_vpu", 0x3000);
	put("file_priv_unbind", "intel_vpu", 0x4000);
	put("ivpu_open", "another", 0x5000);
	fputs("schedule\n", traceable_file);
	fputs("ffffffff81000000 T schedule\n", symbols_file);
	ck_assert_int_eq(read_list(&list, "ivpu_[bo]*,file_*", is_hot), 0);
	ck_assert_uint_eq(list.count, 3);
	ck_assert_uint_eq(list.traceable, 4);
	ck_assert(function_list_find(&list, "ivpu_open") && function_list_find(&list, "ivpu_boot") &&
		  function_list_find(&list, "file_priv_unbind"));
	ck_assert(!function_list_find(&list, "ivpu_map_page") && !function_list_find(&list, "ivpu_"));
	ck_assert_uint_eq(list.functions[1].address, 0x2000);
	ck_assert_int_eq(warnings, 0);
	function_list_free(&list);
}

TEST(what_is_left_out_is_counted)
{
	struct function_list list;
	put("ivpu_open", "intel_vpu", 0x1000);
	put("ivpu_map_page", "intel_vpu", 0x3000);
	ck_assert_int_eq(read_list(&list, "*", is_hot), 0);
	ck_assert_uint_eq(list.count, 1);
	ck_assert_uint_eq(list.left_out, 1);
	function_list_free(&list);
}

TEST(only_what_is_left_out_is_marked)
{
	struct function_list list;
	put("ivpu_map_page", "intel_vpu", 0x3000);
	ck_assert_int_lt(read_list(&list, "ivpu_map*", is_hot), 0);
	ck_assert_ptr_nonnull(strstr(failure, "hot=yes"));
}

TEST(nothing_that_matches_is_one_line)
{
	struct function_list list;
	put("ivpu_open", "intel_vpu", 0x1000);
	ck_assert_int_lt(read_list(&list, "xe_*", NULL), 0);
	ck_assert_ptr_nonnull(strstr(failure, "none of the 1 traceable functions of module intel_vpu"));
	ck_assert_ptr_null(strchr(failure, '\n'));
}

/* A symbol that cannot be traced, parts of functions, and two functions of one name of which one can. */
TEST(what_cannot_be_traced_is_left_out)
{
	struct function_list list;
	put("ivpu_open", "intel_vpu", 0x1000);
	fprintf(symbols_file, "%016x t ivpu_notrace\t[intel_vpu]\n", 0x1100);
	put("ivpu_open.cold", "intel_vpu", 0x1200);
	put("__pfx_ivpu_open", "intel_vpu", 0x1300);
	fputs("ivpu_twin [intel_vpu]\n", traceable_file);
	fprintf(symbols_file, "%016x t ivpu_twin\t[intel_vpu]\n%016x t ivpu_twin\t[intel_vpu]\n", 0x2000, 0x3000);
	fprintf(symbols_file, "%016x d ivpu_open\t[intel_vpu]\n", 0x4000);
	ck_assert_int_eq(read_list(&list, "*", NULL), 0);
	ck_assert_uint_eq(list.count, 1);
	ck_assert_uint_eq(list.ambiguous, 2);
	function_list_free(&list);
}

TEST(without_tracefs_symbols_have_to_do)
{
	struct function_list list;
	put("ivpu_open", "intel_vpu", 0x1000);
	unlink(traceable);
	ck_assert_int_eq(read_list(&list, "*", NULL), 0);
	ck_assert(list.only_symbols);
	ck_assert_uint_eq(list.count, 1);
	ck_assert_int_eq(warnings, 1);
	function_list_free(&list);
}

TEST(hidden_addresses_are_refused)
{
	struct function_list list;
	put("ivpu_open", "intel_vpu", 0);
	put("ivpu_boot", "intel_vpu", 0);
	ck_assert_int_lt(read_list(&list, "*", NULL), 0);
	ck_assert_ptr_nonnull(strstr(failure, "kptr_restrict"));
}

TEST(a_list_of_100000_is_cut_and_counted)
{
	struct function_list list;
	char name[32];
	for (unsigned long i = 0; i < 100000; i++) {
		snprintf(name, sizeof name, "ivpu_%lu", i);
		put(name, "intel_vpu", 0x1000 + 16 * i);
	}
	ck_assert_int_eq(read_list(&list, "ivpu_*", NULL), 0);
	ck_assert_uint_eq(list.count, FUNCTION_LIST_MAX);
	ck_assert_uint_eq(list.no_room, 100000 - FUNCTION_LIST_MAX);
	ck_assert_uint_eq(list.traceable, 100000);
	function_list_free(&list);
}

TEST(damaged_lines_do_no_harm)
{
	struct function_list list;
	char *long_name = malloc(100001);
	memset(long_name, 'i', 100000);
	long_name[100000] = '\0';
	put(long_name, "intel_vpu", 0x1000);
	put("ivpu_open", long_name, 0x2000);
	free(long_name);
	fputs("[intel_vpu]\n\n [\nivpu_x [intel_vpu", traceable_file);
	fputs("\nzzz t ivpu_y [intel_vpu]\n", symbols_file);
	fputc('\0', symbols_file);
	fputs("\n", symbols_file);
	fputs("\n", traceable_file);
	put("ivpu_boot", "intel_vpu", 0x3000);
	ck_assert_int_eq(read_list(&list, "ivpu_*", NULL), 0);
	ck_assert_uint_eq(list.count, 1);
	ck_assert_str_eq(list.functions[0].name, "ivpu_boot");
	function_list_free(&list);
}

int main(void)
{
	return run_all_tests(0, set_up, tear_down);
}
