/* SPDX-License-Identifier: Apache-2.0 */
/* See item_index.h. */
#include "base/item_index.h"

#include <stdlib.h>

static bool make_room(struct item_index *index)
{
	if (2 * (index->used + 1) <= index->size)
		return true;
	size_t size = index->size ? 2 * index->size : 1024;
	struct item_slot *slots = calloc(size, sizeof *slots);
	if (!slots)
		return false;
	for (size_t i = 0; i < index->size; i++) {
		if (!index->slots[i].item)
			continue;
		size_t at = index->slots[i].hash & (size - 1);
		while (slots[at].item)
			at = (at + 1) & (size - 1);
		slots[at] = index->slots[i];
	}
	free(index->slots);
	index->slots = slots;
	index->size = size;
	return true;
}

uint32_t *item_index_find(struct item_index *index, const struct item_owner *owner, uint64_t hash, const void *wanted)
{
	if (!make_room(index))
		return NULL;
	size_t at = (uint32_t)hash & (index->size - 1);
	for (; index->slots[at].item; at = (at + 1) & (index->size - 1))
		if (index->slots[at].hash == (uint32_t)hash &&
		    owner->is_equal(owner->context, index->slots[at].item - 1, wanted))
			return &index->slots[at].item;
	index->slots[at].hash = (uint32_t)hash;
	return &index->slots[at].item;
}
