/* SPDX-License-Identifier: Apache-2.0 */
/* Compares memory of a process with the file that its code may be copied from: see serve.h. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "symbolizer/elf_file.h"
#include "symbolizer/worker/serve.h"
#include "symbolizer/worker/worker_message.h"

#define PAGE_SIZE 4096u
/* At most a sixteenth of the bytes may differ: breakpoints and probes replace some. */
#define DIFFERENT_SHARE 16u

/* Returns whether bytes are code: memory that was never written is zero. */
static bool is_varied(const unsigned char *bytes, size_t size)
{
	return memcmp(bytes, bytes + 1, size - 1) != 0;
}

/* Compares the first page of the memory with the file at an offset, both from where the segment begins. */
static bool is_copy(const struct elf_file *elf, const struct elf_segment *segment, int memory,
		    const struct worker_compare *request, uint64_t offset)
{
	unsigned char there[PAGE_SIZE], here[PAGE_SIZE];
	uint64_t skipped = offset < segment->file_offset ? segment->file_offset - offset : 0;
	if (skipped >= PAGE_SIZE || skipped >= request->size ||
	    offset + skipped - segment->file_offset >= segment->size)
		return false;
	uint64_t left = segment->size - (offset + skipped - segment->file_offset);
	size_t size = PAGE_SIZE - (size_t)skipped;
	size = left < size ? (size_t)left : size;
	if (size < DIFFERENT_SHARE ||
	    pread(memory, there, size, (off_t)(request->address + skipped)) != (ssize_t)size ||
	    pread(elf->descriptor, here, size, (off_t)(offset + skipped)) != (ssize_t)size || !is_varied(here, size))
		return false;
	size_t different = 0;
	for (size_t i = 0; i < size; i++)
		different += there[i] != here[i];
	return different <= size / DIFFERENT_SHARE;
}

/*
 * Finds the offset in the file at which the memory begins. The requested one is that of the neighbouring mapping: that
 * of the code differs if linkers place the segments at other distances in memory than in the file, as lld does.
 */
static int find_shift(const struct elf_file *elf, const elf_segment_array *segments, int memory,
		      const struct worker_compare *request, int64_t *shift)
{
	for (size_t i = 0; i < segments->count; i++) {
		const struct elf_segment *code = &segments->items[i];
		for (size_t j = 0; code->executable && j < segments->count; j++) {
			const struct elf_segment *neighbour = &segments->items[j];
			uint64_t tried =
				(neighbour->address - neighbour->file_offset) - (code->address - code->file_offset);
			if (!is_copy(elf, code, memory, request, request->file_offset + tried))
				continue;
			*shift = (int64_t)tried;
			return 0;
		}
	}
	return -ENODATA;
}

int compare_service_take_file(struct compare_service *service, int descriptor)
{
	elf_file_close(&service->elf);
	service->is_open = descriptor >= 0 && !elf_file_open(&service->elf, descriptor);
	return descriptor < 0 ? -EPROTO : 0;
}

int compare_service_answer(struct compare_service *service, int socket, int memory)
{
	struct worker_compare request;
	struct worker_compared answer = { .code = -ENODATA };
	elf_segment_array segments = { 0 };
	int code = channel_read(socket, &request, sizeof request, NULL);
	if (code || memory < 0)
		return code ? code : -EPROTO;
	if (service->is_open && elf_file_segments(&service->elf, &segments))
		answer.code = find_shift(&service->elf, &segments, memory, &request, &answer.shift);
	array_free(&segments);
	close(memory);
	return channel_send_bytes(socket, WORKER_COMPARED, &answer, sizeof answer, -1, NULL);
}
