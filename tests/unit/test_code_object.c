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
#include "../run_suite.h"

/* Compares every instruction with what the judges say. */
static void check_everything(struct code_object *object, const char *fixture, const expected_place_array *loaded)
{
	expected_instruction_array all = zebin_instructions(fixture);
	ck_assert_uint_gt(all.count, 40);
	for (size_t i = 0; i < all.count; i++) {
		struct code_location location;
		struct debug_frame frames[CODE_INLINE_DEPTH_MAX];
		uint64_t address =
			loaded ? zebin_own_address(object, loaded, all.items[i].address) : all.items[i].address;
		size_t count = code_object_find(object, address, &location, frames, CODE_INLINE_DEPTH_MAX);
		zebin_check_location(&all.items[i], &location);
		zebin_check_frames(&all.items[i], frames, count);
	}
	array_free(&all);
}

TEST_LOOP(every_instruction_of_a_loaded_image_is_what_the_judges_say, 0, zebin_fixture_count)
{
	struct code_object *object = zebin_open(zebin_fixtures[_i], ".loaded-debug.elf");
	uint64_t base;
	ck_assert_uint_eq(code_object_addresses(object, &base), IAPROF_IMAGE_ADDRESSES_DEVICE);
	check_everything(object, zebin_fixtures[_i], NULL);
	struct code_damage damage = code_object_damage(object), none = { 0 };
	ck_assert_mem_eq(&damage, &none, sizeof none);
	code_object_release(object);
}

TEST_LOOP(every_instruction_of_a_relocatable_image_is_what_the_judges_say, 0, zebin_fixture_count)
{
	struct code_object *object = zebin_open(zebin_fixtures[_i], ".bin");
	CLEANUP_FREE char *loaded_path = zebin_path(zebin_fixtures[_i], ".loaded-debug.elf");
	expected_place_array loaded = zebin_sections(loaded_path);
	uint64_t base;
	ck_assert_uint_eq(code_object_addresses(object, &base), IAPROF_IMAGE_ADDRESSES_NONE);
	check_everything(object, zebin_fixtures[_i], &loaded);
	struct code_damage damage = code_object_damage(object), none = { 0 };
	ck_assert_mem_eq(&damage, &none, sizeof none);
	array_free(&loaded);
	code_object_release(object);
}

/* Returns where a section is if all are loaded in order from base on, each at a multiple of alignment. */
static uint64_t section_place(const struct code_section *sections, size_t section, uint64_t base, uint64_t alignment)
{
	for (size_t i = 0; i < section; i++)
		base += (sections[i].size + alignment - 1) / alignment * alignment;
	return base;
}

TEST_LOOP(sections_are_where_the_runtime_put_them_from_one_base, 0, zebin_fixture_count)
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
		ck_assert_uint_eq(section_place(sections, i, loaded.items[0].address, alignment),
				  loaded.items[i].address);
	}
	array_free(&loaded);
	code_object_release(object);
}

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

TEST_LOOP(an_image_without_debug_information_gives_names_and_offsets, 0, zebin_fixture_count)
{
	/* Without -g the compiler sorts kernels in another way; each one's code is the same. */
	struct code_object *object = zebin_open(zebin_fixtures[_i], ".nodebug.bin");
	CLEANUP_FREE char *loaded_path = zebin_path(zebin_fixtures[_i], ".loaded-debug.elf");
	expected_place_array loaded = zebin_sections(loaded_path);
	check_names_only(object, zebin_fixtures[_i], &loaded);
	array_free(&loaded);
	code_object_release(object);
}

TEST(units_at_zero_get_the_place_of_their_kernel)
{
	struct code_object *object = zebin_open("bmg/transformer", ".unnamed.loaded-debug.elf");
	check_everything(object, "bmg/transformer", NULL);
	ck_assert_uint_eq(code_object_damage(object).units, 0);
	struct code_location location;
	struct debug_frame frames[4];
	for (uint64_t address = 0; address < 0x2000; address += 8)
		ck_assert_uint_eq(code_object_find(object, address, &location, frames, 4), 0);
	code_object_release(object);
}

/* A relocatable image with the compiler's defect: symbols for the relocations of its debug information have no names.
 */
static char *unnamed_bytes(size_t *size)
{
	char *bytes = zebin_bytes("bmg/transformer", ".bin", size);
	const Elf64_Shdr *table = zebin_section(bytes, ".symtab");
	Elf64_Sym *symbols = (Elf64_Sym *)(void *)(bytes + table->sh_offset);
	for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++)
		if (ELF64_ST_TYPE(symbols[i].st_info) == STT_OBJECT)
			symbols[i].st_name = 0;
	return bytes;
}

TEST(relocations_that_name_nothing_are_replaced_by_the_place_of_the_kernel)
{
	size_t size;
	char *bytes = unnamed_bytes(&size);
	struct code_object *object;
	ck_assert_int_eq(code_object_open(&object, bytes, size, EM_NONE, zebin_decoder()), 0);
	CLEANUP_FREE char *loaded_path = zebin_path("bmg/transformer", ".loaded-debug.elf");
	expected_place_array loaded = zebin_sections(loaded_path);
	check_everything(object, "bmg/transformer", &loaded);
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
	struct code_damage damage = code_object_damage(object), wanted = { .unnamed = relocations };
	ck_assert_mem_eq(&damage, &wanted, sizeof wanted);
	array_free(&loaded);
	code_object_release(object);
}

/* Checks that an image has all lines except those of some kernels, and that this many units are counted. */
static void check_refused(char *bytes, size_t size, uint64_t units, const char *const *without, size_t without_count)
{
	struct code_object *object;
	ck_assert_int_eq(code_object_open(&object, bytes, size, EM_NONE, zebin_decoder()), 0);
	CLEANUP_FREE char *loaded_path = zebin_path("bmg/transformer", ".loaded-debug.elf");
	expected_place_array loaded = zebin_sections(loaded_path);
	expected_instruction_array all = zebin_instructions("bmg/transformer");
	size_t refused = 0;
	for (size_t i = 0; i < all.count; i++) {
		struct code_location location;
		struct debug_frame frames[CODE_INLINE_DEPTH_MAX];
		uint64_t address = zebin_own_address(object, &loaded, all.items[i].address);
		size_t count = code_object_find(object, address, &location, frames, CODE_INLINE_DEPTH_MAX);
		bool is_refused = false;
		for (size_t k = 0; k < without_count; k++)
			is_refused |= strcmp(all.items[i].kernel, without[k]) == 0;
		refused += is_refused;
		if (!is_refused)
			zebin_check_frames(&all.items[i], frames, count);
		else if (count)
			ck_assert_ptr_null(frames[0].file);
	}
	ck_assert_uint_gt(refused, 0);
	ck_assert_uint_eq(code_object_damage(object).units, units);
	array_free(&all);
	array_free(&loaded);
	code_object_release(object);
}

TEST(units_that_fit_no_kernel_are_refused_and_counted)
{
	size_t size;
	char *bytes = unnamed_bytes(&size);
	zebin_symbol(bytes, "histogram")->st_size -= 8;
	check_refused(bytes, size, 1, (const char *const[]){ "histogram" }, 1);
}

TEST(units_whose_kernel_has_another_name_are_refused)
{
	size_t size;
	char *bytes = unnamed_bytes(&size);
	/* The only letter of its name that is in no other's. */
	const Elf64_Shdr *names = zebin_section(bytes, ".strtab");
	char *name = bytes + names->sh_offset + zebin_symbol(bytes, "tiny")->st_name;
	ck_assert_str_eq(name, "tiny");
	name[3] = 'x';
	check_refused(bytes, size, 1, (const char *const[]){ "tiny" }, 1);
}

/* Both kernels have one name and one size, so either unit could be of either. */
TEST(units_that_fit_two_kernels_are_refused)
{
	size_t size;
	char *bytes = unnamed_bytes(&size);
	Elf64_Sym *tiny = zebin_symbol(bytes, "tiny"), *histogram = zebin_symbol(bytes, "histogram");
	histogram->st_name = tiny->st_name;
	histogram->st_size = tiny->st_size;
	check_refused(bytes, size, 2, (const char *const[]){ "tiny", "histogram" }, 2);
}

/* Two units that describe one kernel: neither is believed. */
TEST(units_in_the_same_place_are_refused)
{
	size_t size;
	char *bytes = unnamed_bytes(&size);
	char *information = bytes + zebin_section(bytes, ".debug_info")->sh_offset;
	/* Two names of one length. The second unit gets the size of the first, and no lines that contradict it. */
	uint64_t length = zebin_section(bytes, ".debug_info")->sh_size;
	char *name = memmem(information, length, "bias_gelu", sizeof "bias_gelu");
	ck_assert_ptr_nonnull(name);
	memcpy(name, "histogram", sizeof "histogram");
	const Elf64_Shdr *table = zebin_section(bytes, ".rela.debug_info");
	Elf64_Rela *relocations = (Elf64_Rela *)(void *)(bytes + table->sh_offset);
	uint64_t from = zebin_symbol(bytes, "bias_gelu")->st_size, to = zebin_symbol(bytes, "histogram")->st_size;
	unsigned changed = 0;
	for (size_t i = 0; i < table->sh_size / sizeof *relocations; i++)
		if (ELF64_R_TYPE(relocations[i].r_info) == 1 && (uint64_t)relocations[i].r_addend == from) {
			relocations[i].r_addend = (int64_t)to;
			if (!changed++)
				relocations[i + 1].r_addend = INT32_MAX; /* DW_AT_stmt_list */
		}
	ck_assert_uint_ge(changed, 2);
	check_refused(bytes, size, 2, (const char *const[]){ "bias_gelu", "histogram" }, 2);
}

/* The lines of a unit end where its kernel does, or are not its lines. */
TEST(units_whose_lines_end_elsewhere_are_refused)
{
	size_t size;
	char *bytes = unnamed_bytes(&size);
	const Elf64_Shdr *table = zebin_section(bytes, ".rela.debug_info");
	Elf64_Rela *relocations = (Elf64_Rela *)(void *)(bytes + table->sh_offset);
	/* The first unit's: .debug_abbrev, two addresses, DW_AT_stmt_list; the second unit's lines follow at 0x126. */
	ck_assert_uint_eq(ELF64_R_TYPE(relocations[3].r_info), 2);
	ck_assert_int_eq(relocations[3].r_addend, 0);
	relocations[3].r_addend = 0x126;
	check_refused(bytes, size, 1, (const char *const[]){ "matmul_tile" }, 1);
}

TEST_LOOP(functions_and_sections_are_what_readelf_says, 0, zebin_fixture_count)
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

TEST(names_are_shown_as_programmers_write_them)
{
	struct code_object *object = zebin_open("pvc/transformer", ".nodebug.bin");
	ck_assert_str_eq(find_function(object, "_ZTS5scaleIfE")->shown, "scale<float>");
	ck_assert_str_eq(find_function(object, "add$residual")->shown, "add$residual");
	ck_assert_ptr_null(find_function(object, "_entry"));
	code_object_release(object);
}

/* "KERNEL KEY VALUE" for all plain values under execution_env, by awk. */
#define LIST_ATTRIBUTES                                                                                                \
	"readelf -p .ze_info '%s' | sed -E 's/^ *\\[ *[0-9a-f]+\\] *//; s/\\\\n$//' | tr -d \"\\'\" | awk '"           \
	"/kernels_misc_info:/ { exit } "                                                                               \
	"/^ *- name: / { kernel = $3; on = 0; next } "                                                                 \
	"/execution_env: *$/ { on = 1; next } "                                                                        \
	"on && /: *$/ { on = 0 } "                                                                                     \
	"on && $2 ~ /^(true|false|-?[0-9]+)$/ { sub(\":\", \"\", $1); print kernel, $1, $2 }'"

TEST_LOOP(attributes_are_what_the_section_says, 0, zebin_fixture_count)
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

TEST(the_innermost_frames_are_left_out_when_there_is_no_room)
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

TEST(identity_is_of_the_bytes)
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

TEST(another_machine_is_refused)
{
	CLEANUP_FREE char *path = zebin_path("bmg/transformer", ".bin");
	struct code_object *object;
	ck_assert_int_eq(code_object_open_file(&object, path, 224, zebin_decoder()), -ENOEXEC);
	ck_assert_ptr_null(object);
	ck_assert_int_eq(code_object_open_file(&object, "/nonexistent", EM_NONE, zebin_decoder()), -ENOENT);
	ck_assert_int_eq(code_object_open_file(&object, "/dev/null", EM_NONE, zebin_decoder()), -EINVAL);
	ck_assert_int_eq(code_object_open(&object, malloc(1), 0, EM_NONE, zebin_decoder()), -ENOEXEC);
}

/* Like a module of CUDA with variables alone. */
TEST(an_image_without_code_has_no_functions_and_no_damage)
{
	size_t size;
	CLEANUP_FREE char *bytes = zebin_bytes("bmg/transformer", ".nodebug.bin", &size);
	Elf64_Ehdr header;
	memcpy(&header, bytes, sizeof header);
	for (size_t i = 0; i < header.e_shnum; i++) {
		Elf64_Shdr section;
		char *at = bytes + header.e_shoff + i * sizeof section;
		memcpy(&section, at, sizeof section);
		section.sh_flags &= ~(uint64_t)SHF_EXECINSTR;
		section.sh_type = section.sh_type == SHT_SYMTAB ? SHT_NULL : section.sh_type;
		memcpy(at, &section, sizeof section);
	}
	struct zebin_remote remote;
	zebin_remote_open(&remote, bytes, size, NULL);
	const struct code_table *table = remote_code_table(remote.code);
	ck_assert_uint_eq(table->section_count, 0);
	ck_assert_uint_eq(table->function_count, 0);
	ck_assert(!remote_code_is_damaged(remote.code));
	zebin_remote_close(&remote);
}

TEST(code_sections_that_are_all_damaged_are_no_image)
{
	size_t size;
	char *bytes = zebin_bytes("bmg/transformer", ".nodebug.bin", &size);
	Elf64_Ehdr header;
	memcpy(&header, bytes, sizeof header);
	for (size_t i = 0; i < header.e_shnum; i++) {
		Elf64_Shdr section;
		char *at = bytes + header.e_shoff + i * sizeof section;
		memcpy(&section, at, sizeof section);
		if (section.sh_flags & SHF_EXECINSTR)
			section.sh_offset = size;
		memcpy(at, &section, sizeof section);
	}
	struct code_object *object;
	ck_assert_int_eq(code_object_open(&object, bytes, size, EM_NONE, NULL), -ENOEXEC);
}

TEST(canonical_addresses_are_made_plain)
{
	ck_assert_uint_eq(device_address_plain(0xffff8000ffbe0000), 0x8000ffbe0000);
	ck_assert_uint_eq(device_address_plain(0x00008000ffbf0000), 0x8000ffbf0000);
	ck_assert_uint_eq(device_address_plain(0x7fffffffffff), 0x7fffffffffff);
	ck_assert_uint_eq(device_address_plain(0xff00800000001000), 0x100800000001000);
	ck_assert_uint_eq(device_address_plain(0x100800000001000), 0x100800000001000);
	ck_assert_uint_eq(device_address_plain(0), 0);
}

int main(void)
{
	return run_all_tests(300, NULL, NULL);
}
