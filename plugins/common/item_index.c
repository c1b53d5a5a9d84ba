/* SPDX-License-Identifier: Apache-2.0 */
/* See item_index.h. */
#include "common/item_index.h"

#include <stdlib.h>

uint64_t item_hash_text(uint64_t hash, const char *text)
{
	if (!text)
		return item_hash(hash, 1);
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return item_hash(hash, 0);
}

static bool make_room(struct item_index *index, const struct item_owner *owner)
{
	if (2 * (index->used + 1) <= index->size)
		return true;
	size_t size = index->size ? 2 * index->size : 1024;
	uint32_t *items = calloc(size, sizeof *items);
	if (!items)
		return false;
	for (size_t i = 0; i < index->size; i++) {
		if (!index->items[i])
			continue;
		size_t at = owner->hash(owner->context, index->items[i] - 1) & (size - 1);
		while (items[at])
			at = (at + 1) & (size - 1);
		items[at] = index->items[i];
	}
	free(index->items);
	index->items = items;
	index->size = size;
	return true;
}

uint32_t *item_index_find(struct item_index *index, const struct item_owner *owner, uint64_t hash, const void *wanted)
{
	if (!make_room(index, owner))
		return NULL;
	size_t at = hash & (index->size - 1);
	while (index->items[at] && !owner->is_equal(owner->context, index->items[at] - 1, wanted))
		at = (at + 1) & (index->size - 1);
	return &index->items[at];
}
