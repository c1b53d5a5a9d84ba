/* SPDX-License-Identifier: Apache-2.0 */
/* See duty_cycle.h. */
#include "duty_cycle.h"

void duty_cycle_begin(struct duty_cycle *cycle, uint32_t stride, uint64_t now)
{
	if (cycle->stride <= 1)
		cycle->block = now;
	cycle->stride = stride ? stride : 1;
	cycle->begin = now;
	cycle->change = cycle->stride > 1 ? now + DUTY_WINDOW : UINT64_MAX;
}

void duty_cycle_pause(struct duty_cycle *cycle, uint64_t sampled, uint32_t random, uint64_t now)
{
	uint64_t length = cycle->stride * sampled;

	cycle->block += length;
	/* What is more than a block late, such as after a stream that broke, is not made up for. */
	if (cycle->block + length < now)
		cycle->block = now - length;
	cycle->change = cycle->block + (uint64_t)((double)(length - sampled) / 2 * random / (double)UINT32_MAX);
}
