/* SPDX-License-Identifier: Apache-2.0 */
/* See code_listings.h. */
#include "code_listings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"

/* Returns the position after all records of this id and of lower ids. */
static size_t end_of(const struct code_listings *listings, uint32_t id)
{
	return array_lower_bound(listings->count, position, listings->items[position].record->id <= id);
}

int code_listings_take(struct code_listings *listings, const struct iaprof_record_code_listing *record)
{
	if (record->header.size > CODE_LISTINGS_SIZE_MAX - listings->size) {
		listings->left_out++;
		return 0;
	}
	if (!array_reserve(listings, listings->count + 1))
		return -ENOMEM;
	struct iaprof_record_code_listing *copy = malloc(record->header.size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, record, record->header.size);
	/* The core assigns ascending ids; only records from captures may need sorting. */
	if (listings->count && listings->items[listings->count - 1].record->id > record->id)
		listings->is_unsorted = true;
	listings->items[listings->count] = (struct code_listing){ .record = copy, .position = listings->count };
	listings->count++;
	listings->size += record->header.size;
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct code_listing *a = left, *b = right;
	if (a->record->id != b->record->id)
		return a->record->id < b->record->id ? -1 : 1;
	return a->position < b->position ? -1 : a->position > b->position;
}

void code_listings_sort(struct code_listings *listings)
{
	if (listings->is_unsorted)
		qsort(listings->items, listings->count, sizeof *listings->items, compare);
	listings->is_unsorted = false;
}

size_t code_listings_find(const struct code_listings *listings, uint32_t id, size_t *count)
{
	size_t begin = id ? end_of(listings, id - 1) : 0;
	*count = end_of(listings, id) - begin;
	return begin;
}

void code_listings_free(struct code_listings *listings)
{
	for (size_t i = 0; i < listings->count; i++)
		free(listings->items[i].record);
	free(listings->items);
	*listings = (struct code_listings){ 0 };
}
