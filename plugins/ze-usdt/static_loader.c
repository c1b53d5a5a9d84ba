/* SPDX-License-Identifier: Apache-2.0 */
/* See static_loader.h. */
#include "static_loader.h"
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "text/text_span.h"

#define SECTIONS_MAX 4096u
/* Larger sections are data of another kind: neural networks, and the like. */
#define SECTION_SIZE_MAX (UINT64_C(256) << 20)
#define PART_SIZE ((size_t)256 << 10)

/*
 * Texts of source/lib/ze_lib.cpp in oneapi-src/level-zero. The first one is only in builds that are linked statically,
 * since 1.21.1; the second one, with its NUL, is the name of a function that they find in libze_loader.so.1
 * since 1.21.9.
 */
enum { TEXT_LOADER, TEXT_TRACING, TEXTS };
static const struct {
	const char *text;
	size_t size;
} texts[TEXTS] = {
#define TEXT(text, nul)                                                                                                \
	{                                                                                                              \
		text, sizeof text - 1 + (nul)                                                                          \
	}
	[TEXT_LOADER] = TEXT("ze_lib Context Init() Static Loader Found Loader Version v", 0),
	[TEXT_TRACING] = TEXT("zelEnableTracingLayer", 1),
};
#define TEXT_SIZE_MAX 64u

/* Notes which texts a section contains. Parts overlap, so that no text is cut in two. */
static void section_search(const struct elf_reader *bytes, const Elf64_Shdr *section, char *part, bool found[TEXTS])
{
	for (uint64_t offset = 0; offset < section->sh_size; offset += PART_SIZE - TEXT_SIZE_MAX) {
		uint64_t left = section->sh_size - offset;
		size_t size = left < PART_SIZE ? (size_t)left : PART_SIZE;
		if (!bytes->read(bytes, section->sh_offset + offset, part, size))
			return;
		for (int i = 0; i < TEXTS; i++)
			found[i] |= memmem(part, size, texts[i].text, texts[i].size) != NULL;
	}
}

bool static_loader_is_untraced(const struct elf_reader *bytes)
{
	struct elf_sections sections;
	bool found[TEXTS] = { false };

	CLEANUP_FREE char *part = malloc(PART_SIZE);
	if (!part || !elf_sections_read(bytes, SECTIONS_MAX, &sections))
		return false;
	for (size_t i = 0; i < sections.count; i++) {
		const Elf64_Shdr *section = &sections.items[i];
		/* Constants: neither symbol names, which may be those of functions, nor code, nor variables. */
		if (section->sh_type == SHT_PROGBITS && section->sh_flags & SHF_ALLOC &&
		    !(section->sh_flags & (SHF_EXECINSTR | SHF_WRITE)) && section->sh_size <= SECTION_SIZE_MAX &&
		    section->sh_offset <= bytes->size)
			section_search(bytes, section, part, found);
	}
	free(sections.items);
	return found[TEXT_LOADER] && !found[TEXT_TRACING];
}

bool environment_has_tracing_layer(const char *text, size_t length)
{
	struct text_span rest = { text, length }, variable;

	while (span_take_field(&rest, '\0', &variable) && rest.text)
		if (span_take(&variable, "ZE_ENABLE_TRACING_LAYER="))
			return span_is(variable, "1");
	return false;
}
