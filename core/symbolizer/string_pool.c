/* SPDX-License-Identifier: Apache-2.0 */
/* Strings kept once: see string_pool.h. */
#include "symbolizer/string_pool.h"

#include <string.h>

#define BLOCK_SIZE ((size_t)64 << 10)

void string_pool_free(struct string_pool *pool)
{
	for (size_t i = 0; i < pool->blocks.count; i++)
		free(pool->blocks.items[i]);
	array_free(&pool->blocks);
	array_free(&pool->strings);
	hash_index_free(&pool->index);
	pool->block_left = 0;
}

static uint64_t rehash(const void *context, uint32_t position)
{
	const struct string_pool *pool = context;
	const char *text = pool->strings.items[position];
	return hash_bytes(text, strlen(text), 0);
}

static char *reserve(struct string_pool *pool, size_t size)
{
	if (pool->block_left < size) {
		size_t block_size = size > BLOCK_SIZE ? size : BLOCK_SIZE;
		char *block = malloc(block_size);
		if (!block || !array_push(&pool->blocks, block)) {
			free(block);
			return NULL;
		}
		/* Blocks are filled from their end, so that what is left says where. */
		pool->block_left = block_size;
	}
	pool->block_left -= size;
	return pool->blocks.items[pool->blocks.count - 1] + pool->block_left;
}

const char *string_pool_add(struct string_pool *pool, const char *text, size_t length)
{
	uint64_t hash = hash_bytes(text, length, 0);
	for (struct hash_probe probe = hash_index_probe(&pool->index, hash); hash_index_next(&pool->index, &probe);) {
		const char *known = pool->strings.items[probe.position];
		if (strncmp(known, text, length) == 0 && !known[length])
			return known;
	}
	if (pool->strings.count >= HASH_REMOVED || !array_reserve(&pool->strings, pool->strings.count + 1))
		return NULL;
	char *copy = reserve(pool, length + 1);
	if (!copy)
		return NULL;
	memcpy(copy, text, length);
	copy[length] = '\0';
	pool->strings.items[pool->strings.count] = copy;
	if (!hash_index_add(&pool->index, hash, (uint32_t)pool->strings.count, rehash, pool))
		return NULL;
	pool->strings.count++;
	return copy;
}
