/* SPDX-License-Identifier: Apache-2.0 */
/* Texts kept once each: see text_pool.h. */
#include "process/text_pool.h"

#include <string.h>

static uint64_t text_hash(const char *text)
{
	return hash_bytes(text, strlen(text), 0);
}

static uint64_t rehash(const void *context, uint32_t position)
{
	const struct text_pool *pool = context;
	return text_hash(pool->texts.items[position]);
}

const char *text_pool_keep(struct text_pool *pool, const char *text)
{
	uint64_t hash = text_hash(text);
	for (struct hash_probe probe = hash_index_probe(&pool->index, hash); hash_index_next(&pool->index, &probe);)
		if (!strcmp(pool->texts.items[probe.position], text))
			return pool->texts.items[probe.position];
	char *copy = strdup(text);
	if (!copy || !array_push(&pool->texts, copy)) {
		free(copy);
		return NULL;
	}
	if (!hash_index_add(&pool->index, hash, (uint32_t)pool->texts.count - 1, rehash, pool)) {
		free(copy);
		pool->texts.count--;
		return NULL;
	}
	return copy;
}

void text_pool_free(struct text_pool *pool)
{
	for (size_t i = 0; i < pool->texts.count; i++)
		free(pool->texts.items[i]);
	array_free(&pool->texts);
	hash_index_free(&pool->index);
}
