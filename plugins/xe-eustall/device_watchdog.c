/* SPDX-License-Identifier: Apache-2.0 */
/* See device_watchdog.h. */
#include <errno.h>
#include <stdlib.h>
#include "device_watchdog.h"

#define CHECK_PERIOD UINT64_C(1000000000) /* ns */
/* An idle GPU delivers no rows either, so it is checked less often. */
#define CHECK_PERIOD_MAX UINT64_C(8000000000)
#define PATIENCE 3u
#define PATIENCE_MAX 300u

int device_watchdog_init(struct device_watchdog *watchdog, size_t count)
{
	*watchdog =
		(struct device_watchdog){ .period = CHECK_PERIOD, .devices = calloc(count, sizeof *watchdog->devices) };
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
	device->silent_checks = 0;
	device->patience = PATIENCE;
	watchdog->period = CHECK_PERIOD;
	watchdog->next = 0;
}

void device_watchdog_check(struct device_watchdog *watchdog, uint64_t now)
{
	bool any_silent = false, any_busy = false;

	for (size_t i = 0; i < watchdog->count; i++)
		any_silent |= watchdog->devices[i].silent;
	if (!any_silent || now < watchdog->next)
		return;
	/* After a period with rows, the first check still covers part of that period. */
	bool first = now - watchdog->checked > 2 * watchdog->period;
	watchdog->checked = now;
	for (size_t i = 0; i < watchdog->count; i++) {
		struct watched *device = &watchdog->devices[i];
		bool busy = device->used != device->used_before;
		device->used_before = device->used;
		if (!first)
			device->silent_checks = device->silent && busy ? device->silent_checks + 1 : 0;
		any_busy |= device->silent_checks != 0;
	}
	if (first)
		return;
	watchdog->period = any_busy ? CHECK_PERIOD : 2 * watchdog->period;
	if (watchdog->period > CHECK_PERIOD_MAX)
		watchdog->period = CHECK_PERIOD_MAX;
	watchdog->next = now + watchdog->period;
}

bool device_watchdog_is_dead(struct device_watchdog *watchdog, size_t index)
{
	struct watched *device = &watchdog->devices[index];

	if (device->silent_checks < device->patience)
		return false;
	device->silent_checks = 0;
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
	if (!others || ++watchdog->silent_checks < watchdog->patience)
		return false;
	watchdog->silent_checks = 0;
	watchdog->patience *= 3;
	if (watchdog->patience > GT_WATCHDOG_PATIENCE_MAX)
		watchdog->patience = GT_WATCHDOG_PATIENCE_MAX;
	return true;
}
