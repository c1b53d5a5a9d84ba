/* SPDX-License-Identifier: Apache-2.0 */
/* See loss_report.h. */
#include "run/loss_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <iaprof/host.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/saturating.h"

#define PAUSE (60 * NANOSECONDS_PER_SECOND)

static struct reported_loss *find(struct loss_report *report, const struct iaprof_lost *lost)
{
	for (size_t i = 0; i < report->items.count; i++)
		if (!strcmp(report->items.items[i].source, lost->source) &&
		    !strcmp(report->items.items[i].reason, lost->reason))
			return &report->items.items[i];
	struct reported_loss added = { .source = strdup(lost->source), .reason = strdup(lost->reason) };
	if (report->items.count < LOSS_REPORT_MAX && added.source && added.reason && array_push(&report->items, added))
		return &report->items.items[report->items.count - 1];
	free(added.source);
	free(added.reason);
	return NULL;
}

static void print(const struct reported_loss *loss)
{
	char count[64] = "an unknown number";
	if (loss->count)
		snprintf(count, sizeof count, "%" PRIu64 "%s", loss->count, loss->unknown ? " or more" : "");
	log_message(IAPROF_LOG_WARNING, "lost so far: %s: %s: %s", loss->source, loss->reason, count);
}

void loss_report_add(struct loss_report *report, const struct iaprof_profile *profile, uint64_t now)
{
	for (size_t i = 0; i < profile->lost_count; i++) {
		const struct iaprof_lost *lost = iaprof_profile_lost(profile, i);
		struct reported_loss *loss = lost->count || lost->unknown ? find(report, lost) : NULL;
		if (!loss)
			continue;
		loss->count = saturating_add(loss->count, lost->count);
		loss->unknown += lost->unknown;
		uint64_t all = saturating_add(loss->count, loss->unknown);
		if (loss->reported && (all / 2 < loss->reported || now - loss->reported_at < PAUSE))
			continue;
		loss->reported = all;
		loss->reported_at = now;
		print(loss);
	}
}

void loss_report_free(struct loss_report *report)
{
	for (size_t i = 0; i < report->items.count; i++) {
		free(report->items.items[i].source);
		free(report->items.items[i].reason);
	}
	array_free(&report->items);
}
