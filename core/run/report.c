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
#include "run/call_report.h"

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

void report_status(struct status *last, uint64_t elapsed, const struct collecting_progress *progress)
{
	char text[4096];
	size_t length =
		call_report_live(&last->calls, &progress->calls, elapsed - last->elapsed, text, sizeof text / 2);
	snprintf(text + length, sizeof text - length, "%s%.0f s  %" PRIu64 " samples  %" PRIu64 " lost",
		 length ? "\n" : "", seconds(elapsed), progress->samples, progress->lost);
	*last = (struct status){ .elapsed = elapsed, .calls = progress->calls };
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

/* Counts of one kind that something is missing for, as one line. */
struct missing_count {
	uint64_t count;
	const char *what;
};

static void report_missing(const char *subject, const struct missing_count *missing, size_t count)
{
	char text[512];
	size_t length = 0;
	for (size_t i = 0; i < count; i++)
		if (missing[i].count)
			length += (size_t)snprintf(text + length, sizeof text - length, "%s%" PRIu64 " %s",
						   length ? ", " : "", missing[i].count, missing[i].what);
	if (length)
		log_message(IAPROF_LOG_WARNING, "%s: %s", subject, text);
}

/* What became of the code of devices: one line of what there was, and one of what is missing. */
static void report_device_code(const struct device_code_statistics *device)
{
	const struct missing_count missing[] = {
		{ device->unreadable, "images could not be read" },
		{ device->damaged, "images are damaged in parts" },
		{ device->unplaced, "kernels have no known size" },
		{ device->refused, "loads were refused" },
		{ device->untold, "functions were too many to tell" },
		{ device->out_of_memory, "loads found no memory" },
	};
	report_missing("device code", missing, sizeof missing / sizeof *missing);
	if (device->code_objects || device->kernels)
		log_notice("device code: %" PRIu64 " code objects (%" PRIu64 " images), %" PRIu64 " kernels, %" PRIu64
			   " launches",
			   device->code_objects, device->images, device->kernels, device->launches);
}

/* What became of the samples of devices, one line each, and what was missing for it. */
static void report_devices(const struct collecting_result *result)
{
	const struct correlator_statistics *correlator = &result->statistics.correlator;
	const struct missing_count missing[] = {
		{ correlator->launches_unknown, "launches are of kernels that were not announced" },
		{ correlator->launches_merged, "launches are not told apart, as their kernels had too many" },
		{ correlator->kernels_refused, "kernels found no room" },
		{ correlator->bases_refused, "instruction bases found no room" },
		{ correlator->activity_dropped, "records of busy processes found no room" },
		{ correlator->functions_unlisted, "places are in functions that were too many to list" },
		{ correlator->bytes_unlisted, "bytes of functions could not be listed as instructions" },
		{ correlator->hurried, "samples could not wait for their code" },
		{ correlator->out_of_memory, "samples found no memory" },
	};
	report_missing("device samples", missing, sizeof missing / sizeof *missing);
	for (size_t i = 0; i < result->device_count; i++) {
		const struct device_samples *samples = &result->devices[i].samples;
		char name[256], text[256];
		if (!samples->samples && !samples->rows && !samples->overflows)
			continue;
		device_samples_describe(samples, text, sizeof text);
		sampled_device_name(result->devices, result->device_count, i, name, sizeof name);
		log_notice("%s: %s", name, text);
	}
}

/* Lines about files that were not used: more would hide the rest of the summary. */
#define REFUSALS_SHOWN 64

static void report_refusals(const struct collector_statistics *statistics)
{
	uint64_t more = statistics->refused_more;
	for (size_t i = 0; i < statistics->refusal_count; i++) {
		const struct refusal *refusal = &statistics->refusals[i];
		char times[32] = "";
		if (i >= REFUSALS_SHOWN && log_level() < IAPROF_LOG_INFO) {
			more++;
			continue;
		}
		if (refusal->count > 1)
			snprintf(times, sizeof times, " (%" PRIu64 " times)", refusal->count);
		log_message(IAPROF_LOG_WARNING, "ignored %s: %s%s", refusal->path, refusal->reason, times);
	}
	if (more)
		log_message(IAPROF_LOG_WARNING, "ignored %" PRIu64 " more files (-v names them)", more);
}

static void report_findings(const struct findings *findings)
{
	for (size_t i = 0; i < findings->items.count; i++) {
		const struct finding *finding = &findings->items.items[i];
		char times[64] = "", process[32] = "";
		if (finding->count > 1)
			snprintf(times, sizeof times, " (%" PRIu64 " times)", finding->count);
		if (finding->pid)
			snprintf(process, sizeof process, "process %" PRIu32 ": ", finding->pid);
		if (finding->severity > IAPROF_FINDING_NOTE)
			log_message(IAPROF_LOG_WARNING, "%s: %s%s%s", finding->name, process, finding->text, times);
		else
			log_notice("%s: %s%s%s", finding->name, process, finding->text, times);
	}
	if (findings->dropped)
		log_message(IAPROF_LOG_WARNING, "%" PRIu64 " findings were too many to keep", findings->dropped);
}

void report_summary(const struct collecting_result *result, struct own_cost begin, struct own_cost end, bool replays)
{
	const struct collector_statistics *statistics = &result->statistics;
	if (result->profile)
		report_lost(result->profile);
	report_refusals(statistics);
	if (statistics->symbolizer_warning)
		log_message(IAPROF_LOG_WARNING, "%s", statistics->symbolizer_warning);
	if (statistics->mappings_refused)
		log_message(IAPROF_LOG_WARNING,
			    "ignored %" PRIu64 " mappings: processes of user %" PRIu32 " have too many to keep",
			    statistics->mappings_refused, statistics->mappings_refused_user);
	if (statistics->mappings_dropped)
		log_message(IAPROF_LOG_WARNING,
			    "%" PRIu64 " parts of mappings were forgotten: a process has too many to keep",
			    statistics->mappings_dropped);
	if (statistics->stacks_unknown)
		log_message(IAPROF_LOG_WARNING, "%" PRIu64 " stacks came too late to be named: [stack expired]",
			    statistics->stacks_unknown);
	if (statistics->event_stacks_missed)
		log_message(IAPROF_LOG_WARNING,
			    "%" PRIu64 " stacks of launches or calls have no names: their processes are not known, or "
			    "they came too late",
			    statistics->event_stacks_missed);
	if (statistics->definitions_refused)
		log_message(IAPROF_LOG_WARNING, "%" PRIu64 " definitions contradict earlier ones and were left out",
			    statistics->definitions_refused);
	if (statistics->addresses_nameless)
		log_message(IAPROF_LOG_WARNING,
			    "%" PRIu64
			    " addresses have no names in the capture and are shown as [unknown] (a replay reads "
			    "no other files)",
			    statistics->addresses_nameless);
	if (statistics->out_of_memory)
		log_message(IAPROF_LOG_WARNING, "out of memory: %" PRIu64 " samples or other records are missing",
			    statistics->out_of_memory);
	if (result->findings)
		report_findings(result->findings);
	report_device_code(&statistics->device);
	report_devices(result);
	if (!result->profile)
		return;
	double elapsed = seconds(result->profile->end - result->profile->begin);
	if (replays) {
		if (elapsed > 0)
			log_notice("replayed %" PRIu64 " samples of %.*f s", statistics->samples, elapsed < 1 ? 3 : 1,
				   elapsed);
		else
			log_notice("replayed %" PRIu64 " samples", statistics->samples);
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
