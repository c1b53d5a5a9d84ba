/* SPDX-License-Identifier: Apache-2.0 */
/* See code_description.h. */
#include "symbolizer/device/code_description.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <iaprof/record.h>

#include "symbolizer/elf_symbols.h"

/* Limit on reports of each kind. The largest libraries of GPU kernels have 100,000 functions. */
#define REPORTS_MAX ((size_t)1 << 22)

/* The plugin sees only the report. */
struct reporting {
	struct iaprof_image_report report;
	struct code_description *description;
};

static struct code_description *description_of(const struct iaprof_image_report *report)
{
	return ((const struct reporting *)(const void *)report)->description;
}

/* Returns NULL if there is no name, or if out of memory. */
static const char *keep_name(struct code_description *description, const char *name)
{
	size_t length = name ? strnlen(name, IAPROF_STRING_LENGTH_MAX) : 0;
	return length ? string_table_intern(description->strings, name, length) : NULL;
}

static int keep_attributes(struct code_description *description, const struct iaprof_image_function *reported,
			   struct described_function *function)
{
	for (uint32_t i = 0; i < reported->attribute_count; i++) {
		const struct iaprof_image_attribute *attribute = &reported->attributes[i];
		if (i >= KERNEL_ATTRIBUTE_COUNT_MAX || !attribute->name || !*attribute->name) {
			description->refused++;
			continue;
		}
		struct kernel_attribute kept = { keep_name(description, attribute->name), attribute->value };
		if (!kept.name || !array_push(&description->attributes, kept))
			return -ENOMEM;
		function->attribute_count++;
	}
	return 0;
}

static int report_function(const struct iaprof_image_report *report, const struct iaprof_image_function *reported)
{
	struct code_description *description = description_of(report);
	struct iaprof_image_function known = { 0 };
	memcpy(&known, reported, reported->size < sizeof known ? reported->size : sizeof known);
	if (!known.name || !*known.name) {
		description->refused++;
		return 0;
	}
	if (description->functions.count >= REPORTS_MAX)
		return -E2BIG;
	struct described_function function = { .name = keep_name(description, known.name),
					       .section = known.section,
					       .is_kernel = known.flags & IAPROF_IMAGE_FUNCTION_KERNEL,
					       .offset = known.offset,
					       .size = known.byte_count,
					       .attribute = description->attributes.count };
	int code = function.name ? keep_attributes(description, &known, &function) : -ENOMEM;
	if (code)
		return code;
	return array_push(&description->functions, function) ? 0 : -ENOMEM;
}

static int report_section(const struct iaprof_image_report *report, uint32_t number, const char *kernel)
{
	struct code_description *description = description_of(report);
	struct described_section section = { number, keep_name(description, kernel) };
	if (!kernel || !*kernel) {
		description->refused++;
		return 0;
	}
	if (description->sections.count >= REPORTS_MAX)
		return -E2BIG;
	return section.kernel && array_push(&description->sections, section) ? 0 : -ENOMEM;
}

static int report_symbol(const struct iaprof_image_report *report, uint32_t number, uint32_t section)
{
	struct code_description *description = description_of(report);
	struct described_symbol symbol = { number, section };
	if (description->symbols.count >= REPORTS_MAX)
		return -E2BIG;
	return array_push(&description->symbols, symbol) ? 0 : -ENOMEM;
}

static int report_addresses(const struct iaprof_image_report *report, uint32_t addresses, uint64_t base)
{
	struct code_description *description = description_of(report);
	if (addresses > IAPROF_IMAGE_ADDRESSES_RELATIVE)
		return -EINVAL;
	description->addresses = addresses;
	description->base = base;
	return 0;
}

static void report_refused(const struct iaprof_image_report *report, uint64_t count)
{
	description_of(report)->refused += count;
}

/* Returns false if out of memory. */
static bool list_sections(const struct elf_file *file, const char *bytes, struct iaprof_image *image)
{
	size_t count, names;
	if (elf_getshdrnum(file->elf, &count) || elf_getshdrstrndx(file->elf, &names))
		count = 0;
	struct iaprof_image_section *sections = calloc(count + 1, sizeof *sections);
	if (!sections)
		return false;
	for (size_t i = 0; i < count; i++)
		sections[i].name = "";
	for (Elf_Scn *section = NULL; count && (section = elf_nextscn(file->elf, section));) {
		GElf_Shdr header;
		size_t number = elf_ndxscn(section);
		if (number >= count || !gelf_getshdr(section, &header))
			continue;
		const char *name = elf_strptr(file->elf, names, header.sh_name);
		bool has_bytes = header.sh_type != SHT_NOBITS && !(header.sh_flags & SHF_COMPRESSED) &&
				 header.sh_offset <= file->size && header.sh_size <= file->size - header.sh_offset;
		sections[number] =
			(struct iaprof_image_section){ .name = name ? name : "",
						       .type = header.sh_type,
						       .link = header.sh_link,
						       .flags = header.sh_flags,
						       .address = header.sh_addr,
						       .size = header.sh_size,
						       .bytes = has_bytes ? bytes + header.sh_offset : NULL };
	}
	image->sections = sections;
	image->section_count = count;
	image->section_size = sizeof *sections;
	return true;
}

/* Returns false if out of memory. A damaged table has no symbols. */
static bool list_symbols(const struct elf_file *file, struct iaprof_image *image)
{
	struct elf_symbol_reader reader;
	(void)elf_symbol_reader_open(&reader, file, SHT_SYMTAB);
	struct iaprof_image_symbol *symbols = calloc(reader.count + 1, sizeof *symbols);
	if (!symbols)
		return false;
	for (size_t i = 0; i < reader.count; i++) {
		GElf_Sym symbol = { 0 };
		const char *name = elf_symbol_reader_get(&reader, i, &symbol);
		symbols[i] = (struct iaprof_image_symbol){ .name = name ? name : "",
							   .value = symbol.st_value,
							   .size = symbol.st_size,
							   .section = symbol.st_shndx,
							   .type = GELF_ST_TYPE(symbol.st_info),
							   .binding = GELF_ST_BIND(symbol.st_info) };
	}
	image->symbols = symbols;
	image->symbol_count = reader.count;
	image->symbol_size = sizeof *symbols;
	return true;
}

int code_description_read(struct code_description *description, struct decoder *decoder, const struct elf_file *file,
			  const char *bytes, size_t size)
{
	struct iaprof_image image = { .size = sizeof image,
				      .machine = file->header.e_machine,
				      .type = file->header.e_type,
				      .flags = file->header.e_flags,
				      .bytes = bytes,
				      .byte_count = size };
	struct reporting reporting = { .report = { .size = sizeof reporting.report,
						   .function = report_function,
						   .section = report_section,
						   .symbol = report_symbol,
						   .addresses = report_addresses,
						   .refused = report_refused },
				       .description = description };
	bool listed = list_sections(file, bytes, &image) && list_symbols(file, &image);
	int code = listed ? decoder_read_image(decoder, &image, &reporting.report) : -ENOMEM;
	description->is_damaged = code && code != -ENOMEM;
	free((void *)image.sections);
	free((void *)image.symbols);
	return code == -ENOMEM ? code : 0;
}

void code_description_free(struct code_description *description)
{
	array_free(&description->functions);
	array_free(&description->sections);
	array_free(&description->symbols);
	array_free(&description->attributes);
}
