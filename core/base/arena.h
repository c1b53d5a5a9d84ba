/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is given out in small pieces and freed all at once. */
#ifndef IAPROF_CORE_BASE_ARENA_H
#define IAPROF_CORE_BASE_ARENA_H

#include <stddef.h>

struct arena_chunk;

/* Initialise with {0}. */
struct arena {
	struct arena_chunk *chunks;
	size_t left; /* bytes free in the newest chunk */
};

/* size bytes, 8-byte aligned, not zeroed; NULL when out of memory. */
void *arena_allocate(struct arena *arena, size_t size);
/* A copy of length bytes of text with a NUL after it. */
char *arena_text(struct arena *arena, const char *text, size_t length);
void arena_free(struct arena *arena);

#endif
