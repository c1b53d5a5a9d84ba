/* SPDX-License-Identifier: Apache-2.0 */
/* See renames.h. */
#include "process/renames.h"

#include <string.h>

#include "base/clock.h"

#define INTERVAL NANOSECONDS_PER_SECOND

static bool may_tell(struct renames *renames, uint64_t time)
{
	if (renames->told >= RENAMES_AT_ONCE && time < renames->told_last + INTERVAL)
		return false;
	renames->told += renames->told < RENAMES_AT_ONCE;
	renames->told_last = time;
	renames->waits = false;
	return true;
}

bool renames_take(struct renames *renames, uint64_t time, const char *name, size_t length)
{
	/* What the kernel has no room for is no name that was cut here. */
	if (length > RENAME_LENGTH_MAX || may_tell(renames, time))
		return true;
	renames->waits = true;
	renames->length = (uint8_t)length;
	memcpy(renames->name, name, length);
	return false;
}

bool renames_are_due(struct renames *renames, uint64_t time)
{
	return renames->waits && may_tell(renames, time);
}
