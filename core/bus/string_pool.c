/* SPDX-License-Identifier: Apache-2.0 */
/* See string_pool.h. */
#include "bus/string_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Limit on ids beyond twice the number of known texts, because damaged files must not cause large allocations. */
#define FOREIGN_ID_GAP_MAX 65536

void string_pool_free(struct string_pool *pool)
{
	for (size_t i = 0; i < pool->chunks.count; i++) {
		struct string_pool_chunk *chunk = pool->chunks.items[i];
		for (size_t k = 0; chunk && k < STRING_POOL_CHUNK; k++)
			if (!chunk->strings[k].is_alias)
				free(chunk->strings[k].text);
		free(chunk);
	}
	array_free(&pool->chunks);
	hash_index_free(&pool->index);
}

static struct pooled_string *string_at(const struct string_pool *pool, uint32_t position)
{
	size_t chunk = position / STRING_POOL_CHUNK;
	return chunk < pool->chunks.count && pool->chunks.items[chunk]
		       ? &pool->chunks.items[chunk]->strings[position % STRING_POOL_CHUNK]
		       : NULL;
}

const struct pooled_string *string_pool_find(const struct string_pool *pool, uint32_t id)
{
	const struct pooled_string *string = id ? string_at(pool, id - 1) : NULL;
	return string && string->text ? string : NULL;
}

static struct pooled_string *find_text(const struct string_pool *pool, uint64_t hash, const char *text, size_t length,
				       uint32_t *position)
{
	hash_index_each (probe, &pool->index, hash) {
		struct pooled_string *string = string_at(pool, probe.position);
		*position = probe.position;
		if (string->length == length && !memcmp(string->text, text, length))
			return string;
	}
	return NULL;
}

/* Returns the unused entry at a position, or NULL when out of memory. */
static struct pooled_string *make_room(struct string_pool *pool, uint32_t position)
{
	size_t chunk = position / STRING_POOL_CHUNK;
	if (!array_extend(&pool->chunks, chunk + 1))
		return NULL;
	if (!pool->chunks.items[chunk])
		pool->chunks.items[chunk] = calloc(1, sizeof *pool->chunks.items[chunk]);
	return string_at(pool, position);
}

static void forget(struct string_pool *pool, uint32_t position)
{
	struct string_pool_chunk **chunk = &pool->chunks.items[position / STRING_POOL_CHUNK];
	struct pooled_string *string = &(*chunk)->strings[position % STRING_POOL_CHUNK];
	free(string->text);
	*string = (struct pooled_string){ 0 };
	if (--(*chunk)->used)
		return;
	free(*chunk);
	*chunk = NULL;
}

/* Fills the unused entry at a position. */
static void set(struct string_pool *pool, uint32_t position, struct pooled_string contents)
{
	contents.epoch = pool->epoch;
	*string_at(pool, position) = contents;
	pool->chunks.items[position / STRING_POOL_CHUNK]->used++;
	if (position >= pool->last)
		pool->last = position + 1;
}

static int store(struct string_pool *pool, uint32_t position, uint64_t hash, const char *text, size_t length,
		 bool is_kept)
{
	char *copy = make_room(pool, position) ? malloc(length + 1) : NULL;
	if (!copy)
		return -ENOMEM;
	memcpy(copy, text, length);
	copy[length] = '\0';
	if (!hash_index_add(&pool->index, hash, position)) {
		free(copy);
		return -ENOMEM;
	}
	set(pool, position, (struct pooled_string){ .text = copy, .length = (uint32_t)length, .is_kept = is_kept });
	pool->kept_size += is_kept ? length : 0;
	return 0;
}

static bool has_room(struct string_pool *pool, size_t length)
{
	bool has_room = !pool->kept_max || pool->kept_size + length <= pool->kept_max;
	pool->refused += !has_room;
	return has_room;
}

uint32_t string_pool_add(struct string_pool *pool, const char *text, size_t length, bool is_kept)
{
	uint64_t hash = hash_bytes(text, length);
	uint32_t position;
	struct pooled_string *known = find_text(pool, hash, text, length, &position);
	if (known) {
		known->epoch = pool->epoch;
		if (is_kept && !known->is_kept) {
			if (!has_room(pool, length))
				return 0;
			known->is_kept = true;
			pool->kept_size += length;
		}
		return position + 1;
	}
	if (pool->last >= HASH_REMOVED - 1 || (is_kept && !has_room(pool, length)))
		return 0;
	position = pool->is_foreign && pool->last < STRING_POOL_BESIDE ? STRING_POOL_BESIDE : pool->last;
	return store(pool, position, hash, text, length, is_kept) ? 0 : position + 1;
}

int string_pool_define(struct string_pool *pool, uint32_t id, const char *text, size_t length)
{
	if (id == 0 ||
	    (id < STRING_POOL_BESIDE ? id : id - STRING_POOL_BESIDE) > 2 * pool->index.count + FOREIGN_ID_GAP_MAX)
		return -EINVAL;
	const struct pooled_string *known = string_pool_find(pool, id);
	if (known)
		return known->length == length && !memcmp(known->text, text, length) ? 0 : -EINVAL;
	/*
	 * A second id for the same text, as in a damaged file, is not indexed: many items with the same hash would slow
	 * down searches.
	 */
	uint64_t hash = hash_bytes(text, length);
	uint32_t position;
	pool->is_foreign = true;
	struct pooled_string *first = find_text(pool, hash, text, length, &position);
	if (!first)
		return store(pool, id - 1, hash, text, length, true);
	if (!make_room(pool, id - 1))
		return -ENOMEM;
	first->is_kept = true; /* not counted: there is no limit in a replay */
	set(pool, id - 1,
	    (struct pooled_string){ .text = first->text, .length = first->length, .is_kept = true, .is_alias = true });
	return 0;
}

void string_pool_expire(struct string_pool *pool, uint32_t epochs)
{
	for (size_t i = 0; i < pool->chunks.count; i++)
		for (uint32_t k = 0; pool->chunks.items[i] && k < STRING_POOL_CHUNK; k++) {
			const struct pooled_string *string = &pool->chunks.items[i]->strings[k];
			uint32_t position = (uint32_t)i * STRING_POOL_CHUNK + k;
			if (!string->text || string->is_kept || pool->epoch - string->epoch <= epochs)
				continue;
			hash_index_remove(&pool->index, hash_bytes(string->text, string->length), position);
			forget(pool, position);
		}
}
