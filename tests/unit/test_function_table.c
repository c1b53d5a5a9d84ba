/* SPDX-License-Identifier: Apache-2.0 */
/* Functions in a table: this program's own, whole and damaged. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "elf/function_table.h"
#include "own_program.h"
#include "../run_suite.h"

#define COMPARED 8u /* bytes of a function */

__attribute__((visibility("default"), noinline)) int anchor(void);

static volatile int called;

static int first(void)
{
	return called * 3;
}

int anchor(void)
{
	return called * 5;
}

static int third(void)
{
	return called * 7;
}

static int fourth(void)
{
	return called * 11;
}

static int (*volatile table[])(void) = { first, anchor, third, fourth };
static const uint32_t indexes[] = { 3, 0, 2 };

TEST(functions_are_where_their_code_is)
{
	uint64_t offsets[3];
	size_t size;
	unsigned char *program = program_read(&size);
	const struct elf_reader bytes = elf_reader_of_memory(program, size);

	ck_assert(function_table_find(&bytes, "anchor", 1, indexes, 3, offsets));
	for (size_t i = 0; i < 3; i++) {
		ck_assert_uint_le(offsets[i], size - COMPARED);
		ck_assert_mem_eq(program + offsets[i], (const void *)(uintptr_t)table[indexes[i]], COMPARED);
	}
	free(program);
}

TEST(a_table_that_lacks_one_is_another)
{
	static const uint32_t beyond[] = { 0, 1000000 };
	uint64_t offsets[3];
	size_t size;
	unsigned char *program = program_read(&size);
	const struct elf_reader bytes = elf_reader_of_memory(program, size);

	ck_assert(!function_table_find(&bytes, "anchor", 1, beyond, 2, offsets));
	ck_assert_uint_eq(offsets[0], 0);
	ck_assert(!function_table_find(&bytes, "no_such_anchor", 1, indexes, 3, offsets));
	/* The anchor would be before the beginning of memory. */
	ck_assert(!function_table_find(&bytes, "anchor", UINT32_MAX, indexes, 3, offsets));
	free(program);
}

TEST(damaged_files_have_none)
{
	uint64_t offsets[3];
	size_t size;
	unsigned char *program = program_read(&size);

	for (size_t length = 0; length < size; length += 1 + size / 64) {
		/* In memory that ends there, so that a sanitizer notices. */
		unsigned char *part = malloc(length ? length : 1);
		ck_assert_ptr_nonnull(part);
		memcpy(part, program, length);
		const struct elf_reader bytes = elf_reader_of_memory(part, length);
		ck_assert(!function_table_find(&bytes, "anchor", 1, indexes, 3, offsets));
		free(part);
	}
	free(program);
}

int main(void)
{
	return run_all_tests(0, NULL, NULL);
}
