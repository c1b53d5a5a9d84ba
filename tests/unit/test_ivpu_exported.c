/* SPDX-License-Identifier: Apache-2.0 */
/* Where exported functions are in a file: this program's own, whole and damaged. */
#include <check.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "api_functions.h"
#include "elf/exported_functions.h"
#include "own_program.h"
#include "../run_suite.h"

#define FUNCTIONS_MAX 64u
#define COMPARED 16u /* bytes of a function */

#define EXPORTED __attribute__((visibility("default"), noinline))
EXPORTED int zeInit(unsigned int flags);
EXPORTED int zeMemFree(void *context, void *memory);

static volatile int called;

int zeInit(unsigned int flags)
{
	called += (int)flags;
	return called * 3;
}

int zeMemFree(void *context, void *memory)
{
	called += context == memory;
	return called * 5;
}

static bool find(const unsigned char *program, size_t size, uint64_t *offsets)
{
	const struct elf_reader bytes = elf_reader_of_memory(program, size);

	ck_assert_uint_le(api_function_count(), FUNCTIONS_MAX);
	return exported_functions_find(&bytes, api_function_names(), api_function_count(), offsets);
}

TEST(finds_what_is_exported)
{
	uint64_t offsets[FUNCTIONS_MAX];
	size_t size;
	unsigned char *program = program_read(&size);

	ck_assert(find(program, size, offsets));
	for (size_t i = 0; i < api_function_count(); i++) {
		const char *name = api_function_name(i);
		const void *function = !strcmp(name, "zeInit")      ? (const void *)zeInit
				       : !strcmp(name, "zeMemFree") ? (const void *)zeMemFree
								    : NULL;
		ck_assert_msg((offsets[i] != 0) == (function != NULL), "%s", name);
		if (!function)
			continue;
		ck_assert_uint_le(offsets[i] + COMPARED, size);
		ck_assert_mem_eq(program + offsets[i], function, COMPARED);
	}
	free(program);
}

/* Cut off anywhere, and with the headers' bytes changed: an offset is in the file, if there is any. */
TEST(takes_no_damage)
{
	uint64_t offsets[FUNCTIONS_MAX];
	size_t size;
	unsigned char *program = program_read(&size);
	Elf64_Ehdr header;
	unsigned int random = 1;

	for (size_t part = 0; part < 64; part++)
		ck_assert(!find(program, size * part / 64, offsets));
	memcpy(&header, program, sizeof header);
	for (int i = 0; i < 2000; i++) {
		bool in_sections = i % 2;
		size_t begin = in_sections ? header.e_shoff : 0;
		size_t length = in_sections ? (size_t)header.e_shnum * sizeof(Elf64_Shdr) : 1024;
		random = random * 1103515245 + 12345;
		size_t place = begin + (random >> 8) % length;
		unsigned char before = program[place];
		program[place] = (unsigned char)(random >> 20);
		if (find(program, size, offsets))
			for (size_t j = 0; j < api_function_count(); j++)
				ck_assert_uint_lt(offsets[j], size);
		program[place] = before;
	}
	free(program);
}

TEST(knows_libraries_by_their_names)
{
	static const char *const good[] = { "/usr/lib/x86_64-linux-gnu/libze_loader.so.1", "/a/libze_loader.so.1.17.6",
					    "/a/libze_intel_npu.so.1.5.0", "/libze_intel_vpu.so", "libze_loader.so.1" };
	static const char *const bad[] = { "/usr/lib/libze_loader.so.12", "/libze_intel_gpu.so.1",
					   "/libze_loader.so.1/a", "", "/" };

	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		ck_assert_msg(api_library_is(good[i]), "%s", good[i]);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		ck_assert_msg(!api_library_is(bad[i]), "%s", bad[i]);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
