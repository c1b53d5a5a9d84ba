/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capture file: a header, then blocks of records, each compressed separately, then an end block with totals. All
 * numbers are in the byte order of the machine that wrote it, which the header records.
 * plugins/sink-capture/README.md documents the format to the byte.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <iaprof/record.h>

/* A byte above 0x7f and a newline detect text conversions of the file, as in PNG. */
#define CAPTURE_MAGIC "\x89IAPROF\n"
#define CAPTURE_BYTE_ORDER 0x01020304u
#define CAPTURE_FORMAT_VERSION 1u

struct capture_file_header {
	char magic[8];           /* CAPTURE_MAGIC */
	uint32_t byte_order;     /* CAPTURE_BYTE_ORDER */
	uint32_t format_version; /* version of blocks and headers; incremented for incompatible changes */
	uint32_t schema_version; /* IAPROF_SCHEMA_VERSION of the records */
	uint32_t flags;          /* 0 */
	uint32_t pad;            /* 0 */
	uint32_t checksum;       /* CRC-32 (ISO 3309) of the bytes before it */
};

enum capture_block_kind {
	CAPTURE_BLOCK_RECORDS = 0x434f4c42, /* "BLOC" in a little-endian file */
	CAPTURE_BLOCK_END = 0x21444e45      /* "END!" */
};

struct capture_block_header {
	uint32_t kind;             /* enum capture_block_kind */
	uint32_t number;           /* 0, 1, 2, ...: missing and repeated blocks are detected */
	uint32_t compressed_size;  /* bytes that follow this header */
	uint32_t size;             /* bytes of the records, <= CAPTURE_BLOCK_SIZE_MAX; end block: as compressed_size */
	uint32_t record_count;     /* end block: 0 */
	uint32_t pad;              /* 0 */
	uint32_t payload_checksum; /* CRC-32 of the bytes that follow */
	uint32_t header_checksum;  /* CRC-32 of the bytes before it */
};

/* Follows the end block's header. A file without it is truncated. */
struct capture_totals {
	uint64_t blocks; /* without the end block */
	uint64_t records;
	uint64_t bytes; /* size of all records */
};

/* A writer ends a block if the next record would make it larger. */
#define CAPTURE_BLOCK_SIZE ((size_t)128 << 10)
/* Limit for readers: bounds the memory that a hostile file can make them use. */
#define CAPTURE_BLOCK_SIZE_MAX ((size_t)1 << 20)

void capture_file_header_make(struct capture_file_header *header);
/* Fills in the checksums of a block whose payload is complete. */
void capture_block_seal(struct capture_block_header *header, const void *payload);

/*
 * Reads a capture from start to end, from any input: read() returns the next size bytes, fewer only at the end, or a
 * negative errno.
 */
struct capture_reader {
	ssize_t (*read)(void *context, void *data, size_t size);
	void *context;
	uint64_t offset;              /* bytes read */
	struct capture_totals totals; /* totals of the intact blocks */
	char wrong[256];              /* why reading ended early, and where */
	/* private */
	struct ZSTD_DCtx_s *decompressor;
	void *compressed, *records;
	size_t compressed_capacity;
	int failed; /* error to return after the preceding records */
};

/* For struct capture_reader: context is a descriptor (int) of a file, which is read from its position on. */
ssize_t capture_read_file(void *context, void *data, size_t size);

/*
 * Reads the header. The caller sets read and context, zeroes the rest, and closes the reader in any case. Returns 0, or
 * a negative errno with wrong set: -EINVAL (not a capture, or of an unsupported version), -EBADMSG (damaged).
 */
int capture_reader_open(struct capture_reader *reader);
/*
 * Reads the records of the next block, whose sizes are validated; the batch is valid until the next call. Returns 1; 0
 * at the end of a complete capture; a negative errno with wrong set: -EBADMSG (damaged or truncated). The records
 * before a malformed record are returned first.
 */
int capture_reader_next(struct capture_reader *reader, struct iaprof_batch *batch);
void capture_reader_close(struct capture_reader *reader);
