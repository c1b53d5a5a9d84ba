/* SPDX-License-Identifier: Apache-2.0 */
/* One ELF image: see image.h. */
#include "symbolizer/image.h"

#include <errno.h>
#include <stdlib.h>
#include "symbolizer/elf_symbols.h"

void image_free(struct image *image)
{
	if (!image)
		return;
	array_free(&image->segments);
	symbol_table_free(&image->symbols);
	free(image);
}

bool image_address(const struct image *image, uint64_t file_offset, uint64_t *address)
{
	const struct elf_segment *found = NULL;
	for (size_t i = 0; i < image->segments.count; i++) {
		const struct elf_segment *segment = &image->segments.items[i];
		if (file_offset < segment->file_offset || file_offset - segment->file_offset >= segment->size)
			continue;
		/* Segments can share a page of the file; it is the code that runs. */
		if (!found || (segment->executable && !found->executable))
			found = segment;
	}
	if (!found)
		return false;
	*address = found->address + (file_offset - found->file_offset);
	return true;
}

/* Adds one table's functions; false when out of memory. */
static bool add_symbols(struct image *image, const struct elf_file *elf, uint32_t type, struct symbol_builder *builder,
			long *added)
{
	*added = elf_symbols_add(elf, type, builder);
	if (*added == -ENOEXEC)
		image->damaged++;
	return *added != -ENOMEM;
}

static bool read_symbols(struct image *image, const struct elf_file *elf)
{
	struct symbol_builder builder = { 0 };
	long added;
	bool done = add_symbols(image, elf, SHT_SYMTAB, &builder, &added) &&
		    add_symbols(image, elf, SHT_DYNSYM, &builder, &added) &&
		    symbol_builder_finish(&builder, &image->symbols);
	symbol_builder_free(&builder);
	return done;
}

struct image *image_new(struct elf_file *elf, const struct image_place *place)
{
	(void)place;
	struct image *image = calloc(1, sizeof *image);
	if (image && (!elf_file_segments(elf, &image->segments) || !read_symbols(image, elf))) {
		image_free(image);
		image = NULL;
	}
	elf_file_close(elf);
	return image;
}
