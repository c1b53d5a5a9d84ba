/* SPDX-License-Identifier: Apache-2.0 */
/* Damaged images of device code: what is damaged is refused or cut and counted, and the rest stays as it was. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "base/sanitizer.h"
#include "device/zebin_fixture.h"
#include "symbolizer/device/code_place.h"
#include "../run_suite.h"

static struct code_object *open_bytes(char *bytes, size_t size)
{
	struct code_object *object;
	ck_assert_int_eq(code_object_open(&object, bytes, size, EM_NONE, zebin_decoder()), 0);
	return object;
}

/* Asks for everything that can be asked. Returns how many addresses got a line. */
static size_t use(struct code_object *object)
{
	size_t count, with_line = 0;
	const struct code_function *functions = code_object_functions(object, &count);
	for (size_t i = 0; i < count && i < 64; i++) {
		struct code_location location;
		struct debug_frame frames[CODE_INLINE_DEPTH_MAX];
		int64_t value;
		ck_assert_ptr_nonnull(functions[i].shown);
		ck_assert_uint_gt(functions[i].size, 0);
		code_function_attribute(&functions[i], "simd_size", &value);
		for (uint64_t at = 0; at < 64 && at < functions[i].size / 8; at++) {
			uint64_t address = functions[i].address + functions[i].size / 64 * at;
			size_t depth = code_object_find(object, address, &location, frames, CODE_INLINE_DEPTH_MAX);
			ck_assert_uint_ge(depth, 1);
			for (size_t j = 0; j < depth; j++)
				ck_assert(!frames[j].name || strlen(frames[j].name) < 100000);
			with_line += frames[depth - 1].line != 0;
		}
	}
	code_object_damage(object);
	return with_line;
}

/* fuzz_zebin and fuzz_elf look at many more damaged images. A sanitizer multiplies the time of each. */
#define ROUNDS 250u
#define CUT (HAS_SANITIZER ? 256u : 64u)

static const char *const images[][2] = { { "bmg/transformer", ".bin" },
					 { "bmg/transformer", ".loaded-debug.elf" },
					 { "pvc/systolic", ".bin" },
					 { "pvc/systolic", ".loaded-debug.elf" },
					 { "bmg/systolic", ".nodebug.bin" } };
#define IMAGE_COUNT ((int)(sizeof images / sizeof *images))

TEST_LOOP(no_truncation_does_harm, 0, IMAGE_COUNT)
{
	size_t size, opened = 0;
	CLEANUP_FREE char *bytes = zebin_bytes(images[_i][0], images[_i][1], &size);
	for (size_t length = 0; length <= size; length += length < size && size - length < CUT ? size - length : CUT) {
		char *cut = malloc(length + 1);
		ck_assert_ptr_nonnull(cut);
		memcpy(cut, bytes, length);
		struct code_object *object;
		if (code_object_open(&object, cut, length, EM_NONE, zebin_decoder()))
			continue;
		size_t with_line = use(object);
		/* Names of sections and functions come last in these files: without a few of them the rest is there. */
		ck_assert(length > size * 9 / 10);
		ck_assert(length < size || (with_line > 0) == (strcmp(images[_i][1], ".nodebug.bin") != 0));
		code_object_release(object);
		opened++;
	}
	ck_assert_uint_ge(opened, 1);
}

TEST_LOOP(no_changed_bytes_do_harm, 0, IMAGE_COUNT)
{
	size_t size, opened = 0;
	CLEANUP_FREE char *bytes = zebin_bytes(images[_i][0], images[_i][1], &size);
	uint64_t random = 88172645463325252u + (uint64_t)_i;
	for (size_t round = 0; round < ROUNDS; round++) {
		char *changed = malloc(size);
		ck_assert_ptr_nonnull(changed);
		memcpy(changed, bytes, size);
		for (size_t i = 0; i <= round % 16; i++) {
			random ^= random << 13, random ^= random >> 7, random ^= random << 17; /* xorshift64 */
			changed[(random >> 8) % size] = (char)random;
		}
		struct code_object *object;
		if (code_object_open(&object, changed, size, EM_NONE, zebin_decoder()))
			continue;
		use(object);
		code_object_release(object);
		opened++;
	}
	ck_assert_uint_gt(opened, ROUNDS / 2);
}

/* Headers of sections and symbols are few bytes of many: changes to them alone. */
TEST_LOOP(no_changed_tables_do_harm, 0, IMAGE_COUNT)
{
	size_t size;
	CLEANUP_FREE char *bytes = zebin_bytes(images[_i][0], images[_i][1], &size);
	uint64_t random = 2463534242u + (uint64_t)_i;
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)bytes;
	for (size_t round = 0; round < ROUNDS; round++) {
		char *changed = malloc(size);
		ck_assert_ptr_nonnull(changed);
		memcpy(changed, bytes, size);
		for (size_t i = 0; i <= round % 8; i++) {
			const Elf64_Shdr *table = zebin_section(bytes, round & 8 ? ".symtab" : ".ze_info");
			uint64_t start = round & 16 ? table->sh_offset : header->e_shoff;
			uint64_t length = round & 16 ? table->sh_size : header->e_shnum * (uint64_t)sizeof(Elf64_Shdr);
			random ^= random << 13, random ^= random >> 7, random ^= random << 17;
			uint64_t where = start + (random >> 16) % length;
			changed[where] = random & 0x100 ? (char)random : random & 0x200 ? (char)0xff : '\0';
		}
		struct code_object *object;
		if (code_object_open(&object, changed, size, EM_NONE, zebin_decoder()))
			continue;
		use(object);
		code_object_release(object);
	}
}

/* Whether all functions but one are as in the sound image, with lines. */
static void check_others(struct code_object *object, const char *damaged, bool lines)
{
	struct code_object *sound = zebin_open("bmg/transformer", ".loaded-debug.elf");
	size_t count;
	const struct code_function *functions = code_object_functions(sound, &count);
	for (size_t i = 0; i < count; i++) {
		if (strcmp(functions[i].name, damaged) == 0)
			continue;
		const struct code_function *same = find_function(object, functions[i].name);
		ck_assert_ptr_nonnull(same);
		ck_assert_uint_eq(same->address, functions[i].address);
		ck_assert_uint_eq(same->size, functions[i].size);
		struct code_location wanted, location;
		struct debug_frame wanted_frames[8], frames[8];
		for (uint64_t offset = 0; offset < same->size; offset += 8) {
			size_t wanted_count =
				code_object_find(sound, same->address + offset, &wanted, wanted_frames, 8);
			size_t found = code_object_find(object, same->address + offset, &location, frames, 8);
			ck_assert_uint_eq(location.offset, offset);
			ck_assert_uint_eq(found, lines ? wanted_count : 1);
			if (lines)
				ck_assert_uint_eq(frames[found - 1].line, wanted_frames[found - 1].line);
			else
				ck_assert_uint_eq(frames[0].line, 0);
		}
	}
	code_object_release(sound);
}

TEST(sizes_that_are_too_large_end_with_the_section)
{
	static const uint64_t sizes[] = { (uint64_t)1 << 63, UINT64_MAX, 0x781 };
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		size_t size;
		char *bytes = zebin_bytes("bmg/transformer", ".loaded-debug.elf", &size);
		zebin_symbol(bytes, "matmul_tile")->st_size = sizes[i];
		struct code_object *object = open_bytes(bytes, size);
		ck_assert_uint_eq(find_function(object, "matmul_tile")->size, 0x780);
		ck_assert_uint_eq(code_object_damage(object).clamped, 1);
		check_others(object, "matmul_tile", true);
		code_object_release(object);
	}
}

TEST(a_size_of_zero_reaches_to_the_next_or_the_end)
{
	size_t size;
	char *bytes = zebin_bytes("bmg/transformer", ".loaded-debug.elf", &size);
	zebin_symbol(bytes, "tiny")->st_size = 0;
	struct code_object *object = open_bytes(bytes, size);
	ck_assert_uint_eq(find_function(object, "tiny")->size, 0x140);
	ck_assert_uint_eq(code_object_damage(object).clamped, 1);
	check_others(object, "tiny", true);
	code_object_release(object);
}

TEST(symbols_outside_of_their_section_are_refused)
{
	static const uint64_t values[] = { 0, 0xffff8000ffbe0780, 0xffff8000ffbdffff, UINT64_MAX };
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		size_t size;
		char *bytes = zebin_bytes("bmg/transformer", ".loaded-debug.elf", &size);
		zebin_symbol(bytes, "matmul_tile")->st_value = values[i];
		struct code_object *object = open_bytes(bytes, size);
		ck_assert_uint_eq(code_object_damage(object).symbols, 1);
		/* The section's name still identifies its kernel. */
		const struct code_function *function = find_function(object, "matmul_tile");
		ck_assert_uint_eq(function->address, 0xffff8000ffbe0000);
		ck_assert_uint_eq(function->size, 0x780);
		check_others(object, "matmul_tile", true);
		code_object_release(object);
	}
}

TEST(of_symbols_for_one_place_the_section_s_kernel_is_kept)
{
	size_t size;
	char *bytes = zebin_bytes("bmg/transformer", ".loaded-debug.elf", &size);
	/* "tiny" gets the place of "histogram", with another size. */
	Elf64_Sym *moved = zebin_symbol(bytes, "tiny");
	moved->st_value = zebin_symbol(bytes, "histogram")->st_value;
	moved->st_shndx = zebin_symbol(bytes, "histogram")->st_shndx;
	moved->st_size = 0x740;
	struct code_object *object = open_bytes(bytes, size);
	ck_assert_uint_eq(code_object_damage(object).symbols, 1);
	check_others(object, "tiny", true);
	code_object_release(object);
}

TEST(functions_in_a_kernel_s_section_are_distinguished)
{
	size_t size;
	char *bytes = zebin_bytes("bmg/transformer", ".nodebug.bin", &size);
	/* "tiny" becomes a function behind "rotate_spill", which becomes shorter; "histogram" one inside of it. */
	Elf64_Sym *kernel = zebin_symbol(bytes, "rotate_spill");
	Elf64_Sym *behind = zebin_symbol(bytes, "tiny"), *inside = zebin_symbol(bytes, "histogram");
	kernel->st_size = 0x1000;
	*behind = (Elf64_Sym){ behind->st_name, kernel->st_info, 0, kernel->st_shndx, 0x1000, 0x40 };
	*inside = (Elf64_Sym){ inside->st_name, kernel->st_info, 0, kernel->st_shndx, 0x100, 0x80 };
	struct code_object *object = open_bytes(bytes, size);
	const struct code_function *found = find_function(object, "rotate_spill");
	uint64_t start = found->address;
	static const struct {
		uint64_t offset;
		const char *name;
	} wanted[] = { { 0, "rotate_spill" },  { 0xff, "rotate_spill" },  { 0x100, "histogram" },
		       { 0x17f, "histogram" }, { 0x180, "rotate_spill" }, { 0xfff, "rotate_spill" },
		       { 0x1000, "tiny" },     { 0x103f, "tiny" },        { 0x1040, NULL } };
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		struct code_location location;
		struct debug_frame frames[3];
		size_t count = code_object_find(object, start + wanted[i].offset, &location, frames, 3);
		if (!wanted[i].name) {
			ck_assert_uint_eq(count, 0);
			continue;
		}
		ck_assert_uint_eq(count, 1 + (strcmp(wanted[i].name, "rotate_spill") != 0));
		ck_assert_str_eq(frames[0].name, "rotate_spill");
		ck_assert_str_eq(frames[count - 1].name, wanted[i].name);
		ck_assert_str_eq(location.function->name, wanted[i].name);
		ck_assert_str_eq(location.kernel->name, "rotate_spill");
		ck_assert_uint_eq(location.offset, wanted[i].offset);
	}
	code_object_release(object);
}

TEST(a_function_that_reaches_into_the_next_ends_there)
{
	size_t size;
	char *bytes = zebin_bytes("bmg/transformer", ".nodebug.bin", &size);
	Elf64_Sym *kernel = zebin_symbol(bytes, "rotate_spill"), *crossing = zebin_symbol(bytes, "tiny");
	kernel->st_size = 0x900;
	*crossing = (Elf64_Sym){ crossing->st_name, kernel->st_info, 0, kernel->st_shndx, 0x800, 0x400 };
	struct code_object *object = open_bytes(bytes, size);
	ck_assert_uint_eq(find_function(object, "rotate_spill")->size, 0x800);
	/* And the section of "tiny", which has no symbol now, ends where it ends. */
	ck_assert_uint_eq(code_object_damage(object).clamped, 2);
	code_object_release(object);
}

TEST(sections_outside_of_the_file_are_refused)
{
	static const uint64_t offsets[] = { UINT64_MAX, (uint64_t)1 << 40, UINT64_MAX - 0x700 };
	for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
		size_t size;
		char *bytes = zebin_bytes("bmg/transformer", ".loaded-debug.elf", &size);
		zebin_section(bytes, ".text.matmul_tile")->sh_offset = offsets[i];
		struct code_object *object = open_bytes(bytes, size);
		ck_assert_uint_eq(code_object_damage(object).sections, 1);
		ck_assert_ptr_null(find_function(object, "matmul_tile"));
		check_others(object, "matmul_tile", true);
		code_object_release(object);
	}
}

TEST(sections_that_overlap_are_refused)
{
	size_t size;
	char *bytes = zebin_bytes("bmg/transformer", ".loaded-debug.elf", &size);
	/* Into "matmul_tile", which is in front of it. */
	zebin_section(bytes, ".text.histogram")->sh_addr -= 0x100;
	struct code_object *object = open_bytes(bytes, size);
	ck_assert_uint_eq(code_object_damage(object).sections, 1);
	ck_assert_ptr_null(find_function(object, "histogram"));
	check_others(object, "histogram", true);
	code_object_release(object);
}

/* Fills a section with a byte. */
static struct code_object *open_with_filled(const char *name, int byte)
{
	size_t size;
	char *bytes = zebin_bytes("bmg/transformer", ".loaded-debug.elf", &size);
	const Elf64_Shdr *section = zebin_section(bytes, name);
	memset(bytes + section->sh_offset, byte, section->sh_size);
	return open_bytes(bytes, size);
}

TEST(damaged_attributes_leave_names_and_lines)
{
	struct code_object *object = open_with_filled(".ze_info", '[');
	check_others(object, "", true);
	ck_assert_uint_eq(code_object_damage(object).parts, 1);
	ck_assert_uint_eq(find_function(object, "tiny")->attribute_count, 0);
	code_object_release(object);
}

TEST(damaged_debug_information_leaves_names_and_attributes)
{
	struct code_object *object = open_with_filled(".debug_info", 0xff);
	check_others(object, "", false);
	ck_assert_uint_gt(find_function(object, "tiny")->attribute_count, 0);
	code_object_release(object);
	object = open_with_filled(".debug_abbrev", 0xff);
	check_others(object, "", false);
	code_object_release(object);
}

TEST(damaged_symbols_leave_what_section_names_say)
{
	struct code_object *object = open_with_filled(".symtab", 0);
	size_t count;
	code_object_functions(object, &count);
	ck_assert_uint_eq(count, 8);
	ck_assert_uint_eq(code_object_damage(object).clamped, 8);
	ck_assert_uint_gt(use(object), 100);
	ck_assert_uint_gt(find_function(object, "tiny")->attribute_count, 0);
	code_object_release(object);
}

int main(void)
{
	return run_all_tests(300, NULL, NULL);
}
