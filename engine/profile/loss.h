/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Losses, summed by source and reason. Strings are interned or constant, and valid for the whole run. Owned by the
 * collector thread.
 */
#pragma once

#include <stdint.h>

#include "base/array.h"

#define LOSS_NO_VALUE_TYPE UINT32_MAX

struct loss_entry {
	const char *source, *reason;
	uint32_t value_type; /* index of a value type, LOSS_NO_VALUE_TYPE if none */
	uint64_t count;      /* number of lost events, where known */
	uint64_t value;      /* what the events would have added to value_type */
	uint64_t interval_value;
	uint64_t interval_count;
	uint64_t interval_unknown;
	uint64_t unknown; /* number of losses whose count was not known */
	uint64_t begin, end;
};

/* Initialise with {0}. */
struct loss {
	ARRAY(struct loss_entry) entries;
};

void loss_free(struct loss *loss);

/*
 * Adds a loss; count may be IAPROF_COUNT_UNKNOWN. Returns the updated entry, valid until the next call; NULL: out of
 * memory.
 */
const struct loss_entry *loss_add(struct loss *loss, const char *source, const char *reason, uint32_t value_type,
				  uint64_t begin, uint64_t end, uint64_t count, uint64_t value);

void loss_begin_interval(struct loss *loss);
