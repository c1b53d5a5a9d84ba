/* SPDX-License-Identifier: Apache-2.0 */
/* See sink_activity.h. */
#include "run/sink_activity.h"

#include <string.h>

static uint64_t known(uint64_t count)
{
	return count == IAPROF_COUNT_UNKNOWN ? 0 : count;
}

/* Returns the number of items that a sink is done with. */
static uint64_t done(const struct iaprof_delivery *delivery)
{
	return known(delivery->delivered) + known(delivery->refused) + known(delivery->dropped);
}

static void marks_thin(struct delivery_marks *marks)
{
	for (size_t i = 1; i < marks->count; i += 2)
		marks->marks[i / 2] = marks->marks[i];
	marks->count /= 2;
}

void delivery_marks_add(struct delivery_marks *marks, const struct iaprof_delivery *delivery, uint64_t end)
{
	if (!delivery->size) {
		marks->newest = end;
		return;
	}
	if (marks->count == DELIVERY_MARKS_MAX)
		marks_thin(marks);
	marks->marks[marks->count].items = done(delivery) + known(delivery->waiting);
	marks->marks[marks->count++].end = end;
	delivery_marks_advance(marks, delivery);
}

void delivery_marks_advance(struct delivery_marks *marks, const struct iaprof_delivery *delivery)
{
	size_t past = 0;
	while (past < marks->count && marks->marks[past].items <= done(delivery))
		past++;
	if (!past)
		return;
	/* Otherwise all of them were refused or dropped. */
	if (known(delivery->delivered) > marks->delivered)
		marks->newest = marks->marks[past - 1].end;
	marks->delivered = known(delivery->delivered);
	marks->count -= past;
	memmove(marks->marks, &marks->marks[past], marks->count * sizeof *marks->marks);
}
