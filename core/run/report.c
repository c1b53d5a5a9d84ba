/* SPDX-License-Identifier: Apache-2.0 */
/* The status line and the summary: see report.h. */
#include "run/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <iaprof/host.h>

#include "base/clock.h"
#include "base/log.h"

struct own_cost own_cost_now(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return (struct own_cost){
		.cpu = ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * NANOSECONDS_PER_SECOND +
		       ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * 1000,
		.clock = clock_monotonic(),
	};
}

static double seconds(uint64_t nanoseconds)
{
	return (double)nanoseconds / (double)NANOSECONDS_PER_SECOND;
}

void report_status(uint64_t elapsed, struct collecting_progress progress)
{
	char text[128];
	snprintf(text, sizeof text, "%.0f s  %" PRIu64 " samples  %" PRIu64 " lost", seconds(elapsed), progress.samples,
		 progress.lost);
	log_status_line(text);
}

static void report_lost(const struct iaprof_profile *profile)
{
	for (size_t i = 0; i < profile->lost_count; i++) {
		const struct iaprof_lost *lost = iaprof_profile_lost(profile, i);
		char count[64] = "an unknown number", value[128] = "";
		if (lost->count && lost->unknown)
			snprintf(count, sizeof count, "%" PRIu64 " and an unknown number", lost->count);
		else if (lost->count || !lost->unknown)
			snprintf(count, sizeof count, "%" PRIu64, lost->count);
		if (lost->value && lost->value_type != UINT32_MAX) {
			const struct iaprof_value_type *type = iaprof_profile_value_type(profile, lost->value_type);
			snprintf(value, sizeof value, " (%s: %" PRIu64 " %s)", type->name, lost->value, type->unit);
		}
		log_message(IAPROF_LOG_WARNING, "lost: %s: %s: %s%s", lost->source, lost->reason, count, value);
	}
}

void report_summary(const struct collecting_result *result, struct own_cost begin, struct own_cost end, bool replays)
{
	const struct collector_statistics *statistics = &result->statistics;
	if (result->profile)
		report_lost(result->profile);
	if (statistics->symbolizer_warning)
		log_message(IAPROF_LOG_WARNING, "%s", statistics->symbolizer_warning);
	if (statistics->mappings_dropped)
		log_message(IAPROF_LOG_WARNING,
			    "%" PRIu64 " parts of mappings were forgotten: a process has too many to keep",
			    statistics->mappings_dropped);
	if (statistics->stacks_unknown)
		log_message(IAPROF_LOG_WARNING, "%" PRIu64 " stacks came too late to be named: [stack expired]",
			    statistics->stacks_unknown);
	if (statistics->definitions_refused)
		log_message(IAPROF_LOG_WARNING, "%" PRIu64 " definitions contradict earlier ones and were left out",
			    statistics->definitions_refused);
	if (statistics->out_of_memory)
		log_message(IAPROF_LOG_WARNING, "out of memory: %" PRIu64 " samples or other records are missing",
			    statistics->out_of_memory);
	if (!result->profile)
		return;
	double elapsed = seconds(result->profile->end - result->profile->begin);
	if (replays) {
		log_notice("replayed %" PRIu64 " samples of %.1f s", statistics->samples, elapsed);
		return;
	}
	double wall = seconds(end.clock - begin.clock);
	double own = seconds(end.cpu - begin.cpu), kernel_side = seconds(statistics->kernel_side_time);
	/* A share of next to no time is mostly that of starting up, and says nothing. */
	if (wall < 0.5)
		log_notice("%" PRIu64 " samples in %.3f s; iaprof used %.1f ms of CPU time", statistics->samples,
			   elapsed, 1000 * (own + kernel_side));
	else
		log_notice("%" PRIu64 " samples in %.1f s; iaprof used %.3f %% of one CPU (%.3f %% of it in the Linux "
			   "kernel's sampling)",
			   statistics->samples, elapsed, 100 * (own + kernel_side) / wall, 100 * kernel_side / wall);
}
