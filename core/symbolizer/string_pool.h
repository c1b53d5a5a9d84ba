/* SPDX-License-Identifier: Apache-2.0 */
/* Strings that live as long as the pool, each kept once: equal texts are the same pointer. */
#ifndef IAPROF_CORE_SYMBOLIZER_STRING_POOL_H
#define IAPROF_CORE_SYMBOLIZER_STRING_POOL_H

#include <stddef.h>
#include "base/array.h"
#include "base/hash.h"

/* Initialise with {0}. */
struct string_pool {
	ARRAY(char *) blocks;
	ARRAY(const char *) strings;
	struct hash_index index;
	size_t block_left; /* free bytes at the end of the newest block */
};

/* Frees all strings. */
void string_pool_free(struct string_pool *pool);
/* The pool's copy of a text without NUL bytes; NULL when out of memory. */
const char *string_pool_add(struct string_pool *pool, const char *text, size_t length);

#endif
