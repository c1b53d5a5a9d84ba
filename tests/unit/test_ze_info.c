/* SPDX-License-Identifier: Apache-2.0 */
/* Reading .ze_info: what compilers write, and texts that are meant to do harm. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "decoder-intel-gt/ze_info.h"
#include "decoder-intel-gt/zebin.h"
#include "../run_suite.h"

static struct string_table strings;

static struct ze_info read_text(const char *text, size_t size, int wanted)
{
	struct ze_info info = { 0 };
	ck_assert_int_eq(ze_info_read(&info, text, size, &strings), wanted);
	return info;
}

static void check_value(const struct ze_info *info, size_t entry, const char *name, int64_t wanted)
{
	const struct ze_info_entry *of = &info->entries.items[entry];
	for (size_t i = of->first; i < of->first + of->count; i++)
		if (strcmp(info->attributes.items[i].name, name) == 0) {
			ck_assert_int_eq(info->attributes.items[i].value, wanted);
			return;
		}
	ck_abort_msg("%s has no %s", of->name, name);
}

/* c++filt 2.40 writes the names on the right for the symbols, LLVM 19 those on the left. */
TEST(a_sycl_kernel_has_one_name)
{
	static const struct {
		const char *name, *shown;
	} cases[] = {
		{ "typeinfo name for scale<float>", "scale<float>" },
		{ "typeinfo name for foo<bar<baz<int>>>", "foo<bar<baz<int> > >" },
		{ "typeinfo name for foo<bar<baz<int> > >", "foo<bar<baz<int> > >" },
		{ "typeinfo name for A<B<&C::operator>>>>", "A<B<&C::operator>> > >" },
		{ "typeinfo name for A<B<&C::operator>> > >", "A<B<&C::operator>> > >" },
		{ "typeinfo name for A<B<&C::operator->>>", "A<B<&C::operator-> > >" },
		{ "typeinfo name for A<(1 >> 2)>", "A<(1 >> 2)>" },
		{ "typeinfo name for >>", "> >" },
		{ "foo<bar<int>>", "" },
		{ "typeinfo name for ", "" },
	};
	char text[64];

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		size_t length = strlen(cases[i].shown);
		ck_assert_uint_eq(zebin_display_name(cases[i].name, text, sizeof text), length);
		if (length)
			ck_assert_str_eq(text, cases[i].shown);
		/* No room for the last byte. */
		ck_assert_uint_eq(zebin_display_name(cases[i].name, text, length), 0);
	}
}

TEST(numbers_of_kernels_and_functions_are_read)
{
	static const char text[] =
		"---\nversion: '1.73'\nkernels:\n"
		"  - name: one\n    payload_arguments:\n      - arg_type: local_size\n        offset: 0\n"
		"    execution_env: {simd_size: 16, has_dpas: true, has_barrier: false, slm_size: 0x40,\n"
		"      work_group_walk_order_dimensions: [ 0, 1, 2 ], thread_scheduling_mode: oldest_first}\n"
		"  - execution_env:\n      spill_size: -1\n      grf_count: '256'\n    name: 'a b'\n"
		"functions:\n  - name: called\n    execution_env:\n      simd_size: 32\n"
		"kernels_misc_info:\n  - name: one\n    args_info: []\n...\n";
	struct ze_info info = read_text(text, strlen(text), 0);
	ck_assert_uint_eq(info.entries.count, 3);
	ck_assert_str_eq(info.entries.items[0].name, "one");
	ck_assert_str_eq(info.entries.items[1].name, "a b");
	ck_assert_str_eq(info.entries.items[2].name, "called");
	ck_assert(!info.entries.items[1].is_function);
	ck_assert(info.entries.items[2].is_function);
	ck_assert_uint_eq(info.entries.items[0].count, 4);
	check_value(&info, 0, "simd_size", 16);
	check_value(&info, 0, "has_dpas", 1);
	check_value(&info, 0, "has_barrier", 0);
	check_value(&info, 0, "slm_size", 64);
	ck_assert_uint_eq(info.entries.items[1].count, 2);
	check_value(&info, 1, "spill_size", -1);
	check_value(&info, 1, "grf_count", 256);
	check_value(&info, 2, "simd_size", 32);
	ck_assert_uint_eq(info.refused, 0);
	ze_info_free(&info);
	/* Some producers fill the section up. */
	info = read_text(text, sizeof text, 0);
	ck_assert_uint_eq(info.entries.count, 3);
	ze_info_free(&info);
}

TEST(what_makes_no_sense_is_refused_alone)
{
	static const char text[] =
		"kernels:\n  - 7\n  - name: [ x ]\n  - execution_env: { simd_size: 8 }\n"
		"  - name: good\n    execution_env: { simd_size: 16, simd_size: 32, grf_count: 12x,\n"
		"      slm_size: 99999999999999999999, ? [ key ] : 1, spill_size: 3 }\n"
		"  - name: none\n    execution_env: 4\n";
	struct ze_info info = read_text(text, strlen(text), 0);
	ck_assert_uint_eq(info.entries.count, 2);
	check_value(&info, 0, "simd_size", 16);
	check_value(&info, 0, "spill_size", 3);
	ck_assert_uint_eq(info.entries.items[0].count, 2);
	ck_assert_uint_eq(info.entries.items[1].count, 0);
	/* Three entries without a name, a key twice, a key that is no text, two numbers that are none. */
	ck_assert_uint_eq(info.refused, 7);
	ze_info_free(&info);
}

TEST(what_was_good_before_damage_is_kept)
{
	static const char text[] =
		"kernels:\n  - name: good\n    execution_env: { simd_size: 16 }\n  - name: cut\n   \tx: [";
	struct ze_info info = read_text(text, strlen(text), -EINVAL);
	ck_assert_uint_ge(info.entries.count, 1);
	check_value(&info, 0, "simd_size", 16);
	ze_info_free(&info);
	info = read_text("", 0, -EINVAL);
	ze_info_free(&info);
	info = read_text("- a list", 8, -EINVAL);
	ze_info_free(&info);
	info = read_text("\xff\xfe\0\xd8", 4, -EINVAL);
	ze_info_free(&info);
}

TEST(aliases_are_refused)
{
	/* Ten times ten times ten ... */
	static const char text[] = "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
				   "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nkernels: *c\n";
	struct ze_info info = read_text(text, strlen(text), -EINVAL);
	ck_assert_uint_eq(info.entries.count, 0);
	ze_info_free(&info);
	static const char merged[] = "kernels:\n - &k { name: one }\n - *k\n";
	info = read_text(merged, strlen(merged), -EINVAL);
	ck_assert_uint_eq(info.entries.count, 1);
	ze_info_free(&info);
}

/* A text with a part repeated. */
static char *repeated(const char *before, const char *part, size_t count, const char *after)
{
	size_t length = strlen(part);
	char *text = malloc(strlen(before) + length * count + strlen(after) + 1), *end = text;
	ck_assert_ptr_nonnull(text);
	end = stpcpy(end, before);
	for (size_t i = 0; i < count; i++)
		end = stpcpy(end, part);
	strcpy(end, after);
	return text;
}

TEST(depth_size_and_number_are_bounded)
{
	CLEANUP_FREE char *shallow = repeated("x: ", "[", 20, "]]]]]]]]]]]]]]]]]]]]\nkernels: []\n");
	struct ze_info info = read_text(shallow, strlen(shallow), 0);
	ze_info_free(&info);
	CLEANUP_FREE char *deep = repeated("x: ", "[", 40, "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\nkernels: []\n");
	info = read_text(deep, strlen(deep), -EINVAL);
	ze_info_free(&info);
	CLEANUP_FREE char *deeper = repeated("x: ", "[", 100000, "");
	info = read_text(deeper, strlen(deeper), -EINVAL);
	ze_info_free(&info);
	info = read_text(shallow, (size_t)65 << 20, -EINVAL);
	ze_info_free(&info);
	char *attributes = repeated("kernels:\n  - name: one\n    execution_env:\n", "", 0, "");
	for (int i = 0; i < IAPROF_ATTRIBUTE_COUNT_MAX + 5; i++) {
		char *longer;
		ck_assert_int_gt(asprintf(&longer, "%s      key%d: %d\n", attributes, i, i), 0);
		free(attributes);
		attributes = longer;
	}
	info = read_text(attributes, strlen(attributes), 0);
	ck_assert_uint_eq(info.entries.items[0].count, IAPROF_ATTRIBUTE_COUNT_MAX);
	ck_assert_uint_eq(info.refused, 5);
	ze_info_free(&info);
	free(attributes);
}

static void free_strings(void)
{
	string_table_free(&strings);
}

int main(void)
{
	return run_all_tests(0, NULL, free_strings);
}
