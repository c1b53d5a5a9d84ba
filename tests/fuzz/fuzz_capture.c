/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: the reader of captures. Each input is read twice: as it is, and with its checksums made right, since
 * hardly any change would get past them otherwise.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "capture/capture_format.h"

struct memory {
	const uint8_t *data;
	size_t size, position;
};

static ssize_t memory_read(void *context, void *data, size_t size)
{
	struct memory *memory = context;
	size_t left = memory->size - memory->position;
	size = size < left ? size : left;
	memcpy(data, memory->data + memory->position, size);
	memory->position += size;
	return (ssize_t)size;
}

/* Reads all of it; what comes out must keep what capture_reader_next() promises. */
static void read_all(const uint8_t *data, size_t size)
{
	struct memory memory = { data, size, 0 };
	struct capture_reader reader = { .read = memory_read, .context = &memory };
	struct iaprof_batch batch;
	int result = capture_reader_open(&reader);
	if (result == 0)
		while ((result = capture_reader_next(&reader, &batch)) > 0) {
			size_t bytes = 0;
			uint32_t count = 0;
			for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(&batch, record));) {
				bytes += record->size;
				count++;
				if (record->size % 8 || record->size > IAPROF_RECORD_SIZE_MAX)
					abort();
			}
			if (bytes != batch.size || count != batch.count || !count)
				abort();
		}
	if ((result < 0) != (reader.wrong[0] != '\0'))
		abort();
	capture_reader_close(&reader);
}

/* The same checksum for a file header: a block header's seal is over any bytes. */
static uint32_t checksum(const void *bytes, uint32_t size)
{
	struct capture_block_header seal = { .compressed_size = size };
	capture_block_seal(&seal, bytes);
	return seal.payload_checksum;
}

static void repair(uint8_t *data, size_t size)
{
	struct capture_file_header header;
	if (size < sizeof header)
		return;
	memcpy(&header, data, sizeof header);
	header.checksum = checksum(&header, offsetof(struct capture_file_header, checksum));
	memcpy(data, &header, sizeof header);
	struct capture_block_header block;
	for (size_t offset = sizeof header; size - offset >= sizeof block;) {
		memcpy(&block, data + offset, sizeof block);
		size_t left = size - offset - sizeof block;
		if (block.compressed_size > left)
			block.compressed_size = (uint32_t)left;
		capture_block_seal(&block, data + offset + sizeof block);
		memcpy(data + offset, &block, sizeof block);
		offset += sizeof block + block.compressed_size;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_all(data, size);
	uint8_t *copy CLEANUP_FREE = malloc(size + 1);
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	repair(copy, size);
	read_all(copy, size);
	return 0;
}
