/* SPDX-License-Identifier: Apache-2.0 */
/* A bit set of ids that are allocated in ascending order. Not thread-safe. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"

/* Initialise with {0}. */
struct id_set {
	ARRAY(uint64_t) words;
};

static inline void id_set_free(struct id_set *set)
{
	array_free(&set->words);
}

static inline bool id_set_has(const struct id_set *set, uint32_t id)
{
	return id / 64 < set->words.count && set->words.items[id / 64] >> id % 64 & 1;
}

/* Returns false when out of memory. */
static inline bool id_set_add(struct id_set *set, uint32_t id)
{
	while (set->words.count <= id / 64)
		if (!array_push(&set->words, 0))
			return false;
	set->words.items[id / 64] |= UINT64_C(1) << id % 64;
	return true;
}
