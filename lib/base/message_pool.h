/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of the parts of a protobuf-c message, which are freed together. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"

/* Initialise with {0}. */
struct message_pool {
	struct arena memory;
	bool failed; /* out of memory: everything allocated later is NULL */
};

/* Returns count zeroed elements of size bytes; NULL if the pool has failed. */
static inline void *message_pool_get(struct message_pool *pool, size_t count, size_t size)
{
	size_t bytes;
	void *memory = NULL;
	if (!pool->failed && !__builtin_mul_overflow(count, size, &bytes))
		memory = arena_allocate(&pool->memory, bytes + 1);
	pool->failed |= !memory;
	return memory ? memset(memory, 0, bytes) : NULL;
}

/* Allocates count messages of a type, and pointers to them. False when the pool has failed. */
#define MESSAGE_POOL_GET(POOL, COUNT, POINTERS, ITEMS)                                                                 \
	(((POINTERS) = message_pool_get(POOL, COUNT, sizeof *(POINTERS))) &&                                           \
	 ((ITEMS) = message_pool_get(POOL, COUNT, sizeof *(ITEMS))))
