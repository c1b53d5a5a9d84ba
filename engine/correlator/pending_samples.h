/* SPDX-License-Identifier: Apache-2.0 */
/* Stall samples waiting for the records up to their time, in order of arrival. Owned by the collector thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/record.h>
#include "base/array.h"

/* Limit on waiting samples, in bytes. */
#define WAITING_SIZE_MAX ((size_t)64 << 20)

/* A contiguous array of records. Initialise with {0}. */
struct pending_samples {
	ARRAY(uint64_t) words;
};

void pending_samples_free(struct pending_samples *waiting);
/* Returns false for lack of room or memory. */
bool pending_samples_add(struct pending_samples *waiting, const struct iaprof_record_stall_sample *sample);
/* Calls take() for each sample; those for which it returns false keep waiting. take() must not add samples. */
void pending_samples_take(struct pending_samples *waiting,
			  bool (*take)(void *context, const struct iaprof_record_stall_sample *sample), void *context);
