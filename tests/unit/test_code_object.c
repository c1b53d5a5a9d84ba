/* SPDX-License-Identifier: Apache-2.0 */
/* Code objects: every instruction of the fixtures against what independent tools say of it. */
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "device/zebin_fixture.h"
#include "symbolizer/device/code_place.h"
#include "symbolizer/device/device_address.h"

START_TEST(every_instruction_of_a_loaded_image_is_what_the_judges_say)
{
	struct code_object *object = zebin_open(zebin_fixtures[_i], ".loaded-debug.elf");
	expected_instruction_array all = zebin_instructions(zebin_fixtures[_i]);
	ck_assert(code_object_is_placed(object));
	for (size_t i = 0; i < all.count; i++) {
		struct code_location location;
		struct debug_frame frames[CODE_INLINE_DEPTH_MAX];
		size_t count = code_object_find(object, all.items[i].address, &location, frames, CODE_INLINE_DEPTH_MAX);
		zebin_check_location(&all.items[i], &location);
		zebin_check_frames(&all.items[i], frames, count);
	}
	ck_assert_uint_gt(all.count, 40);
	struct code_damage damage = code_object_damage(object), none = { 0 };
	ck_assert_mem_eq(&damage, &none, sizeof none);
	array_free(&all);
	code_object_release(object);
}
END_TEST

START_TEST(every_instruction_of_a_relocatable_image_is_what_the_judges_say)
{
	struct code_object *object = zebin_open(zebin_fixtures[_i], ".bin");
	CLEANUP_FREE char *loaded_path = zebin_path(zebin_fixtures[_i], ".loaded-debug.elf");
	expected_place_array loaded = zebin_sections(loaded_path);
	expected_instruction_array all = zebin_instructions(zebin_fixtures[_i]);
	ck_assert(!code_object_is_placed(object));
	for (size_t i = 0; i < all.count; i++) {
		struct code_location location;
		struct debug_frame frames[CODE_INLINE_DEPTH_MAX];
		uint64_t address = zebin_own_address(object, &loaded, all.items[i].address);
		size_t count = code_object_find(object, address, &location, frames, CODE_INLINE_DEPTH_MAX);
		zebin_check_location(&all.items[i], &location);
		zebin_check_frames(&all.items[i], frames, count);
	}
	struct code_damage damage = code_object_damage(object), none = { 0 };
	ck_assert_mem_eq(&damage, &none, sizeof none);
	array_free(&all);
	array_free(&loaded);
	code_object_release(object);
}
END_TEST

START_TEST(sections_are_where_the_runtime_put_them_from_one_base)
{
	struct code_object *object = zebin_open(zebin_fixtures[_i], ".bin");
	CLEANUP_FREE char *loaded_path = zebin_path(zebin_fixtures[_i], ".loaded-debug.elf");
	expected_place_array loaded = zebin_sections(loaded_path);
	/* What the runtimes of these products did; the readers of their loads know it. */
	uint64_t alignment = strncmp(zebin_fixtures[_i], "pvc", 3) == 0 ? 64 : 256;
	size_t count;
	const struct code_section *sections = code_object_sections(object, &count);
	ck_assert_uint_eq(count, loaded.count);
	for (size_t i = 0; i < count; i++) {
		ck_assert_str_eq(sections[i].name, loaded.items[i].name);
		ck_assert_uint_eq(code_object_section_place(object, i, loaded.items[0].address, alignment),
				  loaded.items[i].address);
	}
	array_free(&loaded);
	code_object_release(object);
}
END_TEST

/* Names and offsets without debug information: no file, no line. */
static void check_names_only(struct code_object *object, const char *fixture, const expected_place_array *loaded)
{
	expected_instruction_array all = zebin_instructions(fixture);
	for (size_t i = 0; i < all.count; i++) {
		struct code_location location;
		struct debug_frame frames[CODE_INLINE_DEPTH_MAX];
		uint64_t address =
			loaded ? zebin_own_address(object, loaded, all.items[i].address) : all.items[i].address;
		ck_assert_uint_eq(code_object_find(object, address, &location, frames, CODE_INLINE_DEPTH_MAX), 1);
		zebin_check_location(&all.items[i], &location);
		ck_assert_str_eq(frames[0].name, location.kernel->shown);
		ck_assert_ptr_null(frames[0].file);
		ck_assert_uint_eq(frames[0].line, 0);
	}
	array_free(&all);
}

START_TEST(an_image_without_debug_information_gives_names_and_offsets)
{
	/* Without -g the compiler sorts kernels in another way; each one's code is the same. */
	struct code_object *object = zebin_open(zebin_fixtures[_i], ".nodebug.bin");
	CLEANUP_FREE char *loaded_path = zebin_path(zebin_fixtures[_i], ".loaded-debug.elf");
	expected_place_array loaded = zebin_sections(loaded_path);
	check_names_only(object, zebin_fixtures[_i], &loaded);
	array_free(&loaded);
	code_object_release(object);
}
END_TEST

START_TEST(units_at_zero_are_never_taken_for_real)
{
	struct code_object *object = zebin_open("bmg/transformer", ".unnamed.loaded-debug.elf");
	check_names_only(object, "bmg/transformer", NULL);
	struct code_location location;
	struct debug_frame frames[4];
	for (uint64_t address = 0; address < 0x2000; address += 8)
		ck_assert_uint_eq(code_object_find(object, address, &location, frames, 4), 0);
	code_object_release(object);
}
END_TEST

/* A relocatable image with the same defect: symbols for its relocations have no names. */
START_TEST(relocations_that_name_nothing_place_nothing)
{
	size_t size;
	char *bytes = zebin_bytes("bmg/transformer", ".bin", &size);
	const Elf64_Shdr *table = zebin_section(bytes, ".symtab");
	Elf64_Sym *symbols = (Elf64_Sym *)(void *)(bytes + table->sh_offset);
	for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++)
		if (ELF64_ST_TYPE(symbols[i].st_info) == STT_OBJECT)
			symbols[i].st_name = 0;
	struct code_object *object;
	ck_assert_int_eq(code_object_open(&object, bytes, size, EM_NONE), 0);
	CLEANUP_FREE char *loaded_path = zebin_path("bmg/transformer", ".loaded-debug.elf");
	expected_place_array loaded = zebin_sections(loaded_path);
	check_names_only(object, "bmg/transformer", &loaded);
	CLEANUP_FREE char *path = zebin_path("bmg/transformer", ".bin");
	CLEANUP_FREE char *command = NULL;
	/* Those of .debug_info, .debug_frame and .debug_line that are for addresses. */
	ck_assert_int_gt(asprintf(&command, "readelf -rW '%s' | grep -cE '^[0-9a-f]{16} .*: 1 .*[+] [0-9a-f]+$'", path),
			 0);
	FILE *input = popen(command, "re");
	unsigned relocations = 0;
	ck_assert_int_eq(fscanf(input, "%u", &relocations), 1);
	pclose(input);
	ck_assert_uint_gt(relocations, 50);
	ck_assert_uint_eq(code_object_damage(object).relocations, relocations);
	array_free(&loaded);
	code_object_release(object);
}
END_TEST

START_TEST(functions_and_sections_are_what_readelf_says)
{
	struct code_object *object = zebin_open(zebin_fixtures[_i], ".loaded-debug.elf");
	CLEANUP_FREE char *path = zebin_path(zebin_fixtures[_i], ".loaded-debug.elf");
	expected_place_array wanted = zebin_functions(path);
	size_t count;
	const struct code_function *functions = code_object_functions(object, &count);
	ck_assert_uint_eq(count, wanted.count);
	for (size_t i = 0; i < count; i++) {
		const struct code_function *function = find_function(object, wanted.items[i].name);
		ck_assert_ptr_nonnull(function);
		ck_assert_uint_eq(function->address, wanted.items[i].address);
		ck_assert_uint_eq(function->size, wanted.items[i].size);
		ck_assert(i == 0 || functions[i - 1].address < functions[i].address);
	}
	array_free(&wanted);
	wanted = zebin_sections(path);
	const struct code_section *sections = code_object_sections(object, &count);
	ck_assert_uint_eq(count, wanted.count);
	struct code_location location;
	struct debug_frame frame;
	for (size_t i = 0; i < count; i++) {
		ck_assert_str_eq(sections[i].name, wanted.items[i].name);
		ck_assert_uint_eq(sections[i].address, wanted.items[i].address);
		ck_assert_uint_eq(sections[i].size, wanted.items[i].size);
		/* The padding belongs to nobody. */
		const struct code_function *kernel = &functions[sections[i].kernel];
		uint64_t end = kernel->address + kernel->size;
		ck_assert_uint_eq(code_object_find(object, end - 8, &location, &frame, 1), 1);
		ck_assert_uint_lt(kernel->size, sections[i].size);
		for (uint64_t address = end; address < sections[i].address + sections[i].size; address += 8)
			ck_assert_uint_eq(code_object_find(object, address, &location, &frame, 1), 0);
	}
	array_free(&wanted);
	code_object_release(object);
}
END_TEST

START_TEST(names_are_shown_as_programmers_write_them)
{
	struct code_object *object = zebin_open("pvc/transformer", ".nodebug.bin");
	ck_assert_str_eq(find_function(object, "_ZTS5scaleIfE")->shown, "scale<float>");
	ck_assert_str_eq(find_function(object, "add$residual")->shown, "add$residual");
	ck_assert_ptr_null(find_function(object, "_entry"));
	code_object_release(object);
}
END_TEST

/* "KERNEL KEY VALUE" for all plain values under execution_env, by awk. */
#define LIST_ATTRIBUTES                                                                                                \
	"readelf -p .ze_info '%s' | sed -E 's/^ *\\[ *[0-9a-f]+\\] *//; s/\\\\n$//' | tr -d \"\\'\" | awk '"           \
	"/kernels_misc_info:/ { exit } "                                                                               \
	"/^ *- name: / { kernel = $3; on = 0; next } "                                                                 \
	"/execution_env: *$/ { on = 1; next } "                                                                        \
	"on && /: *$/ { on = 0 } "                                                                                     \
	"on && $2 ~ /^(true|false|-?[0-9]+)$/ { sub(\":\", \"\", $1); print kernel, $1, $2 }'"

START_TEST(attributes_are_what_the_section_says)
{
	static const char *const suffixes[] = { ".bin", ".nodebug.bin", ".loaded-debug.elf" };
	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
		struct code_object *object = zebin_open(zebin_fixtures[_i], suffixes[i]);
		CLEANUP_FREE char *path = zebin_path(zebin_fixtures[_i], suffixes[i]);
		CLEANUP_FREE char *command = NULL;
		ck_assert_int_gt(asprintf(&command, LIST_ATTRIBUTES, path), 0);
		FILE *input = popen(command, "re");
		ck_assert_ptr_nonnull(input);
		char kernel[128], key[128], text[64];
		size_t seen = 0, simd_sizes = 0, all = 0, count;
		while (fscanf(input, "%127s %127s %63s", kernel, key, text) == 3) {
			const struct code_function *function = find_function(object, kernel);
			ck_assert_ptr_nonnull(function);
			int64_t value = INT64_MIN;
			ck_assert_msg(code_function_attribute(function, key, &value), "%s of %s", key, kernel);
			int64_t wanted = strcmp(text, "true") == 0 ? 1 : strtoll(text, NULL, 10);
			ck_assert_int_eq(value, wanted);
			simd_sizes += strcmp(key, "simd_size") == 0 && wanted >= 8;
			seen++;
		}
		ck_assert_int_eq(pclose(input), 0);
		const struct code_function *functions = code_object_functions(object, &count);
		for (size_t j = 0; j < count; j++)
			all += functions[j].attribute_count;
		ck_assert_uint_eq(seen, all);
		ck_assert_uint_eq(simd_sizes, count);
		code_object_release(object);
	}
}
END_TEST

START_TEST(the_innermost_frames_are_left_out_when_there_is_no_room)
{
	struct code_object *object = zebin_open("bmg/transformer", ".loaded-debug.elf");
	expected_instruction_array all = zebin_instructions("bmg/transformer");
	size_t deepest = 0;
	for (size_t i = 1; i < all.count; i++)
		if (all.items[i].frame_count > all.items[deepest].frame_count)
			deepest = i;
	const struct expected_instruction *wanted = &all.items[deepest];
	ck_assert_uint_ge(wanted->frame_count, 3);
	struct code_location location;
	struct debug_frame frames[2];
	ck_assert_uint_eq(code_object_find(object, wanted->address, &location, frames, 0), 0);
	ck_assert_uint_eq(code_object_find(object, wanted->address, &location, frames, 2), 2);
	ck_assert_str_eq(frames[0].name, wanted->frames[wanted->frame_count - 1].function);
	ck_assert_str_eq(frames[1].name, wanted->frames[wanted->frame_count - 2].function);
	ck_assert_uint_eq(frames[0].line, wanted->frames[wanted->frame_count - 1].line);
	array_free(&all);
	code_object_release(object);
}
END_TEST

START_TEST(identity_is_of_the_bytes)
{
	size_t size, other_size;
	CLEANUP_FREE char *bytes = zebin_bytes("bmg/transformer", ".bin", &size);
	CLEANUP_FREE char *same = zebin_bytes("bmg/transformer", ".bin", &size);
	CLEANUP_FREE char *other = zebin_bytes("lnl/transformer", ".bin", &other_size);
	struct code_identity a = code_identity_make(bytes, size), b = code_identity_make(same, size),
			     c = code_identity_make(other, other_size);
	ck_assert_mem_eq(&a, &b, sizeof a);
	ck_assert_mem_ne(&a, &c, sizeof a);
	bytes[size / 2] ^= 1;
	b = code_identity_make(bytes, size);
	ck_assert_mem_ne(&a, &b, sizeof a);
}
END_TEST

START_TEST(another_machine_is_refused)
{
	CLEANUP_FREE char *path = zebin_path("bmg/transformer", ".bin");
	struct code_object *object;
	ck_assert_int_eq(code_object_open_file(&object, path, 224), -ENOEXEC);
	ck_assert_ptr_null(object);
	ck_assert_int_eq(code_object_open_file(&object, "/nonexistent", EM_NONE), -ENOENT);
	ck_assert_int_eq(code_object_open_file(&object, "/dev/null", EM_NONE), -EINVAL);
	ck_assert_int_eq(code_object_open(&object, malloc(1), 0, EM_NONE), -ENOEXEC);
}
END_TEST

START_TEST(canonical_addresses_are_made_plain)
{
	ck_assert_uint_eq(device_address_plain(0xffff8000ffbe0000), 0x8000ffbe0000);
	ck_assert_uint_eq(device_address_plain(0x00008000ffbf0000), 0x8000ffbf0000);
	ck_assert_uint_eq(device_address_plain(0x7fffffffffff), 0x7fffffffffff);
	ck_assert_uint_eq(device_address_plain(0xff00800000001000), 0x100800000001000);
	ck_assert_uint_eq(device_address_plain(0x100800000001000), 0x100800000001000);
	ck_assert_uint_eq(device_address_plain(0), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("code_object");
	TCase *tests = tcase_create("code_object");
	tcase_set_timeout(tests, 300);
	tcase_add_loop_test(tests, every_instruction_of_a_loaded_image_is_what_the_judges_say, 0, zebin_fixture_count);
	tcase_add_loop_test(tests, every_instruction_of_a_relocatable_image_is_what_the_judges_say, 0,
			    zebin_fixture_count);
	tcase_add_loop_test(tests, sections_are_where_the_runtime_put_them_from_one_base, 0, zebin_fixture_count);
	tcase_add_loop_test(tests, an_image_without_debug_information_gives_names_and_offsets, 0, zebin_fixture_count);
	tcase_add_test(tests, units_at_zero_are_never_taken_for_real);
	tcase_add_test(tests, relocations_that_name_nothing_place_nothing);
	tcase_add_loop_test(tests, functions_and_sections_are_what_readelf_says, 0, zebin_fixture_count);
	tcase_add_test(tests, names_are_shown_as_programmers_write_them);
	tcase_add_loop_test(tests, attributes_are_what_the_section_says, 0, zebin_fixture_count);
	tcase_add_test(tests, the_innermost_frames_are_left_out_when_there_is_no_room);
	tcase_add_test(tests, identity_is_of_the_bytes);
	tcase_add_test(tests, another_machine_is_refused);
	tcase_add_test(tests, canonical_addresses_are_made_plain);
	suite_add_tcase(suite, tests);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
