/* SPDX-License-Identifier: Apache-2.0 */
/* See device_watchdog.h. */
#include <errno.h>
#include <stdlib.h>
#include "device_watchdog.h"

#define LOOK_PERIOD UINT64_C(1000000000) /* ns */
/* An idle GPU delivers no rows either, so it is checked less often. */
#define LOOK_PERIOD_MAX UINT64_C(8000000000)
#define PATIENCE 3u
#define PATIENCE_MAX 300u

int device_watchdog_init(struct device_watchdog *watchdog, size_t count)
{
	*watchdog =
		(struct device_watchdog){ .period = LOOK_PERIOD, .devices = calloc(count, sizeof *watchdog->devices) };
	if (!watchdog->devices)
		return -ENOMEM;
	watchdog->count = count;
	for (size_t i = 0; i < count; i++)
		watchdog->devices[i].patience = PATIENCE;
	return 0;
}

void device_watchdog_free(struct device_watchdog *watchdog)
{
	free(watchdog->devices);
	*watchdog = (struct device_watchdog){ 0 };
}

void device_watchdog_rows(struct device_watchdog *watchdog, size_t index, uint64_t rows, uint64_t used)
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

void device_watchdog_look(struct device_watchdog *watchdog, uint64_t now)
{
	bool any_silent = false, any_busy = false;

	for (size_t i = 0; i < watchdog->count; i++)
		any_silent |= watchdog->devices[i].silent;
	if (!any_silent || now < watchdog->next)
		return;
	/* After a period with rows, the first check still covers part of that period. */
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

bool device_watchdog_is_dead(struct device_watchdog *watchdog, size_t index)
{
	struct watched *device = &watchdog->devices[index];

	if (device->looks < device->patience)
		return false;
	device->looks = 0;
	if (device->patience < PATIENCE_MAX)
		device->patience *= 3;
	return true;
}

bool gt_watchdog_check(struct gt_watchdog *watchdog, uint64_t rows, bool others)
{
	if (!watchdog->patience || rows != watchdog->rows) {
		*watchdog = (struct gt_watchdog){ .rows = rows, .patience = GT_WATCHDOG_PATIENCE };
		return false;
	}
	/* The count is kept if the other GTs pause. */
	if (!others || ++watchdog->looks < watchdog->patience)
		return false;
	watchdog->looks = 0;
	watchdog->patience *= 3;
	if (watchdog->patience > GT_WATCHDOG_PATIENCE_MAX)
		watchdog->patience = GT_WATCHDOG_PATIENCE_MAX;
	return true;
}
