/* SPDX-License-Identifier: Apache-2.0 */
/* Counts refused records: see refused.h. */
#include "bus/refused.h"

#include <stddef.h>

#include "base/clock.h"
#include "base/saturating.h"

bool refused_may_be(const struct iaprof_record *record)
{
	return record->type == IAPROF_RECORD_SAMPLE || record->type == IAPROF_RECORD_LAUNCH ||
	       record->type == IAPROF_RECORD_STALL_SAMPLE || record->type == IAPROF_RECORD_CALL ||
	       record->type == IAPROF_RECORD_HISTOGRAM || record->type == IAPROF_RECORD_JOB ||
	       record->type == IAPROF_RECORD_COUNTER_VALUE;
}

void refused_add(struct refused *refused, const struct iaprof_record *record)
{
	if (!refused->begin)
		refused->begin = clock_monotonic();
	const struct iaprof_record_sample *sample = (const void *)record;
	for (size_t i = 0; record->type == IAPROF_RECORD_SAMPLE && i < REFUSED_VALUE_TYPES_MAX; i++) {
		struct refused_samples *samples = &refused->samples[i];
		if (samples->count && samples->value_type != sample->value_type)
			continue;
		samples->value_type = sample->value_type;
		samples->count = saturating_add(samples->count, sample->count);
		samples->value = saturating_add(samples->value, sample->value);
		return;
	}
	if (record->type == IAPROF_RECORD_LAUNCH)
		refused->launches =
			saturating_add(refused->launches, ((const struct iaprof_record_launch *)record)->count);
	else
		refused->records++;
}
