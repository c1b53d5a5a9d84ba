/* SPDX-License-Identifier: Apache-2.0 */
/* Launches by number: see numbered_launches.h. */
#include "correlator/numbered_launches.h"

void numbered_launches_free(struct numbered_launches *launches)
{
	keyed_array_free(&launches->halves[0]);
	keyed_array_free(&launches->halves[1]);
}

void numbered_launches_add(struct numbered_launches *launches, const struct numbered_launch *launch)
{
	if (launches->halves[launches->current].count >= NUMBERED_LAUNCHES_MAX) {
		launches->current ^= 1;
		keyed_array_free(&launches->halves[launches->current]);
	}
	uint32_t position = keyed_array_add(&launches->halves[launches->current], launch);
	if (position != POSITION_NONE)
		launches->halves[launches->current].items[position] = *launch;
}

const struct numbered_launch *numbered_launches_find(const struct numbered_launches *launches,
						     const struct launch_number *number)
{
	for (int i = 0; i < 2; i++) {
		const struct numbered_launch *found = keyed_array_get(&launches->halves[launches->current ^ i], number);
		if (found)
			return found;
	}
	return NULL;
}
