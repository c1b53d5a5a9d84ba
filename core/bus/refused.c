/* SPDX-License-Identifier: Apache-2.0 */
/* Counts refused records: see refused.h. */
#include "bus/refused.h"

#include <stddef.h>

#include "base/clock.h"
#include "profile/value_table.h"

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
	refused->records++;
}
