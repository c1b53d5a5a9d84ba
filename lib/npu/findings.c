/* SPDX-License-Identifier: Apache-2.0 */
/* See findings.h. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stdio.h>
#include <iaprof/host.h>
#include "npu/findings.h"
#include "text/plural.h"
#include "text/quantity.h"

#define SECOND 1e9
#define PAGE 4096.0
/* Steady inference has at least this many messages per second: growth below it is normal. */
#define STEADY_RATE_MIN 50
/* Growth of buffers in fewer jobs is start-up, and so are their mappings. */
#define GROWTH_JOBS_MIN 8
/* Share of time in boots above which they are a boot loop: a suspended NPU also boots for a rare inference. */
#define BOOT_SHARE_MAX 0.1

struct judge {
	const struct ivpu_statistics *statistics;
	const struct ivpu_limits *limits;
	void (*emit)(void *context, const struct ivpu_finding *finding);
	void *context;
};

IAPROF_PRINTF(6, 7)
static void finding_emit(const struct judge *judge, uint32_t severity, const char *name, double value, double threshold,
			 const char *format, ...)
{
	struct ivpu_finding finding = { .severity = severity, .name = name, .value = value, .threshold = threshold };
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(finding.text, sizeof finding.text, format, arguments);
	va_end(arguments);
	judge->emit(judge->context, &finding);
}

/* "matmul (1234): ", or nothing. */
static void subject_text(const char *name, char *text, size_t size)
{
	snprintf(text, size, *name ? "%s: " : "%s", name);
}

static void recovery_judge(const struct judge *judge)
{
	const struct ivpu_statistics *statistics = judge->statistics;
	double hang = (double)judge->limits->hang / SECOND;
	const char *job = statistics->names.longest_job;
	bool is_cause_known = *job && hang > 0 && statistics->jobs.longest > hang;
	if (statistics->recoveries)
		finding_emit(judge, IAPROF_FINDING_PROBLEM, "npu-recovery", (double)statistics->recoveries, 0,
			     "NPU recoveries: %" PRIu64 " (limit 0)%s%s: the driver reset the NPU and aborted all jobs "
			     "(see dmesg for the cause, and check for a firmware update)",
			     statistics->recoveries, is_cause_known ? ", after the hang of " : "",
			     is_cause_known ? job : "");
	if (statistics->resets)
		finding_emit(judge, IAPROF_FINDING_PROBLEM, "npu-reset", (double)statistics->resets, 0,
			     "NPU or engine resets: %" PRIu64
			     " (limit 0): see dmesg for the cause, and check for a firmware update",
			     statistics->resets);
}

static void hang_judge(const struct judge *judge)
{
	const struct ivpu_statistics *statistics = judge->statistics;
	double limit = (double)judge->limits->hang / SECOND;
	const char *job = *statistics->names.longest_job ? statistics->names.longest_job : "a job";
	char usual[64] = "";
	if (limit <= 0 || !statistics->jobs.sees_done || statistics->jobs.longest <= limit)
		return;
	if (statistics->jobs.usual > 0)
		snprintf(usual, sizeof usual, "; the others took %s on average",
			 quantity_time(statistics->jobs.usual * SECOND).text);
	if (statistics->jobs.ends_missed)
		finding_emit(judge, IAPROF_FINDING_WARNING, "npu-job-hang", statistics->jobs.longest, limit,
			     "%s did not complete within %.1f s (limit hang=%gs%s), or its completion was not traced "
			     "(%" PRIu64 " job event%s missed; see dmesg for a timeout)",
			     job, statistics->jobs.longest, limit, usual, statistics->jobs.ends_missed,
			     plural(statistics->jobs.ends_missed));
	else
		finding_emit(judge, IAPROF_FINDING_PROBLEM, "npu-job-hang", statistics->jobs.longest, limit,
			     "%s did not complete within %.1f s (limit hang=%gs%s): the NPU hangs, or the job takes "
			     "that long (see dmesg for a timeout, or raise hang=)",
			     job, statistics->jobs.longest, limit, usual);
}

static void ipc_judge(const struct judge *judge)
{
	const struct ivpu_statistics *statistics = judge->statistics;
	double rate = statistics->messages.rate, limit = (double)judge->limits->ipc_rate;
	double grown = statistics->messages.usual_rate * (double)judge->limits->ipc_growth;
	bool is_explained = rate <= ivpu_messages_explained(statistics->messages.rate_jobs);
	char median[64] = "";
	if (statistics->jobs.median.messages)
		snprintf(median, sizeof median, ", this run's median is %" PRIu32, statistics->jobs.median.messages);
	if (limit > 0 && rate > limit && !is_explained)
		finding_emit(judge, IAPROF_FINDING_WARNING, "npu-ipc-storm", rate, limit,
			     "%.0f firmware messages in a second with %" PRIu64
			     " job%s (limits: ipc-rate=%.0f, and %d per job; one is needed%s): the firmware sends more "
			     "than jobs need (see dmesg and ivpu_ipc_irq_handler; update the firmware)",
			     rate, statistics->messages.rate_jobs, plural(statistics->messages.rate_jobs), limit,
			     IVPU_MESSAGES_PER_JOB, median);
	else if (grown > 0 && rate > STEADY_RATE_MIN && rate > grown && !is_explained)
		finding_emit(judge, IAPROF_FINDING_NOTE, "npu-ipc-burst", rate, grown,
			     "%.0f firmware messages in one second (limit %.0f: ipc-growth=%" PRIu64
			     " times this run's other seconds): check what the program did at that time",
			     rate, grown, judge->limits->ipc_growth);
	double calls =
		statistics->jobs.count ? (double)statistics->messages.ipc_calls / (double)statistics->jobs.count : 0;
	limit = (double)judge->limits->ipc_per_job;
	char subject[72];
	subject_text(statistics->names.jobs, subject, sizeof subject);
	if (limit > 0 && calls > limit)
		finding_emit(judge, IAPROF_FINDING_WARNING, "npu-ipc-per-job", calls, limit,
			     "%s%.0f IPC calls per job (limit ipc-per-job=%.0f): IPC outweighs the work (submit larger "
			     "jobs)",
			     subject, calls, limit);
}

/*
 * A buffer is mapped once per process that uses it. Page counts are no indication, as they include the firmware's
 * buffers.
 */
static bool mappings_judge(const struct judge *judge)
{
	const struct ivpu_statistics *statistics = judge->statistics;
	double contexts = statistics->contexts > 1 ? (double)statistics->contexts : 1;
	double limit = (double)judge->limits->map_ratio * contexts;
	double ratio = statistics->buffers.maximum
			       ? (double)statistics->mappings.count / (double)statistics->buffers.maximum
			       : 0;
	char subject[72], size[48] = "", files[32] = "";
	if (limit <= 0 || ratio <= limit)
		return false;
	subject_text(statistics->names.mappings, subject, sizeof subject);
	if (statistics->mappings.pages)
		snprintf(size, sizeof size, " (%s)", quantity_size((double)statistics->mappings.pages * PAGE).text);
	if (contexts > 1)
		snprintf(files, sizeof files, " for %.0f open files", contexts);
	finding_emit(judge, IAPROF_FINDING_WARNING, "npu-mapping-thrash", ratio, limit,
		     "%s%" PRIu64 " mappings%s for at most %" PRIu64
		     " buffers at a time, %s each (limit map-ratio=%" PRIu64 "%s; one is needed), %" PRIu32
		     " per job: buffers are created, mapped and freed repeatedly (allocate them once and reuse them)",
		     subject, statistics->mappings.count, size, statistics->buffers.maximum,
		     quantity_number(ratio).text, judge->limits->map_ratio, files, statistics->jobs.median.mappings);
	return true;
}

static bool growth_judge(const struct judge *judge)
{
	const struct ivpu_statistics *statistics = judge->statistics;
	uint64_t limit = judge->limits->buffer_growth;
	if (!limit || !statistics->buffers.sees_freed || statistics->jobs.count < GROWTH_JOBS_MIN ||
	    statistics->buffers.half < statistics->buffers.first || statistics->buffers.last < statistics->buffers.half)
		return false;
	uint64_t first = statistics->buffers.half - statistics->buffers.first,
		 second = statistics->buffers.last - statistics->buffers.half;
	uint64_t least = first < second ? first : second;
	char subject[72];
	if (least <= limit)
		return false;
	subject_text(statistics->names.buffers, subject, sizeof subject);
	finding_emit(judge, IAPROF_FINDING_WARNING, "npu-buffer-growth", (double)least, (double)limit,
		     "%sthe number of buffers grew by %" PRIu64 " and by %" PRIu64 " in the two halves of %" PRIu64
		     " jobs (limit buffer-growth=%" PRIu64 " each), to %" PRIu64
		     ": the program keeps buffers of earlier jobs (free them, or reuse them)",
		     subject, first, second, statistics->jobs.count, limit, statistics->buffers.last);
	return true;
}

/* The driver maps a buffer in the first submission that uses it: later ones should map nothing. */
static void submissions_judge(const struct judge *judge)
{
	const struct ivpu_statistics *statistics = judge->statistics;
	double pages = statistics->jobs.median.pages, limit = (double)judge->limits->submit_pages;
	bool is_in_submit = statistics->mappings.submit_pages >= statistics->mappings.pages / 2,
	     is_estimate = !statistics->mappings.pages;
	/* Page maps may not be traced: then mappings are counted, and buffers have an average size. */
	if (is_estimate) {
		is_in_submit = statistics->mappings.submit_count >= statistics->mappings.count / 2;
		pages = statistics->buffers.created
				? statistics->jobs.median.mappings * (double)statistics->buffers.bytes /
					  (double)statistics->buffers.created / PAGE
				: 0;
	}
	if (limit <= 0 || statistics->jobs.count < GROWTH_JOBS_MIN || pages <= limit || !is_in_submit)
		return;
	char subject[72];
	subject_text(statistics->names.mappings, subject, sizeof subject);
	finding_emit(judge, IAPROF_FINDING_WARNING, "npu-map-at-submit", pages, limit,
		     "%sa job maps %s%.0f pages (%s) in its submission (median of %" PRIu64
		     " jobs; limit submit-pages=%.0f): each job uses new buffers, which are mapped at first use (reuse "
		     "buffers, or use each once before what is timed)",
		     subject, is_estimate ? "about " : "", pages, quantity_size(pages * PAGE).text,
		     statistics->jobs.count, limit);
}

static void boots_judge(const struct judge *judge)
{
	const struct ivpu_statistics *statistics = judge->statistics;
	double limit = (double)judge->limits->boots;
	double jobs_each =
		statistics->boots.count ? (double)statistics->jobs.count / (double)statistics->boots.count : 0;
	bool knows_share = statistics->boots.knows_time && statistics->seconds > 0;
	double share = knows_share ? statistics->boots.seconds / statistics->seconds : 0;
	char part[64] = "", subject[72];
	if (limit <= 0 || (double)statistics->boots.count < limit || jobs_each >= (double)judge->limits->boot_jobs ||
	    (knows_share && share < BOOT_SHARE_MAX))
		return;
	/* Without times, one boot per job may be normal: a program with rare jobs causes it. */
	if (statistics->seconds <= 0 && statistics->boots.count <= 2 * statistics->jobs.count)
		return;
	if (knows_share)
		snprintf(part, sizeof part, ", %s %% of the time", quantity_number(100 * share).text);
	subject_text(statistics->names.jobs, subject, sizeof subject);
	if (!statistics->jobs.count)
		finding_emit(judge, IAPROF_FINDING_WARNING, "npu-boot-thrash", (double)statistics->boots.count, limit,
			     "%" PRIu64 " firmware boots (limit boots=%.0f)%s without a job: the firmware fails after "
			     "its boot (see dmesg, and update the firmware)",
			     statistics->boots.count, limit, part);
	else
		finding_emit(judge, IAPROF_FINDING_WARNING, "npu-boot-thrash", (double)statistics->boots.count, limit,
			     "%s%" PRIu64 " firmware boots for %" PRIu64
			     " jobs%s (limits: boots=%.0f, and boot-jobs=%" PRIu64
			     " jobs for each): the NPU is suspended between jobs (raise power/autosuspend_delay_ms of "
			     "the device in sysfs, or submit jobs together)",
			     subject, statistics->boots.count, statistics->jobs.count, part, limit,
			     judge->limits->boot_jobs);
}

static void polling_judge(const struct judge *judge)
{
	const struct ivpu_statistics *statistics = judge->statistics;
	double limit = (double)judge->limits->boot_wait / SECOND;
	double polls = statistics->boots.count ? (double)statistics->boots.polls / (double)statistics->boots.count : 0;
	double polls_limit = (double)judge->limits->boot_polls;
	char subject[72];
	if (statistics->recoveries)
		return;
	subject_text(statistics->names.boots, subject, sizeof subject);
	if (statistics->boots.knows_time) {
		if (limit > 0 && statistics->boots.longest > limit)
			finding_emit(judge, IAPROF_FINDING_WARNING, "npu-firmware-polling", statistics->boots.longest,
				     limit,
				     "%sa firmware boot took %s with %.0f polls (limit boot-wait=%gs; the driver gives "
				     "up after 1 s): the firmware starts slowly (update it; keep the NPU awake with "
				     "power/control)",
				     subject, quantity_time(statistics->boots.longest * SECOND).text, polls, limit);
	} else if (statistics->seconds <= 0 && polls_limit > 0 && polls > polls_limit) {
		finding_emit(
			judge, IAPROF_FINDING_WARNING, "npu-firmware-polling", polls, polls_limit,
			"the driver polled %.0f times per firmware boot (limit boot-polls=%.0f; Lunar Lake has about "
			"950): the firmware starts slowly (update it; keep the NPU awake with power/control)",
			polls, polls_limit);
	}
}

/* Notes that the start took a large share of the time of few jobs: not a fault, but the times are not typical. */
static void start_judge(const struct judge *judge)
{
	const struct ivpu_statistics *statistics = judge->statistics;
	double start = statistics->boots.seconds + statistics->mappings.seconds;
	double limit = (double)judge->limits->cold_start;
	double share = start > 0 ? 100 * start / (start + statistics->jobs.seconds) : 0;
	char subject[72], size[48] = "";
	if (limit <= 0 || !statistics->jobs.count || statistics->jobs.count >= GROWTH_JOBS_MIN ||
	    statistics->boots.count != 1 || statistics->jobs.seconds <= 0 || share < limit)
		return;
	subject_text(statistics->names.jobs, subject, sizeof subject);
	if (statistics->mappings.pages)
		snprintf(size, sizeof size, " of %s", quantity_size((double)statistics->mappings.pages * PAGE).text);
	finding_emit(
		judge, IAPROF_FINDING_NOTE, "npu-cold-start", share, limit,
		"%s%" PRIu64
		" job%s ran for %s after a cold start: firmware boot %s, first mapping%s %s (%s %% of the whole, limit "
		"cold-start=%.0f): run an inference before what is timed, and keep the NPU awake (power/control)",
		subject, statistics->jobs.count, plural(statistics->jobs.count),
		quantity_time(statistics->jobs.seconds * SECOND).text,
		quantity_time(statistics->boots.seconds * SECOND).text, size,
		quantity_time(statistics->mappings.seconds * SECOND).text, quantity_number(share).text, limit);
}

static void turns_judge(const struct judge *judge)
{
	const struct ivpu_statistics *statistics = judge->statistics;
	const struct ivpu_names *names = &statistics->names;
	double limit = (double)judge->limits->turns;
	double share = statistics->jobs.count
			       ? 100.0 * (double)statistics->jobs.turns_waited / (double)statistics->jobs.count
			       : 0;
	char owners[192] = "", queue[64] = "";
	if (limit <= 0 || !statistics->jobs.knows_owners || statistics->jobs.count < GROWTH_JOBS_MIN || share <= limit)
		return;
	if (*names->turns[1])
		snprintf(owners, sizeof owners, " of %s and %s", names->turns[0], names->turns[1]);
	if (names->turns_queue > 0)
		snprintf(queue, sizeof queue, ", %s on average", quantity_time(names->turns_queue * SECOND).text);
	finding_emit(judge, IAPROF_FINDING_WARNING, "npu-taking-turns", share, limit,
		     "%" PRIu64 " of %" PRIu64
		     " jobs%s waited for a job of another program or model%s (%s %%, limit turns=%.0f): they take "
		     "turns on the NPU (run one after the other, or batch the jobs of each)",
		     statistics->jobs.turns_waited, statistics->jobs.count, owners, queue, quantity_number(share).text,
		     limit);
}

void ivpu_findings(const struct ivpu_statistics *statistics, const struct ivpu_limits *limits,
		   void (*emit)(void *context, const struct ivpu_finding *finding), void *context)
{
	const struct judge judge = { .statistics = statistics, .limits = limits, .emit = emit, .context = context };
	recovery_judge(&judge);
	hang_judge(&judge);
	ipc_judge(&judge);
	/* Jobs that create buffers map them, too: only the cause is a finding. */
	bool is_thrashing = mappings_judge(&judge), is_growing = growth_judge(&judge);
	if (!is_thrashing && !is_growing)
		submissions_judge(&judge);
	boots_judge(&judge);
	polling_judge(&judge);
	turns_judge(&judge);
	start_judge(&judge);
}
