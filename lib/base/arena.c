/* SPDX-License-Identifier: Apache-2.0 */
/* See arena.h. */
#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_SIZE ((size_t)16 << 10)

struct arena_chunk {
	struct arena_chunk *next;
	size_t size;
	_Alignas(8) char bytes[];
};

void *arena_allocate(struct arena *arena, size_t size)
{
	if (size > SIZE_MAX / 2)
		return NULL;
	size = (size + 7) & ~(size_t)7;
	if (arena->left < size || !arena->chunks) {
		size_t chunk_size = size > CHUNK_SIZE / 4 ? size : CHUNK_SIZE;
		struct arena_chunk *chunk = malloc(sizeof *chunk + chunk_size);
		if (!chunk)
			return NULL;
		chunk->size = chunk_size;
		arena->size += sizeof *chunk + chunk_size;
		if (chunk_size == size && arena->chunks) {
			/* A large allocation gets a separate chunk, after the one that is being filled. */
			chunk->next = arena->chunks->next;
			arena->chunks->next = chunk;
			return chunk->bytes;
		}
		chunk->next = arena->chunks;
		arena->chunks = chunk;
		arena->left = chunk_size;
	}
	void *piece = arena->chunks->bytes + (arena->chunks->size - arena->left);
	arena->left -= size;
	return piece;
}

char *arena_text(struct arena *arena, const char *text, size_t length)
{
	char *copy = arena_allocate(arena, length + 1);
	if (!copy)
		return NULL;
	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

void arena_free(struct arena *arena)
{
	for (struct arena_chunk *chunk = arena->chunks, *next; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	*arena = (struct arena){ 0 };
}
