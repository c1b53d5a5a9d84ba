/* SPDX-License-Identifier: Apache-2.0 */
/* See watchdog.h. */
#include <errno.h>
#include <stdlib.h>
#include "watchdog.h"

#define LOOK_PERIOD UINT64_C(1000000000) /* ns */
/* A GPU that does nothing gives no rows either; then it is looked at more seldom. */
#define LOOK_PERIOD_MAX UINT64_C(8000000000)
#define PATIENCE 3u
#define PATIENCE_MAX 300u

int watchdog_init(struct watchdog *watchdog, size_t count)
{
	*watchdog = (struct watchdog){ .period = LOOK_PERIOD, .devices = calloc(count, sizeof *watchdog->devices) };
	if (!watchdog->devices)
		return -ENOMEM;
	watchdog->count = count;
	for (size_t i = 0; i < count; i++)
		watchdog->devices[i].patience = PATIENCE;
	return 0;
}

void watchdog_free(struct watchdog *watchdog)
{
	free(watchdog->devices);
	*watchdog = (struct watchdog){ 0 };
}

void watchdog_rows(struct watchdog *watchdog, size_t index, uint64_t rows, uint64_t used)
{
	struct watched *device = &watchdog->devices[index];

	device->silent = rows == device->rows;
	device->rows = rows;
	device->used = used;
	if (device->silent)
		return;
	device->looks = 0;
	device->patience = PATIENCE;
	watchdog->period = LOOK_PERIOD;
	watchdog->next = 0;
}

void watchdog_look(struct watchdog *watchdog, uint64_t now)
{
	bool any_silent = false, any_busy = false;

	for (size_t i = 0; i < watchdog->count; i++)
		any_silent |= watchdog->devices[i].silent;
	if (!any_silent || now < watchdog->next)
		return;
	/* Where rows came until now, the first look is of a time when they did. */
	bool first = now - watchdog->look > 2 * watchdog->period;
	watchdog->look = now;
	for (size_t i = 0; i < watchdog->count; i++) {
		struct watched *device = &watchdog->devices[i];
		bool busy = device->used != device->looked;
		device->looked = device->used;
		if (!first)
			device->looks = device->silent && busy ? device->looks + 1 : 0;
		any_busy |= device->looks != 0;
	}
	if (first)
		return;
	watchdog->period = any_busy ? LOOK_PERIOD : 2 * watchdog->period;
	if (watchdog->period > LOOK_PERIOD_MAX)
		watchdog->period = LOOK_PERIOD_MAX;
	watchdog->next = now + watchdog->period;
}

bool watchdog_is_dead(struct watchdog *watchdog, size_t index)
{
	struct watched *device = &watchdog->devices[index];

	if (device->looks < device->patience)
		return false;
	device->looks = 0;
	if (device->patience < PATIENCE_MAX)
		device->patience *= 3;
	return true;
}
