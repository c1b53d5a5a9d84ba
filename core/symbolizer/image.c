/* SPDX-License-Identifier: Apache-2.0 */
/* One ELF image: see image.h. */
#include "symbolizer/image.h"

#include <errno.h>
#include <stdlib.h>
#include "base/cleanup.h"
#include "symbolizer/elf_symbols.h"

void image_free(struct image *image)
{
	if (!image)
		return;
	array_free(&image->segments);
	symbol_table_free(&image->symbols);
	debug_info_free(image->debug_info);
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

/* The files that one image's symbols come from. */
struct image_files {
	struct elf_file *image;
	struct elf_file debug, mini; /* ELF_FILE_NONE where there is none, or it is not needed */
};

/* Adds one table's functions; false when out of memory. */
static bool add_symbols(struct image *image, const struct elf_file *elf, uint32_t type, struct symbol_builder *builder)
{
	long added = elf->elf ? elf_symbols_add(elf, type, builder) : 0;
	if (added == -ENOEXEC)
		image->damaged++;
	return added != -ENOMEM;
}

static bool read_symbols(struct image *image, const struct image_files *files)
{
	struct symbol_builder builder = { 0 };
	CLEANUP_FREE char *stub_names = NULL;
	bool done = add_symbols(image, files->image, SHT_SYMTAB, &builder) &&
		    add_symbols(image, files->image, SHT_DYNSYM, &builder) &&
		    add_symbols(image, &files->debug, SHT_SYMTAB, &builder) &&
		    add_symbols(image, &files->mini, SHT_SYMTAB, &builder) &&
		    elf_plt_add(files->image, &builder, &stub_names) == 0 &&
		    symbol_builder_finish(&builder, &image->symbols);
	symbol_builder_free(&builder);
	return done;
}

/* Opens what was taken out of the image and is wanted. */
static void open_debug_files(struct image *image, struct image_files *files, const struct image_place *place,
			     bool lines)
{
	GElf_Shdr header;
	bool has_symbols = elf_file_section(files->image, NULL, SHT_SYMTAB, &header) != NULL;
	if (has_symbols && (!lines || debug_info_exists(files->image)))
		return;
	int code = debug_file_open(&files->debug, files->image, place);
	if (code && code != -ENOENT)
		image->damaged++;
	if (!code || has_symbols)
		return;
	code = debug_file_open_mini(&files->mini, files->image);
	if (code && code != -ENOENT)
		image->damaged++;
}

static void read_debug_info(struct image *image, struct image_files *files, const struct image_place *place)
{
	struct elf_file *source = debug_info_exists(files->image) ? files->image : &files->debug;
	if (!source->elf || !debug_info_exists(source))
		return;
	image->debug_info = debug_info_new(source, place);
	if (!image->debug_info)
		image->damaged++;
}

struct image *image_new(struct elf_file *elf, const struct image_place *place, bool lines)
{
	struct image_files files = { .image = elf, .debug = ELF_FILE_NONE, .mini = ELF_FILE_NONE };
	struct image *image = calloc(1, sizeof *image);
	if (image) {
		open_debug_files(image, &files, place, lines);
		if (!elf_file_segments(elf, &image->segments) || !read_symbols(image, &files)) {
			image_free(image);
			image = NULL;
		} else if (lines) {
			read_debug_info(image, &files, place);
		}
	}
	elf_file_close(elf);
	elf_file_close(&files.debug);
	elf_file_close(&files.mini);
	return image;
}
