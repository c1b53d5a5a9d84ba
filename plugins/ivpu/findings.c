/* SPDX-License-Identifier: Apache-2.0 */
/* See findings.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <iaprof/host.h>
#include "findings.h"

#define SECOND 1e9
#define PAGE 4096.0
/* The lower end of what a steady inference shows, in messages a second: below it, growth is no storm. */
#define STEADY_RATE_MIN 50
/* Jobs from which on growth of buffers is no beginning any more. */
#define GROWTH_JOBS_MIN 8

struct judge {
	const struct ivpu_tally *tally;
	const struct ivpu_limits *limits;
	void (*emit)(void *context, const struct ivpu_finding *finding);
	void *context;
};

static void find(const struct judge *judge, uint32_t severity, const char *name, double value, double threshold,
		 const char *format, ...) IAPROF_PRINTF(6, 7);

static void find(const struct judge *judge, uint32_t severity, const char *name, double value, double threshold,
		 const char *format, ...)
{
	struct ivpu_finding finding = { .severity = severity, .name = name, .value = value, .threshold = threshold };
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(finding.text, sizeof finding.text, format, arguments);
	va_end(arguments);
	judge->emit(judge->context, &finding);
}

static void judge_recovery(const struct judge *judge)
{
	const struct ivpu_tally *tally = judge->tally;
	if (tally->recoveries)
		find(judge, IAPROF_FINDING_PROBLEM, "npu-recovery", (double)tally->recoveries, 0,
		     "the driver recovered the NPU %" PRIu64 " times (0 is healthy), and every job it had was lost: "
		     "see dmesg for the reason, and look for new firmware",
		     tally->recoveries);
	if (tally->resets)
		find(judge, IAPROF_FINDING_PROBLEM, "npu-reset", (double)tally->resets, 0,
		     "the NPU or an engine of it was reset %" PRIu64
		     " times (0 is healthy): see dmesg for the reason, and "
		     "look for new firmware",
		     tally->resets);
}

static void judge_hang(const struct judge *judge)
{
	const struct ivpu_tally *tally = judge->tally;
	double limit = (double)judge->limits->hang / SECOND;
	if (limit <= 0 || !tally->sees_done || tally->longest_job <= limit)
		return;
	if (tally->ends_missed)
		find(judge, IAPROF_FINDING_WARNING, "npu-job-hang", tally->longest_job, limit,
		     "a job waited %.1f s for its completion (more than %g s), or it was among the %" PRIu64
		     " things that happened to jobs and were not seen: see dmesg for a timeout",
		     tally->longest_job, limit, tally->ends_missed);
	else
		find(judge, IAPROF_FINDING_PROBLEM, "npu-job-hang", tally->longest_job, limit,
		     "a job waited %.1f s for its completion (more than %g s): the NPU hangs, or the job is that long; "
		     "see dmesg for a timeout, and if it is right, set hang= higher",
		     tally->longest_job, limit);
}

static void judge_ipc(const struct judge *judge)
{
	const struct ivpu_tally *tally = judge->tally;
	double rate = tally->message_rate, limit = (double)judge->limits->ipc_rate;
	double grown = tally->usual_rate * (double)judge->limits->ipc_growth;
	if (limit > 0 && rate > limit)
		find(judge, IAPROF_FINDING_WARNING, "npu-ipc-storm", rate, limit,
		     "%.0f messages of the firmware in one second (more than %.0f; a steady inference has 50 to 200): "
		     "see "
		     "what is sent so often, and give the NPU fewer and larger jobs",
		     rate, limit);
	else if (grown > 0 && rate > STEADY_RATE_MIN && rate > grown)
		find(judge, IAPROF_FINDING_NOTE, "npu-ipc-burst", rate, grown,
		     "%.0f messages of the firmware in one second (more than %.0f, %" PRIu64
		     " times of what is usual in this "
		     "run): see what the program did then",
		     rate, grown, judge->limits->ipc_growth);
	double calls = tally->jobs ? (double)tally->ipc_calls / (double)tally->jobs : 0;
	limit = (double)judge->limits->ipc_per_job;
	if (limit > 0 && calls > limit)
		find(judge, IAPROF_FINDING_WARNING, "npu-ipc-per-job", calls, limit,
		     "%.0f IPC calls for each job (more than %.0f): the driver and the firmware talk more than they "
		     "work; "
		     "give the NPU larger jobs",
		     calls, limit);
}

/* A buffer is mapped once for each process that has it. Pages do not tell: the firmware's own buffers have some too. */
static void judge_mappings(const struct judge *judge)
{
	const struct ivpu_tally *tally = judge->tally;
	double contexts = tally->contexts > 1 ? (double)tally->contexts : 1;
	double limit = (double)judge->limits->map_ratio * contexts;
	double bytes = (double)tally->page_maps * PAGE;
	if (limit <= 0)
		return;
	double ratio = tally->buffers_max ? (double)tally->mappings / (double)tally->buffers_max : 0;
	if (ratio > limit)
		find(judge, IAPROF_FINDING_WARNING, "npu-mapping-thrash", ratio, limit,
		     "%" PRIu64 " mappings (%.0f MiB in pages) for at most %" PRIu64
		     " buffers at a time, %.1f times of it (more "
		     "than %.0f): buffers are made and freed over and over; keep and reuse them",
		     tally->mappings, bytes / 1048576, tally->buffers_max, ratio, limit);
}

static void judge_growth(const struct judge *judge)
{
	const struct ivpu_tally *tally = judge->tally;
	uint64_t limit = judge->limits->buffer_growth;
	if (!limit || !tally->sees_freed || tally->jobs < GROWTH_JOBS_MIN ||
	    tally->buffers_half < tally->buffers_first || tally->buffers_last < tally->buffers_half)
		return;
	uint64_t first = tally->buffers_half - tally->buffers_first, second = tally->buffers_last - tally->buffers_half;
	uint64_t least = first < second ? first : second;
	if (least > limit)
		find(judge, IAPROF_FINDING_WARNING, "npu-buffer-growth", (double)least, (double)limit,
		     "buffers grew by %" PRIu64 " and then by %" PRIu64 " in the halves of %" PRIu64
		     " jobs (each more than %" PRIu64 "), to %" PRIu64
		     ": the program keeps buffers that it needs no more; free them",
		     first, second, tally->jobs, limit, tally->buffers_last);
}

static void judge_boots(const struct judge *judge)
{
	const struct ivpu_tally *tally = judge->tally;
	double limit = (double)judge->limits->boots;
	double jobs_each = tally->boots ? (double)tally->jobs / (double)tally->boots : 0;
	if (limit > 0 && (double)tally->boots >= limit && jobs_each < (double)judge->limits->boot_jobs)
		find(judge, IAPROF_FINDING_WARNING, "npu-boot-thrash", (double)tally->boots, limit,
		     "the firmware was booted %" PRIu64 " times (%.0f or more) for %" PRIu64
		     " jobs (fewer than %" PRIu64 " a boot): the NPU goes to sleep between jobs; keep it awake longer "
		     "with power/autosuspend_delay_ms of the "
		     "device in sysfs, or submit jobs together",
		     tally->boots, limit, tally->jobs, judge->limits->boot_jobs);
}

void ivpu_findings(const struct ivpu_tally *tally, const struct ivpu_limits *limits,
		   void (*emit)(void *context, const struct ivpu_finding *finding), void *context)
{
	const struct judge judge = { .tally = tally, .limits = limits, .emit = emit, .context = context };
	judge_recovery(&judge);
	judge_hang(&judge);
	judge_ipc(&judge);
	judge_mappings(&judge);
	judge_growth(&judge);
	judge_boots(&judge);
}
