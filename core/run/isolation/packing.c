/* SPDX-License-Identifier: Apache-2.0 */
/* See packing.h. */
#include "run/isolation/packing.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/regular_file.h"
#include "run/isolation/message.h"

/* Marks the offset of a text. */
#define TEXT_BIT (UINT64_C(1) << 63)

/* Precedes the copy of the struct. */
struct packed_header {
	uint64_t relocations; /* offset of an array of offsets of pointers */
	uint64_t relocation_count;
};

struct writer {
	ARRAY(char) bytes;
	struct string_table texts;
	ARRAY(uint64_t) text_offsets; /* by id - 1 */
	ARRAY(uint64_t) relocations;
	bool failed;
};

/* Appends bytes, 8-byte aligned. Returns their offset. */
static uint64_t append_bytes(struct writer *writer, const void *bytes, size_t size)
{
	size_t end = writer->bytes.count, offset = (end + 7) & ~(size_t)7;
	writer->failed = writer->failed || !array_reserve(&writer->bytes, offset + size);
	if (writer->failed)
		return 0;
	memset(writer->bytes.items + end, 0, offset - end);
	if (size)
		memcpy(writer->bytes.items + offset, bytes, size);
	writer->bytes.count = offset + size;
	return offset;
}

static void set_pointer(struct writer *writer, uint64_t at, uint64_t value)
{
	if (writer->failed)
		return;
	memcpy(writer->bytes.items + at, &value, sizeof value);
	writer->failed = !array_push(&writer->relocations, at);
}

static uint64_t put_text(struct writer *writer, const char *text)
{
	size_t length = strlen(text);
	bool is_new = false;
	uint32_t id = string_table_add(&writer->texts, text, length, &is_new);
	writer->failed |= !id;
	if (is_new)
		writer->failed |= !array_push(&writer->text_offsets, append_bytes(writer, text, length + 1));
	return writer->failed ? 0 : writer->text_offsets.items[id - 1] | TEXT_BIT;
}

/* Returns the number of items that a pointer in the struct at original leads to. */
static size_t count_items(const struct packing_pointer *pointer, const char *original, const char *const *items)
{
	size_t count = pointer->count, stored = 0;
	uint32_t stored_32 = 0;
	if (!pointer->count_size && !count)
		while (items[count++])
			;
	if (pointer->counted_in)
		memcpy(&original, original + pointer->counted_in, sizeof original);
	if (pointer->count_size == sizeof stored)
		memcpy(&stored, original + pointer->count_at, sizeof stored);
	else if (pointer->count_size)
		memcpy(&stored_32, original + pointer->count_at, sizeof stored_32);
	return count + stored + stored_32;
}

static uint64_t put_items(struct writer *writer, const void *items, size_t count, size_t stride,
			  const struct packing_pointer *in_an_item);

/* Copies what a pointer in the struct at original leads to. Returns its offset. */
static uint64_t put_target(struct writer *writer, const struct packing_pointer *pointer, const char *original,
			   const void *target)
{
	size_t stride = pointer->stride;
	if (pointer->kind == PACKING_TEXT)
		return put_text(writer, target);
	if (pointer->stride_at)
		memcpy(&stride, original + pointer->stride_at, sizeof stride);
	return put_items(writer, target, count_items(pointer, original, target), stride, pointer->in_an_item);
}

static uint64_t put_items(struct writer *writer, const void *items, size_t count, size_t stride,
			  const struct packing_pointer *in_an_item)
{
	const char *original = items;
	uint64_t copy = append_bytes(writer, items, count * stride);
	for (uint64_t at = copy; in_an_item && at < copy + count * stride; at += stride, original += stride)
		for (const struct packing_pointer *pointer = in_an_item; pointer->kind && !writer->failed; pointer++) {
			const void *target;
			memcpy(&target, original + pointer->at, sizeof target);
			if (target)
				set_pointer(writer, at + pointer->at, put_target(writer, pointer, original, target));
		}
	return copy;
}

/* Moves bytes that do not fit into a message to a file in memory. */
static bool move_to_file(struct packed *packed)
{
	CLEANUP_FREE char *bytes = STEAL_POINTER(packed->bytes);
	packed->descriptor = memfd_create("iaprof", MFD_CLOEXEC);
	return packed->descriptor >= 0 && !file_write(packed->descriptor, bytes, packed->size);
}

int packed_make(struct packed *packed, const struct packing_layout *layout, const void *original)
{
	struct writer writer = { 0 };
	struct packed_header header = { 0 };
	append_bytes(&writer, &header, sizeof header);
	put_items(&writer, original, 1, layout->size, layout->pointers);
	header.relocation_count = writer.relocations.count;
	header.relocations = append_bytes(&writer, writer.relocations.items,
					  writer.relocations.count * sizeof *writer.relocations.items);
	if (!writer.failed)
		memcpy(writer.bytes.items, &header, sizeof header);
	*packed = (struct packed){ .bytes = writer.bytes.items, .descriptor = -1, .size = writer.bytes.count };
	if (!writer.failed && packed->size > MESSAGE_BYTES_MAX)
		writer.failed = !move_to_file(packed);
	if (writer.failed)
		packed_free(packed);
	string_table_free(&writer.texts);
	array_free(&writer.text_offsets);
	array_free(&writer.relocations);
	return writer.failed ? -ENOMEM : 0;
}

void packed_free(struct packed *packed)
{
	free(packed->bytes);
	if (packed->descriptor >= 0)
		close(packed->descriptor);
	*packed = PACKED_NONE;
}

int unpacked_make(struct unpacked *unpacked, const void *bytes, size_t size, int descriptor, struct string_table *texts)
{
	struct stat status;
	if (descriptor >= 0 && !fstat(descriptor, &status))
		size = (size_t)status.st_size;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | (descriptor < 0 ? MAP_ANONYMOUS : 0),
			    descriptor, 0);
	if (memory == MAP_FAILED)
		return -ENOMEM;
	if (descriptor < 0)
		memcpy(memory, bytes, size);
	const struct packed_header *header = (const void *)memory;
	const uint64_t *relocations = (const uint64_t *)(memory + header->relocations);
	*unpacked = (struct unpacked){ .memory = memory, .size = size, .copy = memory + sizeof *header };
	for (uint64_t i = 0; i < header->relocation_count; i++) {
		uint64_t value;
		memcpy(&value, memory + relocations[i], sizeof value);
		const char *pointer = memory + (value & ~TEXT_BIT);
		if (value & TEXT_BIT && texts)
			pointer = string_table_intern(texts, pointer, strlen(pointer));
		if (!pointer) {
			unpacked_free(unpacked);
			return -ENOMEM;
		}
		memcpy(memory + relocations[i], &pointer, sizeof pointer);
	}
	return 0;
}

void unpacked_free(struct unpacked *unpacked)
{
	if (unpacked->memory)
		munmap(unpacked->memory, unpacked->size);
	*unpacked = (struct unpacked){ 0 };
}
