/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels and the functions that they call: what calls what is in tests/data/calls/calls.cl. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "correlator_history.h"
#include "device/zebin_fixture.h"
#include "symbolizer/device/code_place.h"
#include "../run_suite.h"

#define FIXTURE "../calls/calls.pvc"

static struct code_object *open_bytes(char *bytes, size_t size)
{
	struct code_object *object;
	ck_assert_int_eq(code_object_open(&object, bytes, size, EM_NONE, zebin_decoder()), 0);
	return object;
}

/* Checks the outermost frames of a function's last instruction. wanted: NULL where there is no kernel above it. */
static void check_kernel(struct code_object *object, const char *name, const char *wanted)
{
	const struct code_function *function = find_function(object, name);
	ck_assert_ptr_nonnull(function);
	struct code_location location;
	struct debug_frame frames[4];
	size_t count = code_object_find(object, function->address + function->size - 16, &location, frames, 4);
	size_t above = wanted != NULL;
	ck_assert_uint_eq(count, 1 + above);
	ck_assert_str_eq(frames[above].name, name);
	ck_assert_ptr_eq(location.function, function);
	if (!above)
		return;
	ck_assert_str_eq(frames[0].name, wanted);
	ck_assert_uint_eq(frames[0].line, 0);
	ck_assert_str_eq(frames[0].file, "/tmp/kernels/calls.cl");
}

/* The callers of a function, sorted by address and separated by spaces. */
static void check_callers(struct code_object *object, const char *name, const char *wanted)
{
	const struct code_function *function = find_function(object, name);
	size_t count;
	const struct code_function *functions = code_object_functions(object, &count);
	char found[256] = "";
	for (size_t i = 0; i < function->caller_count; i++)
		snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s", i ? " " : "",
			 functions[function->callers[i]].name);
	ck_assert_str_eq(found, wanted);
}

TEST(functions_are_below_their_kernels)
{
	struct code_object *object = zebin_open(FIXTURE, ".bin");
	static const char *const kernels[] = { "rows", "columns", "both", "scaled" };
	for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
		check_kernel(object, kernels[i], NULL);
		ck_assert(find_function(object, kernels[i])->is_kernel);
	}
	check_kernel(object, "only_inverse", "columns");
	check_kernel(object, "decay_often", "[rows or columns]");
	check_kernel(object, "scale", "[both or scaled]");
	check_kernel(object, "decay", "[one of 3 kernels]");
	check_callers(object, "only_inverse", "");
	check_callers(object, "decay_often", "rows columns");
	check_callers(object, "scale", "both scaled");
	check_callers(object, "decay", "rows columns both");
	struct code_damage damage = code_object_damage(object), none = { 0 };
	ck_assert_mem_eq(&damage, &none, sizeof none);
	code_object_release(object);
}

TEST(shared_code_is_no_kernel)
{
	struct code_object *object = zebin_open(FIXTURE, ".bin");
	const struct code_function *shared = find_function(object, "Intel_Symbol_Table_Void_Program");
	ck_assert(!shared->is_kernel);
	struct code_location location;
	struct debug_frame frame;
	ck_assert_uint_eq(code_object_find(object, shared->address, &location, &frame, 1), 1);
	ck_assert_ptr_null(location.kernel);
	code_object_release(object);
}

TEST(a_function_that_one_kernel_reaches_is_below_it)
{
	size_t size;
	char *bytes = zebin_bytes(FIXTURE, ".bin", &size);
	zebin_section(bytes, ".rel.text.scaled")->sh_type = SHT_NULL;
	struct code_object *object = open_bytes(bytes, size);
	check_kernel(object, "scale", "both");
	check_callers(object, "scale", "both");
	code_object_release(object);
}

/* The address of a function in data: any kernel may call it, and what it calls. */
TEST(functions_whose_address_is_in_data_have_no_known_kernel)
{
	size_t size;
	char *bytes = zebin_bytes(FIXTURE, ".bin", &size);
	const Elf64_Ehdr *header = (const void *)bytes;
	Elf64_Shdr *sections = (Elf64_Shdr *)(void *)(bytes + header->e_shoff);
	zebin_section(bytes, ".rel.text.rows")->sh_info =
		(uint32_t)(zebin_section(bytes, ".misc.buildOptions") - sections);
	struct code_object *object = open_bytes(bytes, size);
	check_kernel(object, "decay_often", NULL);
	check_kernel(object, "decay", NULL);
	check_callers(object, "decay", "");
	check_kernel(object, "scale", "[both or scaled]");
	code_object_release(object);
}

/* The child of a worker sends the same. */
TEST(callers_come_through_the_worker)
{
	size_t size;
	CLEANUP_FREE char *bytes = zebin_bytes(FIXTURE, ".bin", &size);
	struct zebin_remote remote;
	zebin_remote_open(&remote, bytes, size, zebin_decoders());
	const struct code_table *table = remote_code_table(remote.code);
	const struct code_function *decay = code_table_function(table, "decay");
	ck_assert_uint_eq(decay->caller_count, 3);
	ck_assert_str_eq(table->functions[decay->callers[2]].name, "both");
	struct code_place place;
	ck_assert(remote_code_find(remote.code, decay->address, &place));
	ck_assert_uint_eq(place.function_count, 2);
	ck_assert_str_eq(place.functions[0].name, "[one of 3 kernels]");
	zebin_remote_close(&remote);
}

static char image_path[] = "/tmp/iaprof-test-calls-XXXXXX";

/* Writes the image as a runtime loads it: one section after the other from BASE on. */
static void make_loaded_image(void)
{
	size_t size;
	CLEANUP_FREE char *bytes = zebin_bytes(FIXTURE, ".bin", &size);
	const Elf64_Ehdr *header = (const void *)bytes;
	Elf64_Shdr *sections = (Elf64_Shdr *)(void *)(bytes + header->e_shoff);
	uint64_t address = BASE;
	for (size_t i = 0; i < header->e_shnum; i++)
		if (sections[i].sh_flags & SHF_EXECINSTR) {
			sections[i].sh_addr = address;
			address += sections[i].sh_size;
		}
	const Elf64_Shdr *table = zebin_section(bytes, ".symtab");
	Elf64_Sym *symbols = (Elf64_Sym *)(void *)(bytes + table->sh_offset);
	for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++)
		if (symbols[i].st_shndx < header->e_shnum)
			symbols[i].st_value += sections[symbols[i].st_shndx].sh_addr;
	int descriptor = mkstemp(image_path);
	ck_assert_int_ge(descriptor, 0);
	ck_assert_int_eq(write(descriptor, bytes, size), size);
	close(descriptor);
}

static uint32_t take_kernel_of(struct code_object *object, uint32_t code_object, const char *name)
{
	const struct code_function *function = find_function(object, name);
	struct iaprof_record_kernel record = { .id = ++kernel_count,
					       .pid = 10,
					       .name = text(name),
					       .address = function->address,
					       .size = function->size,
					       .code_object = code_object };
	take(LAUNCHES, &record, IAPROF_RECORD_KERNEL, sizeof record, SECOND);
	return record.id;
}

/*
 * Samples of a function are of the kernels that reach it: "rows" and "both" run, and "scale" cannot be of "rows". The
 * debug information of the image was not relocated.
 */
TEST(samples_are_of_kernels_that_reach_the_function)
{
	collector_free(collector);
	collector = make_collector(true, zebin_decoders());
	announce();
	make_loaded_image();
	struct code_object *object;
	ck_assert_int_eq(code_object_open_file(&object, image_path, EM_NONE, zebin_decoder()), 0);
	uint32_t code_object = take_object(10, image_path, 0, SECOND);
	uint32_t rows = take_kernel_of(object, code_object, "rows"), both = take_kernel_of(object, code_object, "both");
	take_launches(10, rows, 'a', 30, 20 * SECOND, 21 * SECOND);
	take_launches(10, both, 'b', 10, 20 * SECOND, 21 * SECOND);
	static const struct {
		const char *function;
		uint64_t count;
	} samples[] = { { "rows", 1000 }, { "both", 100 }, { "scale", 50 }, { "decay_often", 20 }, { "decay", 400 } };
	for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
		take_stalls(find_function(object, samples[i].function)->address, IAPROF_ADDRESS_ABSOLUTE,
			    samples[i].count, 20 * SECOND, 21 * SECOND);
	finish(2 * (1000 + 100 + 50 + 20), 800, 0);
	unlink(image_path);
	ck_assert_uint_eq(sum("first;site_a;-;rows"), 2000);
	ck_assert_uint_eq(sum("first;site_b;-;both"), 200);
	ck_assert_uint_eq(sum("first;site_b;-;[both or scaled];scale"), 100);
	ck_assert_uint_eq(sum("first;site_a;-;[rows or columns];decay_often"), 40);
	ck_assert_uint_eq(sum("first;site_a;-;[ambiguous];[one of 3 kernels];decay"), 600);
	ck_assert_uint_eq(sum("first;site_b;-;[ambiguous];[one of 3 kernels];decay"), 200);
	code_object_release(object);
}

int main(void)
{
	return run_all_tests(0, set_up, tear_down);
}
