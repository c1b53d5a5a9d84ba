/* SPDX-License-Identifier: Apache-2.0 */
/* See status_line.h. */
#include "run/status_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "text/plural.h"
#include "text/quantity.h"

static const struct call_sums *sums_before(const struct call_families *before, const char *name)
{
	static const struct call_sums none;
	for (size_t i = 0; i < before->count; i++)
		if (!strcmp(before->items[i].name, name))
			return &before->items[i].sums;
	return &none;
}

size_t status_line_calls(const struct call_families *before, const struct call_families *now, uint64_t duration,
			 char *text, size_t size)
{
	size_t length = 0;
	*text = '\0';
	for (size_t i = 0; i < now->count; i++) {
		const struct call_sums *sums = &now->items[i].sums, *old = sums_before(before, now->items[i].name);
		uint64_t spent = sums->self_duration - old->self_duration;
		uint64_t all = now->total.self_duration - before->total.self_duration;
		int line = snprintf(text + length, size - length, "%s%12s calls/s %11s %8s  %.40s", i ? "\n" : "",
				    quantity_per_second((double)(sums->count - old->count), (double)duration).text,
				    quantity_measured_time((double)spent).text,
				    quantity_share((double)spent, (double)all).text, now->items[i].name);
		if (line < 0 || (size_t)line >= size - length) {
			text[length] = '\0';
			break;
		}
		length += (size_t)line;
	}
	return length;
}

void status_line_show(struct status *last, uint64_t elapsed, const struct collector_thread_progress *progress)
{
	char text[4096];
	size_t length =
		status_line_calls(&last->calls, &progress->calls, elapsed - last->elapsed, text, sizeof text / 2);
	snprintf(text + length, sizeof text - length, "%s%.0f s  %s sample%s  %" PRIu64 " lost", length ? "\n" : "",
		 (double)elapsed / 1e9, quantity_sum(progress->samples).text, plural(progress->samples),
		 progress->lost);
	*last = (struct status){ .elapsed = elapsed, .calls = progress->calls };
	log_status_line(text);
}
