/* SPDX-License-Identifier: Apache-2.0 */
/* See zebin.h. */
#include "zebin.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/string_table.h"
#include "ze_info.h"

/* A section with this prefix holds the code of the kernel whose name follows. */
#define CODE_PREFIX ".text."

/* The compiler treats the functions that several kernels call, or other modules, as a kernel with this name. */
#define SHARED_CODE "Intel_Symbol_Table_Void_Program"

/* The demangled form of _ZTS; compilers also write it to debug information. */
#define TYPE_NAME_PREFIX "typeinfo name for "

const struct iaprof_relocation zebin_relocations[ZEBIN_RELOCATION_COUNT] = {
	{ .type = 1, .width = 8, .formula = IAPROF_RELOCATION_ABSOLUTE },              /* R_ZE_SYM_ADDR */
	{ .type = 2, .width = 4, .formula = IAPROF_RELOCATION_ABSOLUTE },              /* R_ZE_SYM_ADDR_32 */
	{ .type = 3, .width = 4, .formula = IAPROF_RELOCATION_ABSOLUTE, .shift = 32 }, /* R_ZE_SYM_ADDR_32_HI */
};

static bool is_code(const struct iaprof_image_section *section)
{
	return section->flags & SHF_EXECINSTR && *section->name;
}

/* Returns the name of the kernel to which a section belongs, "" if it belongs to none. */
static const char *kernel_of(const struct iaprof_image_section *section)
{
	size_t length = strlen(CODE_PREFIX);
	bool is_kernel = is_code(section) && strncmp(section->name, CODE_PREFIX, length) == 0 &&
			 strcmp(section->name + length, SHARED_CODE) != 0;
	return is_kernel ? section->name + length : "";
}

/* The function symbols in a section. */
struct section_symbols {
	bool any;    /* the section has function symbols */
	bool kernel; /* the kernel's symbol is at the section's start */
};

static void find_symbols(const struct iaprof_image *image, struct section_symbols *found)
{
	for (uint64_t i = 1; i < image->symbol_count; i++) {
		const struct iaprof_image_symbol *symbol = iaprof_image_symbol(image, i);
		if (symbol->type != STT_FUNC || !*symbol->name || symbol->section >= image->section_count)
			continue;
		const struct iaprof_image_section *section = iaprof_image_section(image, symbol->section);
		if (symbol->value < section->address || symbol->value - section->address >= section->size)
			continue;
		found[symbol->section].any = true;
		found[symbol->section].kernel |=
			symbol->value == section->address && strcmp(symbol->name, kernel_of(section)) == 0;
	}
}

/* A section without symbols is attributed by its name; the kernel then ends where the section ends. */
static int report_kernels(const struct iaprof_image *image, const struct iaprof_image_report *report)
{
	CLEANUP_FREE struct section_symbols *symbols = calloc(image->section_count + 1, sizeof *symbols);
	int result = symbols ? 0 : -ENOMEM;
	if (symbols)
		find_symbols(image, symbols);
	for (uint64_t i = 1; !result && i < image->section_count; i++) {
		const char *name = kernel_of(iaprof_image_section(image, i));
		struct iaprof_image_function kernel = { .size = sizeof kernel,
							.flags = IAPROF_IMAGE_FUNCTION_KERNEL,
							.name = name,
							.section = (uint32_t)i };
		if (!*name)
			continue;
		result = report->section(report, (uint32_t)i, name);
		if (!result && (symbols[i].kernel || !symbols[i].any))
			result = report->function(report, &kernel);
	}
	return result;
}

/*
 * Relocations refer to a section by name: their symbol has its name, but the section index of the relocated section. Of
 * two sections with the same name, the first is used.
 */
static int report_symbols(const struct iaprof_image *image, const struct iaprof_image_report *report)
{
	CLEANUP(string_table_free) struct string_table names = { 0 };
	CLEANUP_FREE uint32_t *numbers = calloc(image->section_count + 1, sizeof *numbers);
	int result = numbers ? 0 : -ENOMEM;
	for (uint64_t i = 1; !result && i < image->section_count; i++) {
		const struct iaprof_image_section *section = iaprof_image_section(image, i);
		bool is_new;
		uint32_t id =
			is_code(section) ? string_table_add(&names, section->name, strlen(section->name), &is_new) : 0;
		if (is_code(section) && !id)
			result = -ENOMEM;
		else if (id && is_new)
			numbers[id] = (uint32_t)i;
	}
	uint32_t known = (uint32_t)names.entries.count;
	for (uint64_t i = 1; !result && i < image->symbol_count; i++) {
		const struct iaprof_image_symbol *symbol = iaprof_image_symbol(image, i);
		/* All names of sections with code begin with a dot, and few others do. */
		if (*symbol->name != '.')
			continue;
		uint32_t id = string_table_add(&names, symbol->name, strlen(symbol->name), NULL);
		if (!id)
			result = -ENOMEM;
		else if (id <= known)
			result = report->symbol(report, (uint32_t)i, numbers[id]);
	}
	return result;
}

/* Returns -EINVAL if the section is damaged; its valid entries were reported. */
static int report_attributes(const struct iaprof_image_section *section, const struct iaprof_image_report *report)
{
	CLEANUP(string_table_free) struct string_table strings = { 0 };
	CLEANUP(ze_info_free) struct ze_info info = { 0 };
	int read = section->bytes ? ze_info_read(&info, section->bytes, section->size, &strings) : -EINVAL;
	int result = read == -ENOMEM ? read : 0;
	for (size_t i = 0; !result && i < info.entries.count; i++) {
		const struct ze_info_entry *entry = &info.entries.items[i];
		bool is_kernel = !entry->is_function && strcmp(entry->name, SHARED_CODE) != 0;
		struct iaprof_image_function function = {
			.size = sizeof function,
			.flags = is_kernel ? IAPROF_IMAGE_FUNCTION_KERNEL : 0,
			.name = entry->name,
			.attribute_count = (uint32_t)entry->count,
			.attributes = entry->count ? &info.attributes.items[entry->first] : NULL,
		};
		result = report->function(report, &function);
	}
	if (info.refused)
		report->refused(report, info.refused);
	return result ? result : read;
}

int zebin_read(const struct iaprof_image *image, const struct iaprof_image_report *report)
{
	int result = report_kernels(image, report);
	if (!result)
		result = report_symbols(image, report);
	for (uint64_t i = 1; !result && i < image->section_count; i++) {
		const struct iaprof_image_section *section = iaprof_image_section(image, i);
		if (strcmp(section->name, ".ze_info") == 0)
			return report_attributes(section, report);
	}
	return result;
}

/*
 * A SYCL kernel's symbol is derived from the name of its type; no other functions have such symbols. The compiler's
 * demangler, which is LLVM's, writes foo<bar<int>> in debug information where that of symbols writes foo<bar<int> >.
 */
size_t zebin_display_name(const char *name, char *text, size_t capacity)
{
	size_t length = 0;
	if (strncmp(name, TYPE_NAME_PREFIX, strlen(TYPE_NAME_PREFIX)) != 0)
		return 0;
	for (const char *at = name + strlen(TYPE_NAME_PREFIX); *at; at++) {
		bool follows = *at == '>' && length && text[length - 1] == '>';
		if (length + 1 + follows >= capacity)
			return 0;
		/* operator>> is one word, and in a shift the signs follow a space. */
		if (follows && !(length > 8 && !memcmp(text + length - 9, "operator>", 9)) &&
		    !(length > 2 && text[length - 2] == ' ' && text[length - 3] != '>'))
			text[length++] = ' ';
		text[length++] = *at;
	}
	text[length] = '\0';
	return length;
}
