/* SPDX-License-Identifier: Apache-2.0 */
/* See record_store.h. */
#include "correlator/record_store.h"

#include <string.h>

void record_store_free(struct record_store *store)
{
	array_free(&store->words);
}

bool record_store_add(struct record_store *store, const struct iaprof_record *record)
{
	size_t count = record->size / sizeof(uint64_t); /* records are multiples of 8 bytes */
	size_t wanted = store->words.count + count;
	if (wanted > RECORD_STORE_SIZE_MAX / sizeof(uint64_t) || !array_reserve(&store->words, wanted))
		return false;
	memcpy(store->words.items + store->words.count, record, record->size);
	store->words.count = wanted;
	return true;
}

void record_store_release(struct record_store *store,
			  bool (*release)(void *context, const struct iaprof_record *record), void *context)
{
	size_t kept = 0;
	for (size_t at = 0, count; at < store->words.count; at += count) {
		const struct iaprof_record *record = (const void *)(store->words.items + at);
		count = record->size / sizeof(uint64_t);
		if (release(context, record))
			continue;
		memmove(store->words.items + kept, store->words.items + at, count * sizeof(uint64_t));
		kept += count;
	}
	store->words.count = kept;
}
