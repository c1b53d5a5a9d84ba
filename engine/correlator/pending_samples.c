/* SPDX-License-Identifier: Apache-2.0 */
/* Pending stall samples: see pending_samples.h. */
#include "correlator/pending_samples.h"

#include <string.h>

void pending_samples_free(struct pending_samples *waiting)
{
	array_free(&waiting->words);
}

bool pending_samples_add(struct pending_samples *waiting, const struct iaprof_record_stall_sample *sample)
{
	size_t count = sample->header.size / sizeof(uint64_t); /* records are multiples of 8 bytes */
	size_t wanted = waiting->words.count + count;
	if (wanted > WAITING_SIZE_MAX / sizeof(uint64_t) || !array_reserve(&waiting->words, wanted))
		return false;
	memcpy(waiting->words.items + waiting->words.count, sample, sample->header.size);
	waiting->words.count = wanted;
	return true;
}

void pending_samples_take(struct pending_samples *waiting,
			  bool (*take)(void *context, const struct iaprof_record_stall_sample *sample), void *context)
{
	size_t kept = 0;
	for (size_t at = 0, count; at < waiting->words.count; at += count) {
		const struct iaprof_record_stall_sample *sample = (const void *)(waiting->words.items + at);
		count = sample->header.size / sizeof(uint64_t);
		if (take(context, sample))
			continue;
		memmove(waiting->words.items + kept, waiting->words.items + at, count * sizeof(uint64_t));
		kept += count;
	}
	waiting->words.count = kept;
}
