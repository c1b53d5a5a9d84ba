/* SPDX-License-Identifier: Apache-2.0 */
/* Separate debug files and mini debug info: see debug_file.h. */
#include "symbolizer/debug_file.h"

#include <errno.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <elfutils/libdwelf.h>
#include "base/cleanup.h"
#include "symbolizer/regular_file.h"

/* Fedora's mini debug info unpacks to at most some MiB; its XZ dictionary is 8 MiB. */
#define MINI_SIZE_MAX ((size_t)256 << 20)
#define MINI_MEMORY_MAX ((uint64_t)128 << 20)
#define CHUNK_SIZE ((size_t)1 << 18)
/* SHA-512; the usual SHA-1 has 20 bytes. */
#define BUILD_ID_SIZE_MAX 64

static bool has_build_id(const struct elf_file *file, const uint8_t *build_id, size_t size)
{
	const uint8_t *found;
	return elf_file_build_id(file, &found) == size && memcmp(found, build_id, size) == 0;
}

/* Opens a file of the debug folder, iaprof's own first, then the one of the image's root. Returns a descriptor. */
static int open_in_roots(const struct image_place *place, const char *path)
{
	int descriptor = regular_file_open(-1, path, 0);
	return descriptor < 0 && place->root >= 0 ? regular_file_open(place->root, path, 0) : descriptor;
}

int debug_file_open_by_build_id(struct elf_file *debug, const uint8_t *build_id, size_t size,
				const struct image_place *place)
{
	if (size < 2 || size > BUILD_ID_SIZE_MAX)
		return -ENOENT;
	char text[2 * BUILD_ID_SIZE_MAX + 1];
	for (size_t i = 0; i < size; i++)
		snprintf(text + 2 * i, 3, "%02x", build_id[i]);
	CLEANUP_FREE char *path = NULL;
	if (asprintf(&path, "%s/.build-id/%.2s/%s.debug", place->debug_path, text, text + 2) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	int descriptor = open_in_roots(place, path);
	if (descriptor < 0)
		return -ENOENT;
	int code = elf_file_open(debug, descriptor);
	if (!code && !has_build_id(debug, build_id, size)) {
		elf_file_close(debug);
		code = -ESTALE;
	}
	return code;
}

/* The checksum of .gnu_debuglink is the CRC-32 that XZ uses as well. */
static int check_checksum(int descriptor, uint32_t wanted)
{
	CLEANUP_FREE uint8_t *chunk = malloc(CHUNK_SIZE);
	if (!chunk)
		return -ENOMEM;
	uint32_t checksum = 0;
	ssize_t length;
	for (off_t offset = 0; (length = pread(descriptor, chunk, CHUNK_SIZE, offset)) > 0; offset += length)
		checksum = lzma_crc32(chunk, (size_t)length, checksum);
	if (length < 0)
		return -errno;
	return checksum == wanted ? 0 : -ESTALE;
}

/* A candidate for .gnu_debuglink; takes the descriptor over. */
static int open_linked(struct elf_file *debug, const struct elf_file *image, int descriptor, uint32_t checksum)
{
	if (descriptor < 0)
		return -ENOENT;
	int code = check_checksum(descriptor, checksum);
	if (code) {
		close(descriptor);
		return code;
	}
	code = elf_file_open(debug, descriptor);
	const uint8_t *build_id, *debug_build_id;
	size_t size = elf_file_build_id(image, &build_id);
	/* objcopy copies the build id; a file that has another one was linked to by mistake. */
	if (!code && size && elf_file_build_id(debug, &debug_build_id) && !has_build_id(debug, build_id, size)) {
		elf_file_close(debug);
		code = -ESTALE;
	}
	return code;
}

static int open_by_link(struct elf_file *debug, const struct elf_file *image, const struct image_place *place)
{
	GElf_Word checksum;
	const char *name = dwelf_elf_gnu_debuglink(image->elf, &checksum);
	const char *slash = place->path ? strrchr(place->path, '/') : NULL;
	if (!name || !*name || strchr(name, '/') || !slash)
		return -ENOENT;
	int folder_length = (int)(slash - place->path);
	int result = -ENOENT;
	for (int i = 0; i < 3; i++) {
		CLEANUP_FREE char *path = NULL;
		if (asprintf(&path, "%s%.*s%s/%s", i == 2 ? place->debug_path : "", folder_length, place->path,
			     i == 1 ? "/.debug" : "", name) < 0) {
			path = NULL;
			return -ENOMEM;
		}
		int descriptor = i == 2 ? open_in_roots(place, path) : regular_file_open(place->root, path, 0);
		int code = open_linked(debug, image, descriptor, checksum);
		if (!code)
			return 0;
		if (code != -ENOENT)
			result = code;
	}
	return result;
}

int debug_file_open(struct elf_file *debug, const struct elf_file *image, const struct image_place *place)
{
	const uint8_t *build_id;
	size_t size = elf_file_build_id(image, &build_id);
	int code = debug_file_open_by_build_id(debug, build_id, size, place);
	if (!code)
		return 0;
	int link_code = open_by_link(debug, image, place);
	return link_code == -ENOENT ? code : link_code;
}

/* Unpacks one XZ stream, not trusting it for its size. */
static char *unpack(const void *bytes, size_t size, size_t *unpacked_size)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	if (lzma_stream_decoder(&stream, MINI_MEMORY_MAX, 0) != LZMA_OK)
		return NULL;
	stream.next_in = bytes;
	stream.avail_in = size;
	CLEANUP_FREE char *unpacked = NULL;
	size_t capacity = 0;
	lzma_ret result = LZMA_OK;
	while (result == LZMA_OK) {
		if (stream.avail_out == 0) {
			size_t used = capacity;
			if (used >= MINI_SIZE_MAX || !array_grow((void **)&unpacked, &capacity, used + CHUNK_SIZE, 1))
				break;
			stream.next_out = (uint8_t *)unpacked + used;
			stream.avail_out = capacity - used;
		}
		result = lzma_code(&stream, LZMA_FINISH);
	}
	*unpacked_size = stream.total_out;
	lzma_end(&stream);
	return result == LZMA_STREAM_END ? STEAL_POINTER(unpacked) : NULL;
}

int debug_file_open_mini(struct elf_file *debug, const struct elf_file *image)
{
	GElf_Shdr header;
	Elf_Data *data = elf_file_section_data(elf_file_section(image, ".gnu_debugdata", 0, &header));
	if (!data)
		return -ENOENT;
	size_t size;
	char *unpacked = unpack(data->d_buf, data->d_size, &size);
	return unpacked ? elf_file_open_memory(debug, unpacked, size) : -ENOEXEC;
}
