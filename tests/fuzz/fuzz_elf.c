/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an ELF image: symbols, stubs, mini debug info, lines and inlined functions. */
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "symbolizer/demangle.h"
#include "symbolizer/elf_image.h"

static int find_nothing(void *context, enum debug_file_kind kind, const void *key, size_t key_size, uint32_t place)
{
	(void)context, (void)kind, (void)key, (void)key_size, (void)place;
	return -ENXIO;
}

/* What a profile would ask about one address. */
static void look_up(struct elf_image *image, uint64_t address)
{
	struct debug_frame frames[64];
	char text[DEMANGLE_LENGTH_MAX + 1];
	uint64_t start;
	const char *name = symbol_table_find(&image->symbols, address, &start);
	if (name)
		demangle(name, text);
	size_t count = image->debug_info ? debug_info_find(image->debug_info, address, frames, 64) : 0;
	for (size_t i = 0; i < count; i++) {
		if (frames[i].name)
			demangle(frames[i].name, text);
		if (frames[i].file && strlen(frames[i].file) > SIZE_MAX / 2)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *copy = malloc(size ? size : 1);
	if (!copy)
		return 0;
	memcpy(copy, bytes, size);
	struct elf_file elf;
	if (elf_file_open_memory(&elf, copy, size))
		return 0;
	struct debug_file_finder finder = { .open = find_nothing };
	struct elf_image *image = elf_image_new(&elf, &finder, true);
	if (!image)
		return 0;
	for (size_t i = 0; i < image->segments.count && i < 8; i++) {
		uint64_t address;
		if (elf_segments_address(&image->segments, image->segments.items[i].file_offset, &address))
			for (uint64_t offset = 0; offset < 1024; offset += 13)
				look_up(image, address + offset);
	}
	for (size_t i = 0; i < image->symbols.ranges.count && i < 256; i++)
		look_up(image, image->symbols.ranges.items[i].start);
	elf_image_free(image);
	return 0;
}
