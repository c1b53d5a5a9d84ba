/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a plugin before any of its code runs: its file, struct and option table. */
#include "subject.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

START_TEST(struct_is_complete)
{
	test_host_free(subject_new()); /* which checks it */
}
END_TEST

START_TEST(instances_are_independent)
{
	struct test_host *first = subject_new();
	struct test_host *second = subject_new();
	subject_configure(first);
	subject_expect_configured(second);
	test_host_free(first);
	struct test_host *third = subject_new();
	subject_expect_configured(third);
	test_host_free(third);
	test_host_free(second);
}
END_TEST

/* Global symbols of the dynamic symbol table that others would bind to. C++'s weak ones may be there. */
static void expect_one_symbol(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNSYM)
			break;
	ck_assert_msg(section && header.sh_entsize, "the file has no dynamic symbol table");
	Elf_Data *data = elf_getdata(section, NULL);
	for (int i = 0; i < (int)(header.sh_size / header.sh_entsize); i++) {
		GElf_Sym symbol;
		if (!gelf_getsym(data, i, &symbol) || symbol.st_shndx == SHN_UNDEF ||
		    GELF_ST_BIND(symbol.st_info) != STB_GLOBAL)
			continue;
		const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
		ck_assert_msg(name && strcmp(name, IAPROF_PLUGIN_SYMBOL) == 0,
			      "it exports %s: build it with -fvisibility=hidden", name ? name : "a symbol");
	}
}

START_TEST(exports_one_symbol)
{
	int fd CLEANUP_CLOSE = open(getenv(SUBJECT_PATH), O_RDONLY | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	ck_assert_ptr_nonnull(elf);
	expect_one_symbol(elf);
	elf_end(elf);
}
END_TEST

void checks_add_form(struct check_list *checks)
{
	check_add(checks, "its struct has all mandatory members and its options and defaults are valid",
		  struct_is_complete);
	check_add(checks, "it exports " IAPROF_PLUGIN_SYMBOL "() and nothing else", exports_one_symbol);
	check_add(checks, "several instances live side by side", instances_are_independent);
}
