/* SPDX-License-Identifier: Apache-2.0 */
/* See debug_file.h. */
#include "symbolizer/debug_file.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/cleanup.h"

/* Fedora's mini debug info unpacks to at most some MiB; its XZ dictionary is 8 MiB. */
#define MINI_SIZE_MAX ((size_t)256 << 20)
#define MINI_MEMORY_MAX ((uint64_t)128 << 20)
#define CHUNK_SIZE ((size_t)1 << 18)
/* Limit on bytes read for a checksum: the largest debug files located by checksum are a few GiB. */
#define LINKED_SIZE_MAX ((off_t)4 << 30)
/* SHA-512; the usual SHA-1 has 20 bytes. */
#define BUILD_ID_SIZE_MAX 64

static bool has_build_id(const struct elf_file *file, const uint8_t *build_id, size_t size)
{
	const uint8_t *found;
	return elf_file_build_id(file, &found) == size && memcmp(found, build_id, size) == 0;
}

/* Opens the first candidate that has a build id. */
static int open_with_build_id(struct elf_file *debug, enum debug_file_kind kind, const void *key, size_t key_size,
			      const uint8_t *build_id, size_t size, const struct debug_file_finder *finder)
{
	int result = -ENOENT;
	for (uint32_t place = 0;; place++) {
		int descriptor = finder->open(finder->context, kind, key, key_size, place);
		if (descriptor == -ENXIO)
			return result;
		if (descriptor < 0)
			continue;
		if (elf_file_open(debug, descriptor)) {
			result = -ENOEXEC;
			continue;
		}
		if (has_build_id(debug, build_id, size))
			return 0;
		elf_file_close(debug);
		result = -ESTALE;
	}
}

static int open_by_build_id(struct elf_file *debug, const uint8_t *build_id, size_t size,
			    const struct debug_file_finder *finder)
{
	return size < 2 || size > BUILD_ID_SIZE_MAX
		       ? -ENOENT
		       : open_with_build_id(debug, DEBUG_FILE_BUILD_ID, build_id, size, build_id, size, finder);
}

int debug_file_open_shared(struct elf_file *debug, const char *path, const uint8_t *build_id, size_t size,
			   const struct debug_file_finder *finder)
{
	int code = open_by_build_id(debug, build_id, size, finder);
	size_t length = strlen(path);
	if (!code || !length || length > DEBUG_FILE_KEY_MAX || size < 2)
		return code;
	int by_path = open_with_build_id(debug, DEBUG_FILE_SHARED, path, length, build_id, size, finder);
	return by_path == -ENOENT ? code : by_path;
}

/* The checksum of .gnu_debuglink is the CRC-32 that XZ uses, too. */
static int check_checksum(int descriptor, uint32_t wanted)
{
	CLEANUP_FREE uint8_t *chunk = malloc(CHUNK_SIZE);
	if (!chunk)
		return -ENOMEM;
	uint32_t checksum = 0;
	ssize_t length;
	struct stat status;
	if (fstat(descriptor, &status))
		return -errno;
	if (status.st_size > LINKED_SIZE_MAX)
		return -EFBIG;
	for (off_t offset = 0; (length = pread(descriptor, chunk, CHUNK_SIZE, offset)) > 0; offset += length)
		checksum = lzma_crc32(chunk, (size_t)length, checksum);
	if (length < 0)
		return -errno;
	return checksum == wanted ? 0 : -ESTALE;
}

/* Opens a candidate for .gnu_debuglink; takes ownership of the descriptor. */
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
	/* objcopy copies the build id; if it differs, the link is wrong. */
	if (!code && size && elf_file_build_id(debug, &debug_build_id) && !has_build_id(debug, build_id, size)) {
		elf_file_close(debug);
		code = -ESTALE;
	}
	return code;
}

/* Reads the name and checksum in .gnu_debuglink: a NUL-terminated name, padding to four bytes, and a word. */
static const char *read_link(const struct elf_file *image, uint32_t *checksum)
{
	GElf_Shdr header;
	Elf_Data *data = elf_file_section_data(elf_file_section(image, ".gnu_debuglink", 0, &header));
	const char *end = data ? memchr(data->d_buf, '\0', data->d_size) : NULL;
	if (!end)
		return NULL;
	size_t length = (size_t)(end - (const char *)data->d_buf), word = (length / 4 + 1) * 4;
	if (!length || length > DEBUG_FILE_KEY_MAX || memchr(data->d_buf, '/', length) ||
	    data->d_size - word > data->d_size || data->d_size - word < sizeof *checksum)
		return NULL;
	memcpy(checksum, (const char *)data->d_buf + word, sizeof *checksum);
	bool is_big = image->header.e_ident[EI_DATA] == ELFDATA2MSB;
	if (is_big != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__))
		*checksum = __builtin_bswap32(*checksum);
	return data->d_buf;
}

static int open_by_link(struct elf_file *debug, const struct elf_file *image, const struct debug_file_finder *finder)
{
	uint32_t checksum;
	const char *name = read_link(image, &checksum);
	int result = -ENOENT;
	for (uint32_t place = 0; name; place++) {
		int descriptor = finder->open(finder->context, DEBUG_FILE_LINK, name, strlen(name), place);
		if (descriptor == -ENXIO)
			break;
		int code = open_linked(debug, image, descriptor, checksum);
		if (!code)
			return 0;
		if (code != -ENOENT)
			result = code;
	}
	return result;
}

int debug_file_open(struct elf_file *debug, const struct elf_file *image, const struct debug_file_finder *finder)
{
	const uint8_t *build_id;
	size_t size = elf_file_build_id(image, &build_id);
	int code = open_by_build_id(debug, build_id, size, finder);
	if (!code)
		return 0;
	int link_code = open_by_link(debug, image, finder);
	return link_code == -ENOENT ? code : link_code;
}

/* Decompresses an XZ stream of unknown size. */
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
