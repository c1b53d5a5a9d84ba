/* SPDX-License-Identifier: Apache-2.0 */
/* Stall samples that wait for what is told of their time, in order of arrival. Belongs to the collector's thread. */
#ifndef IAPROF_CORE_CORRELATOR_WAITING_H
#define IAPROF_CORE_CORRELATOR_WAITING_H

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/record.h>
#include "base/array.h"

/* The most bytes of samples that wait. */
#define WAITING_SIZE_MAX ((size_t)64 << 20)

/* Records laid end to end. Initialise with {0}. */
struct waiting_samples {
	ARRAY(uint64_t) words;
};

void waiting_samples_free(struct waiting_samples *waiting);
/* False when there is no room or no memory. */
bool waiting_samples_add(struct waiting_samples *waiting, const struct iaprof_record_stall_sample *sample);
/* Calls take() for each; those for which it returns false go on waiting. take() adds none. */
void waiting_samples_take(struct waiting_samples *waiting,
			  bool (*take)(void *context, const struct iaprof_record_stall_sample *sample), void *context);

#endif
