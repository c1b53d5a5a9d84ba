/* SPDX-License-Identifier: Apache-2.0 */
/* See elf_image.h. */
#include "symbolizer/elf_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/cleanup.h"
#include "symbolizer/elf_symbols.h"
#include "symbolizer/unwind/unwind_table.h"

void elf_image_free(struct elf_image *image)
{
	if (!image)
		return;
	array_free(&image->segments);
	symbol_table_free(&image->symbols);
	debug_info_free(image->debug_info);
	free(image);
}

/* The files that contain the symbols of one image. */
struct elf_files {
	struct elf_file *image;
	struct elf_file debug, mini; /* ELF_FILE_NONE: does not exist, or is not needed */
};

/* Adds the functions of one symbol table; false if out of memory. */
static bool add_symbols(struct elf_image *image, const struct elf_file *elf, uint32_t type,
			struct symbol_builder *builder)
{
	long added = elf->elf ? elf_symbols_add(elf, type, builder) : 0;
	if (added == -ENOEXEC)
		image->damage |= IMAGE_SYMBOLS_DAMAGED;
	return added != -ENOMEM;
}

static bool add_nameless(void *builder, uint64_t start, uint64_t end)
{
	return symbol_builder_add(builder, "", start, end - start, end, SYMBOL_NAMELESS);
}

/* Adds the functions of a stripped file, without names, so that samples of one function have one frame. */
static void add_frames(const struct elf_files *files, struct symbol_builder *builder)
{
	GElf_Shdr header;
	if (!elf_file_section(files->image, NULL, SHT_SYMTAB, &header) &&
	    !(files->debug.elf && elf_file_section(&files->debug, NULL, SHT_SYMTAB, &header)))
		unwind_functions_each(files->image, add_nameless, builder);
}

static bool read_symbols(struct elf_image *image, const struct elf_files *files)
{
	struct symbol_builder builder = { 0 };
	CLEANUP_FREE char *stub_names = NULL;
	add_frames(files, &builder);
	bool done = add_symbols(image, files->image, SHT_SYMTAB, &builder) &&
		    add_symbols(image, files->image, SHT_DYNSYM, &builder) &&
		    add_symbols(image, &files->debug, SHT_SYMTAB, &builder) &&
		    add_symbols(image, &files->mini, SHT_SYMTAB, &builder) &&
		    elf_plt_add(files->image, &builder, &stub_names) == 0 &&
		    symbol_builder_finish(&builder, &image->symbols);
	symbol_builder_free(&builder);
	return done;
}

/* Opens separate debug files with symbols or debug information that the image lacks. */
static void open_debug_files(struct elf_image *image, struct elf_files *files, const struct debug_file_finder *finder,
			     bool lines)
{
	GElf_Shdr header;
	bool has_symbols = elf_file_section(files->image, NULL, SHT_SYMTAB, &header) != NULL;
	if (has_symbols && (!lines || debug_info_exists(files->image)))
		return;
	int code = debug_file_open(&files->debug, files->image, finder);
	if (code && code != -ENOENT)
		image->damage |= IMAGE_DEBUG_FILE_UNUSABLE;
	if (!code || has_symbols)
		return;
	code = debug_file_open_mini(&files->mini, files->image);
	if (code && code != -ENOENT)
		image->damage |= IMAGE_DEBUG_FILE_UNUSABLE;
}

static void read_debug_info(struct elf_image *image, struct elf_files *files, const struct debug_file_finder *finder)
{
	struct elf_file *source = debug_info_exists(files->image) ? files->image : &files->debug;
	if (!source->elf || !debug_info_exists(source))
		return;
	bool lacks_shared = false;
	image->debug_info = debug_info_new(source, finder, &lacks_shared);
	if (!image->debug_info)
		image->damage |= lacks_shared ? IMAGE_SHARED_DEBUG_INFO_MISSING : IMAGE_DEBUG_INFO_UNUSABLE;
}

static void read_build_id(struct elf_image *image, const struct elf_file *elf)
{
	const uint8_t *build_id;
	size_t size = elf_file_build_id(elf, &build_id);
	if (!size || size > sizeof image->build_id)
		return;
	image->build_id_size = (uint32_t)size;
	memcpy(image->build_id, build_id, size);
}

struct elf_image *elf_image_new(struct elf_file *elf, const struct debug_file_finder *finder, bool lines)
{
	struct elf_files files = { .image = elf, .debug = ELF_FILE_NONE, .mini = ELF_FILE_NONE };
	struct elf_image *image = calloc(1, sizeof *image);
	if (image) {
		read_build_id(image, elf);
		if (elf->header.e_shnum && !elf_file_names_end(elf))
			image->damage |= IMAGE_SECTION_NAMES_DAMAGED;
		open_debug_files(image, &files, finder, lines);
		if (!elf_file_segments(elf, &image->segments) || !read_symbols(image, &files)) {
			elf_image_free(image);
			image = NULL;
		} else if (lines) {
			read_debug_info(image, &files, finder);
		}
	}
	elf_file_close(elf);
	elf_file_close(&files.debug);
	elf_file_close(&files.mini);
	return image;
}
