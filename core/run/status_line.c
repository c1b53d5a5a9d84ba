/* SPDX-License-Identifier: Apache-2.0 */
/* See status_line.h. */
#include "run/status_line.h"

#include <inttypes.h>
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

void status_line_append_calls(struct text *text, const struct call_families *before, const struct call_families *now,
			      uint64_t duration)
{
	for (size_t i = 0; i < now->count; i++) {
		const struct call_sums *sums = &now->items[i].sums, *old = sums_before(before, now->items[i].name);
		double spent = (double)(sums->self_duration - old->self_duration);
		double all = (double)(now->total.self_duration - before->total.self_duration);
		text_append_format(text, "%12s calls/s %11s %8s  %.40s\n",
				   quantity_per_second((double)(sums->count - old->count), (double)duration).text,
				   quantity_measured_time(spent).text, quantity_share(spent, all, "%").text,
				   now->items[i].name);
	}
}

void status_line_show(struct status *last, uint64_t elapsed, const struct engine_progress *progress)
{
	struct text text = { 0 };
	status_line_append_calls(&text, &last->calls, &progress->calls, elapsed - last->elapsed);
	text_append_format(&text, "%.0f s  %s sample%s  %" PRIu64 " lost", (double)elapsed / 1e9,
			   quantity_sum(progress->samples).text, plural(progress->samples), progress->lost);
	*last = (struct status){ .elapsed = elapsed, .calls = progress->calls };
	log_status_line(text_string(&text));
	text_free(&text);
}
