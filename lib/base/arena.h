/* SPDX-License-Identifier: Apache-2.0 */
/* Arena allocator: small allocations that are freed all at once. */
#pragma once

#include <stddef.h>

struct arena_chunk;

/* Initialise with {0}. */
struct arena {
	struct arena_chunk *chunks;
	size_t left; /* bytes free in the newest chunk */
	size_t size; /* bytes of all chunks */
};

/* Returns size bytes, 8-byte aligned, not zeroed; NULL if out of memory. */
void *arena_allocate(struct arena *arena, size_t size);
/* Returns a NUL-terminated copy of length bytes of text; NULL if out of memory. */
char *arena_text(struct arena *arena, const char *text, size_t length);
void arena_free(struct arena *arena);
