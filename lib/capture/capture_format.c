/* SPDX-License-Identifier: Apache-2.0 */
/* See capture_format.h. All input is validated before use. */
#include "capture/capture_format.h"

#include <errno.h>
#include <inttypes.h>
#include <lzma.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

_Static_assert(sizeof(struct capture_file_header) == 32, "part of the file format");
_Static_assert(sizeof(struct capture_block_header) == 32, "part of the file format");
_Static_assert(sizeof(struct capture_totals) == 24, "part of the file format");

static uint32_t checksum(const void *bytes, size_t size)
{
	return lzma_crc32(bytes, size, 0);
}

void capture_file_header_make(struct capture_file_header *header)
{
	*header = (struct capture_file_header){
		.byte_order = CAPTURE_BYTE_ORDER,
		.format_version = CAPTURE_FORMAT_VERSION,
		.schema_version = IAPROF_SCHEMA_VERSION,
	};
	memcpy(header->magic, CAPTURE_MAGIC, sizeof header->magic);
	header->checksum = checksum(header, offsetof(struct capture_file_header, checksum));
}

void capture_block_seal(struct capture_block_header *header, const void *payload)
{
	header->payload_checksum = checksum(payload, header->compressed_size);
	header->header_checksum = checksum(header, offsetof(struct capture_block_header, header_checksum));
}

static int reader_fail(struct capture_reader *reader, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static int reader_fail(struct capture_reader *reader, int error, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(reader->wrong, sizeof reader->wrong, format, arguments);
	va_end(arguments);
	return reader->failed = -error;
}

/* Reports damage in the block that begins at offset. */
static int block_fail(struct capture_reader *reader, uint64_t offset, const char *what)
{
	return reader_fail(reader, EBADMSG, "block %" PRIu64 " at byte %" PRIu64 ": %s", reader->totals.blocks, offset,
			   what);
}

/* Reports that the file ends in the block that begins at offset, or at its start. */
static int block_truncated(struct capture_reader *reader, uint64_t offset)
{
	return reader_fail(reader, EBADMSG, "capture is truncated in block %" PRIu64 " at byte %" PRIu64,
			   reader->totals.blocks, offset);
}

/* Reads size bytes. Returns their number, fewer at the end of the file, or a negative errno with wrong set. */
static ssize_t reader_read(struct capture_reader *reader, void *data, size_t size)
{
	ssize_t got = reader->read(reader->context, data, size);
	if (got < 0)
		return reader_fail(reader, (int)-got, "read at byte %" PRIu64 ": %s", reader->offset,
				   strerror((int)-got));
	reader->offset += (uint64_t)got;
	return got;
}

ssize_t capture_read_file(void *context, void *data, size_t size)
{
	size_t got = 0;
	while (got < size) {
		ssize_t more = read(*(const int *)context, (char *)data + got, size - got);
		if (more < 0 && errno == EINTR)
			continue;
		if (more < 0)
			return -errno;
		if (!more)
			break;
		got += (size_t)more;
	}
	return (ssize_t)got;
}

int capture_reader_open(struct capture_reader *reader)
{
	struct capture_file_header header;
	ssize_t got = reader_read(reader, &header, sizeof header);
	if (got < 0)
		return (int)got;
	size_t magic_size = (size_t)got < sizeof header.magic ? (size_t)got : sizeof header.magic;
	if (!magic_size || memcmp(header.magic, CAPTURE_MAGIC, magic_size) != 0)
		return reader_fail(reader, EINVAL, "not a capture of iaprof");
	if ((size_t)got < sizeof header)
		return reader_fail(reader, EBADMSG, "capture is truncated at byte %zd, in the file header", got);
	if (header.byte_order == __builtin_bswap32(CAPTURE_BYTE_ORDER))
		return reader_fail(reader, EINVAL, "written on a machine of the other byte order: replay it on one");
	if (header.checksum != checksum(&header, offsetof(struct capture_file_header, checksum)))
		return reader_fail(reader, EBADMSG, "damaged in the file header: the checksum is wrong");
	if (header.byte_order != CAPTURE_BYTE_ORDER || header.flags || header.pad)
		return reader_fail(reader, EINVAL, "the file header has what this iaprof does not know");
	if (header.format_version != CAPTURE_FORMAT_VERSION)
		return reader_fail(reader, EINVAL, "format version %" PRIu32 ", this iaprof reads version %u: %s",
				   header.format_version, CAPTURE_FORMAT_VERSION,
				   header.format_version > CAPTURE_FORMAT_VERSION ? "use a newer one"
										  : "use an older one");
	if (header.schema_version != IAPROF_SCHEMA_VERSION)
		return reader_fail(reader, EINVAL, "schema version %" PRIu32 ", this iaprof reads version %u: %s",
				   header.schema_version, IAPROF_SCHEMA_VERSION,
				   header.schema_version > IAPROF_SCHEMA_VERSION ? "use a newer one"
										 : "use an older one");
	reader->decompressor = ZSTD_createDCtx();
	/* Eight more bytes, to detect a frame that is larger than the size in its header. */
	reader->records = malloc(CAPTURE_BLOCK_SIZE_MAX + 8);
	reader->compressed_capacity = ZSTD_compressBound(CAPTURE_BLOCK_SIZE_MAX);
	reader->compressed = malloc(reader->compressed_capacity);
	if (!reader->decompressor || !reader->records || !reader->compressed)
		return reader_fail(reader, ENOMEM, "not enough memory");
	return 0;
}

static int read_end(struct capture_reader *reader, const struct capture_block_header *header, uint64_t offset)
{
	struct capture_totals totals;
	char rest;
	if (header->compressed_size != sizeof totals || header->size != sizeof totals || header->record_count)
		return block_fail(reader, offset, "damaged: the end block has a wrong size");
	memcpy(&totals, reader->compressed, sizeof totals);
	if (memcmp(&totals, &reader->totals, sizeof totals) != 0)
		return block_fail(reader, offset, "damaged: the totals at the end are not those of the blocks");
	ssize_t got = reader_read(reader, &rest, 1);
	if (got < 0)
		return (int)got;
	if (got)
		return reader_fail(reader, EBADMSG, "something follows the end at byte %" PRIu64, reader->offset - 1);
	return 0;
}

/* Splits the payload into records. Sets batch to those before the first malformed one. */
static int read_records(struct capture_reader *reader, const struct capture_block_header *header, uint64_t offset,
			struct iaprof_batch *batch)
{
	/* Decompresses one frame into a buffer of fixed size, so that the frame's window and size do not affect memory.
	 */
	size_t frame_size = ZSTD_findFrameCompressedSize(reader->compressed, header->compressed_size);
	if (ZSTD_isError(frame_size) || frame_size != header->compressed_size)
		return block_fail(reader, offset, "damaged: the payload is not one zstd frame");
	size_t size = ZSTD_decompressDCtx(reader->decompressor, reader->records, header->size + 8, reader->compressed,
					  header->compressed_size);
	if (ZSTD_isError(size) || size != header->size)
		return block_fail(reader, offset, "damaged: it does not decompress to the size in its header");
	*batch = (struct iaprof_batch){ .records = reader->records };
	while (batch->size < size) {
		const struct iaprof_record *record = (const void *)((char *)reader->records + batch->size);
		size_t available = size - batch->size;
		if (available < sizeof *record || record->size < sizeof *record || record->size % 8 ||
		    record->size > IAPROF_RECORD_SIZE_MAX || record->size > available ||
		    batch->count == header->record_count)
			break;
		batch->size += record->size;
		batch->count++;
	}
	if (batch->size < size || batch->count != header->record_count)
		block_fail(reader, offset, "damaged: its records do not add up");
	else
		reader->totals.blocks++;
	reader->totals.records += batch->count;
	reader->totals.bytes += batch->size;
	return batch->count ? 1 : reader->failed;
}

int capture_reader_next(struct capture_reader *reader, struct iaprof_batch *batch)
{
	if (reader->failed)
		return reader->failed;
	uint64_t offset = reader->offset;
	struct capture_block_header header;
	ssize_t got = reader_read(reader, &header, sizeof header);
	if (got < 0)
		return (int)got;
	if ((size_t)got < sizeof header)
		return block_truncated(reader, offset);
	if (header.header_checksum != checksum(&header, offsetof(struct capture_block_header, header_checksum)))
		return block_fail(reader, offset, "damaged: the checksum of its header is wrong");
	if (header.number != (uint32_t)reader->totals.blocks)
		return block_fail(reader, offset, "damaged: it is not the block that belongs here");
	if ((header.kind != CAPTURE_BLOCK_RECORDS && header.kind != CAPTURE_BLOCK_END) || header.pad)
		return block_fail(reader, offset, "its header has what this iaprof does not know");
	if (header.compressed_size > reader->compressed_capacity || header.size > CAPTURE_BLOCK_SIZE_MAX ||
	    !header.size)
		return block_fail(reader, offset, "damaged: its size is out of range");
	got = reader_read(reader, reader->compressed, header.compressed_size);
	if (got < 0)
		return (int)got;
	if ((size_t)got < header.compressed_size)
		return block_truncated(reader, offset);
	if (header.payload_checksum != checksum(reader->compressed, header.compressed_size))
		return block_fail(reader, offset, "damaged: the checksum is wrong");
	return header.kind == CAPTURE_BLOCK_END ? read_end(reader, &header, offset)
						: read_records(reader, &header, offset, batch);
}

void capture_reader_close(struct capture_reader *reader)
{
	ZSTD_freeDCtx(reader->decompressor);
	free(reader->compressed);
	free(reader->records);
	reader->decompressor = NULL;
	reader->compressed = reader->records = NULL;
}
