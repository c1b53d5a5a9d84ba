/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of values with times: see time_values.h. */
#include "correlator/time_values.h"

#include "base/saturating.h"

void time_values_free(struct time_values *values)
{
	array_free(&values->items);
}

void time_values_clear(struct time_values *values)
{
	values->items.count = 0;
}

bool time_values_add_at(struct time_values *values, uint32_t *list, uint64_t begin, uint64_t end, uint64_t value,
			uint64_t count)
{
	uint64_t resolution = values->resolution;
	struct time_value *newest = *list == TIME_VALUE_NONE ? NULL : &values->items.items[*list];
	if (newest && newest->begin / resolution == begin / resolution &&
	    newest->end / resolution == end / resolution) {
		newest->begin = newest->begin < begin ? newest->begin : begin;
		newest->end = newest->end > end ? newest->end : end;
		newest->value = saturating_add(newest->value, value);
		newest->count = saturating_add(newest->count, count);
		return true;
	}
	struct time_value added = { .begin = begin, .end = end, .value = value, .count = count, .next = *list };
	if (values->items.count >= TIME_VALUE_NONE || !array_push(&values->items, added))
		return false;
	*list = (uint32_t)values->items.count - 1;
	return true;
}
