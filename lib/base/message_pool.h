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

/* Sets a repeated member to COUNT initialized messages. Returns the first of them; NULL when the pool has failed. */
#define MESSAGE_POOL_REPEATED(POOL, MESSAGE, MEMBER, COUNT, INIT)                                                      \
	({                                                                                                             \
		size_t count_ = (COUNT);                                                                               \
		__typeof__(*(MESSAGE)->MEMBER) items_ = message_pool_get(POOL, count_, sizeof *items_);                \
		(MESSAGE)->MEMBER = message_pool_get(POOL, count_, sizeof items_);                                     \
		(MESSAGE)->n_##MEMBER = (MESSAGE)->MEMBER ? count_ : 0;                                                \
		for (size_t i_ = 0; i_ < (MESSAGE)->n_##MEMBER; i_++) {                                                \
			INIT(&items_[i_]);                                                                             \
			(MESSAGE)->MEMBER[i_] = &items_[i_];                                                           \
		}                                                                                                      \
		(MESSAGE)->MEMBER ? items_ : NULL;                                                                     \
	})
