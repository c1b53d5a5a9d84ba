/* SPDX-License-Identifier: Apache-2.0 */
/* Records that wait for others, as bytes in order of arrival. Owned by the collector thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/record.h>
#include "base/array.h"

/* Limit on the records of a store, in bytes. */
#define RECORD_STORE_SIZE_MAX ((size_t)64 << 20)

/* Initialise with {0}. */
struct record_store {
	ARRAY(uint64_t) words;
};

void record_store_free(struct record_store *store);
/* Returns false for lack of room or memory. */
bool record_store_add(struct record_store *store, const struct iaprof_record *record);
/* Calls release() for each record; those for which it returns false stay. release() must not add records. */
void record_store_release(struct record_store *store,
			  bool (*release)(void *context, const struct iaprof_record *record), void *context);
