/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files with a statically linked Level Zero loader: which of them are not traced. The texts are those of the loader's
 * versions 1.21.8 and 1.21.9.
 */
#include <check.h>
#include <string.h>

#include "ze-usdt/static_loader.h"
#include "../run_suite.h"

#define LOADER "ze_lib Context Init() Static Loader Found Loader Version v"
#define TRACING "zelEnableTracingLayer"
#define SECTIONS 4
#define SECTION_SIZE (600u << 10) /* several parts, in which it is searched */

static struct {
	Elf64_Ehdr header;
	Elf64_Shdr sections[SECTIONS]; /* none, constants, symbol names, variables */
	char contents[SECTIONS][SECTION_SIZE];
} file;

static void set_up(void)
{
	static const struct {
		uint32_t type, flags;
	} kinds[SECTIONS] = { { SHT_NULL, 0 },
			      { SHT_PROGBITS, SHF_ALLOC },
			      { SHT_STRTAB, SHF_ALLOC },
			      { SHT_PROGBITS, SHF_ALLOC | SHF_WRITE } };

	memset(&file, 0, sizeof file);
	memcpy(file.header.e_ident, ELFMAG, SELFMAG);
	file.header.e_ident[EI_CLASS] = ELFCLASS64;
	file.header.e_ident[EI_DATA] = ELFDATA2LSB;
	file.header.e_shoff = offsetof(__typeof__(file), sections);
	file.header.e_shentsize = sizeof(Elf64_Shdr);
	file.header.e_shnum = SECTIONS;
	for (int i = 0; i < SECTIONS; i++)
		file.sections[i] = (Elf64_Shdr){ .sh_type = kinds[i].type,
						 .sh_flags = kinds[i].flags,
						 .sh_offset = (uint64_t)(file.contents[i] - (char *)&file),
						 .sh_size = SECTION_SIZE };
}

static void put(int section, size_t offset, const char *text)
{
	memcpy(file.contents[section] + offset, text, strlen(text) + 1);
}

static bool is_untraced(void)
{
	const struct elf_reader bytes = elf_reader_of_memory(&file, sizeof file);

	return static_loader_is_untraced(&bytes);
}

/* Wherever the text is, also where two parts that are searched meet. */
TEST_LOOP(a_loader_without_the_lookup_is_not_traced, 0, 6)
{
	static const size_t offsets[] = { 1,
					  (256u << 10) - 130,
					  (256u << 10) - 70,
					  (256u << 10) - 10,
					  (512u << 10) - 100,
					  SECTION_SIZE - sizeof LOADER };

	ck_assert(!is_untraced());
	put(1, offsets[_i], LOADER);
	ck_assert(is_untraced());
	put(1, SECTION_SIZE / 2, TRACING);
	ck_assert(!is_untraced());
}

/* The name of the function that every loader has is no sign of a lookup. */
TEST(names_of_symbols_and_longer_texts_do_not_count)
{
	put(2, 0, LOADER);
	put(3, 0, LOADER);
	ck_assert(!is_untraced());
	put(1, 0, LOADER);
	put(2, 100, TRACING);
	put(1, 100, TRACING " failed");
	ck_assert(is_untraced());
}

TEST(damaged_files_are_none)
{
	put(1, 0, LOADER);
	for (size_t size = 0; size < offsetof(__typeof__(file), contents[1]) + sizeof LOADER - 2; size += 61) {
		const struct elf_reader bytes = elf_reader_of_memory(&file, size);
		ck_assert(!static_loader_is_untraced(&bytes));
	}
	file.sections[1].sh_offset = UINT64_MAX - 10;
	ck_assert(!is_untraced());
	file.sections[1].sh_offset = sizeof file - 10;
	ck_assert(!is_untraced());
	file.sections[1].sh_size = UINT64_MAX;
	ck_assert(!is_untraced());
}

TEST(the_environment_may_enable_the_layer)
{
#define HAS(text) environment_has_tracing_layer(text, sizeof(text) - 1)
	ck_assert(HAS("A=1\0ZE_ENABLE_TRACING_LAYER=1\0B=\0"));
	ck_assert(!HAS("A=1\0ZE_ENABLE_TRACING_LAYER=0\0"));
	ck_assert(!HAS("ZE_ENABLE_TRACING_LAYER=10\0"));
	ck_assert(!HAS("XZE_ENABLE_TRACING_LAYER=1\0"));
	ck_assert(!HAS(""));
}

int main(void)
{
	return run_all_tests(0, set_up, NULL);
}
