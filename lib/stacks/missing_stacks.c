/* SPDX-License-Identifier: Apache-2.0 */
/* See missing_stacks.h. */
#include "stacks/missing_stacks.h"

#include <stdbool.h>
#include <iaprof/activity.h>

void missing_stacks_report(const struct iaprof_host *host, const struct iaprof_profile *profile)
{
	bool is_last = profile->flags & IAPROF_PROFILE_TOTAL && !(profile->flags & IAPROF_PROFILE_DIFFERENCE);
	/* A run that profiled something states its number of samples. */
	if (!is_last || profile->value_count || !(host->target(host)->flags & IAPROF_TARGET_RECORDED))
		return;
	const struct iaprof_activity *activity = profile->activity;
	if (profile->jobs_done || (activity && activity->histogram_count))
		host->log(host, IAPROF_LOG_WARNING,
			  "the output has no stacks: the run has only jobs or histograms (see -k summary, or "
			  "csv:rows=events)");
	else
		host->log(host, IAPROF_LOG_WARNING, "the output has no stacks: the run has no samples");
}
