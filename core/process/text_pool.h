/* SPDX-License-Identifier: Apache-2.0 */
/* Texts kept once each, for as long as the pool lives: equal texts have equal pointers. */
#ifndef IAPROF_CORE_PROCESS_TEXT_POOL_H
#define IAPROF_CORE_PROCESS_TEXT_POOL_H

#include "base/array.h"
#include "base/hash.h"

/* Initialise with {0}. */
struct text_pool {
	ARRAY(char *) texts;
	struct hash_index index;
};

/* The pool's copy of text; NULL when out of memory. */
const char *text_pool_keep(struct text_pool *pool, const char *text);
void text_pool_free(struct text_pool *pool);

#endif
