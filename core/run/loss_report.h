/* SPDX-License-Identifier: Apache-2.0 */
/* Messages about losses of a run without end, when they happen. Used by one thread. */
#pragma once

#include <iaprof/profile.h>

#include "base/array.h"

/* Further sources and reasons are in the profiles only. */
#define LOSS_REPORT_MAX 64u

struct reported_loss {
	char *source, *reason;
	uint64_t count, unknown;        /* in all intervals so far; unknown: losses whose count is not known */
	uint64_t reported, reported_at; /* sum of both in the last message, and when that was; 0: none */
};

struct loss_report {
	ARRAY(struct reported_loss) items;
};

/*
 * Adds the losses of an interval, and reports each source and reason that is new or has doubled since the last message,
 * at most once a minute, so that a loss which persists does not fill a log.
 */
void loss_report_add(struct loss_report *report, const struct iaprof_profile *profile, uint64_t now);
void loss_report_free(struct loss_report *report);
