/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interned strings with ids 1, 2, 3, ... that are never reused. Strings are kept for the lifetime of the pool, or
 * passed on: those are removed once they have not been added again for a while, so that memory does not grow with the
 * length of a run. Once a string has been defined with an id from elsewhere, such as a capture, added ones have ids
 * from STRING_POOL_BESIDE on, which definitions that follow do not have. Not locked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/hash.h"

struct pooled_string {
	char *text; /* NUL-terminated; NULL: unknown or removed id */
	uint32_t length;
	uint32_t epoch; /* epoch of its last use */
	bool is_kept;
	bool is_alias; /* text belongs to another id */
};

#define STRING_POOL_BESIDE (UINT32_C(1) << 24)

/* Strings of consecutive ids; freed once all of them are gone. */
#define STRING_POOL_CHUNK 1024u
struct string_pool_chunk {
	uint32_t used;
	struct pooled_string strings[STRING_POOL_CHUNK];
};

/* Initialise with {0}. */
struct string_pool {
	ARRAY(struct string_pool_chunk *) chunks; /* NULL: no id of it has a string */
	struct hash_index index;                  /* position: id - 1 */
	uint32_t last;                            /* highest id so far */
	bool is_foreign;                          /* strings were defined */
	uint32_t epoch;
	uint64_t kept_size; /* bytes of kept strings */
	uint64_t kept_max;  /* limit on them; 0: none */
	uint64_t refused;   /* strings refused because of it */
};

void string_pool_free(struct string_pool *pool);

/* Returns the id of a text of length bytes without NUL, or 0 if out of memory or if the limit on kept texts is reached.
 */
uint32_t string_pool_add(struct string_pool *pool, const char *text, size_t length, bool is_kept);
/*
 * Adds a kept text with an id chosen by the caller, at most 65,536 beyond twice the number of texts, from 1 or
 * STRING_POOL_BESIDE on. Returns 0; -EINVAL if the id has another text or is too large; -ENOMEM.
 */
int string_pool_define(struct string_pool *pool, uint32_t id, const char *text, size_t length);
/* Returns the string of an id; NULL for 0 and unknown ids. */
const struct pooled_string *string_pool_find(const struct string_pool *pool, uint32_t id);
/* Removes strings that are not kept and were last added more than the given number of epochs ago. */
void string_pool_expire(struct string_pool *pool, uint32_t epochs);
