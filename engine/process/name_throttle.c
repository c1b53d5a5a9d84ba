/* SPDX-License-Identifier: Apache-2.0 */
/* See name_throttle.h. */
#include "process/name_throttle.h"

#include <string.h>

#include "base/clock.h"

#define INTERVAL NANOSECONDS_PER_SECOND

static bool may_report(struct name_throttle *renames, uint64_t time)
{
	if (renames->reported >= RENAMES_AT_ONCE && time < renames->last_reported + INTERVAL)
		return false;
	renames->reported += renames->reported < RENAMES_AT_ONCE;
	renames->last_reported = time;
	renames->waits = false;
	return true;
}

bool name_throttle_take(struct name_throttle *renames, uint64_t time, const char *name, size_t length)
{
	/* A longer name cannot come from Linux, so it is not throttled. */
	if (length > RENAME_LENGTH_MAX || may_report(renames, time))
		return true;
	renames->waits = true;
	renames->length = (uint8_t)length;
	memcpy(renames->name, name, length);
	return false;
}

bool name_throttle_is_due(struct name_throttle *renames, uint64_t time)
{
	return renames->waits && may_report(renames, time);
}
