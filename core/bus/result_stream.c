/* SPDX-License-Identifier: Apache-2.0 */
/* The core's derived records, for sinks: see result_stream.h. */
#include "bus/result_stream.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* Large enough for any record. */
#define BLOCK_CAPACITY ((size_t)64 << 10)
_Static_assert(BLOCK_CAPACITY >= IAPROF_RECORD_SIZE_MAX, "any record fits");

void result_stream_free(struct result_stream *stream)
{
	for (struct block *block = result_stream_take(stream), *next; block; block = next) {
		next = block->next;
		block_release(block);
	}
	id_set_free(&stream->defined);
}

/* Returns room for size bytes of one record, or NULL. */
static char *append(struct result_stream *stream, size_t size)
{
	struct block *block = stream->last;
	if (!block || block->capacity - block->size < size) {
		block = block_new(BLOCK_CAPACITY);
		if (!block)
			return NULL;
		*(stream->last ? &stream->last->next : &stream->first) = block;
		stream->last = block;
	}
	char *room = block->records + block->size;
	block->size += size;
	block->count++;
	return room;
}

void result_stream_note_definition(struct result_stream *stream, uint32_t id)
{
	/* When out of memory, the definition is sent again. */
	if (stream->is_read)
		(void)id_set_add(&stream->defined, id);
}

static bool send_definition(struct result_stream *stream, uint32_t id, const char *text)
{
	size_t length = strnlen(text, IAPROF_STRING_LENGTH_MAX);
	size_t size = (sizeof(struct iaprof_record_string) + length + 1 + 7) & ~(size_t)7;
	char *room = append(stream, size);
	if (!room)
		return false;
	struct iaprof_record_string record = {
		.header = { .size = (uint32_t)size, .type = IAPROF_RECORD_STRING, .time = clock_monotonic() },
		.id = id,
		.length = (uint32_t)length
	};
	memcpy(room, &record, sizeof record);
	memcpy(room + sizeof record, text, length);
	memset(room + sizeof record + length, 0, size - sizeof record - length);
	return true;
}

uint32_t result_stream_text(struct result_stream *stream, const char *text)
{
	uint32_t id = intern_passing_own_text(stream->intern, text);
	if (!id || !stream->is_read || id_set_has(&stream->defined, id))
		return id;
	if (!send_definition(stream, id, text))
		return 0;
	(void)id_set_add(&stream->defined, id);
	return id;
}

bool result_stream_send(struct result_stream *stream, const struct iaprof_record *record)
{
	char *room = stream->is_read ? append(stream, record->size) : NULL;
	if (room)
		memcpy(room, record, record->size);
	return room || !stream->is_read;
}

struct block *result_stream_take(struct result_stream *stream)
{
	struct block *blocks = stream->first;
	stream->first = stream->last = NULL;
	return blocks;
}
