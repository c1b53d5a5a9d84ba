/* SPDX-License-Identifier: Apache-2.0 */
/* See report.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <iaprof/record.h>
#include "npu/report.h"
#include "npu/use_tables.h"
#include "text/plural.h"
#include "text/quantity.h"

/* Percent by which jobs and the driver's counter may differ: both see the same jobs, at slightly different times. */
#define BUSY_DIFFERENCE_MAX 5.0

/* Records that follow an error are not emitted. */
struct emission {
	struct record_batch *batch;
	uint64_t time;
	int result;
	uint32_t count;
};

static void finding_emit(void *context, const struct ivpu_finding *finding)
{
	struct emission *emission = context;
	const struct record_finding record = { .severity = finding->severity,
					       .name = finding->name,
					       .text = finding->text,
					       .value = finding->value,
					       .threshold = finding->threshold };
	emission->count++;
	if (!emission->result)
		emission->result = record_batch_add_finding(emission->batch, &record, emission->time);
}

IAPROF_PRINTF(3, 4)
static void finding_append(struct ivpu_finding *finding, size_t *length, const char *format, ...)
{
	if (*length >= sizeof finding->text)
		return;
	va_list arguments;
	va_start(arguments, format);
	*length += (size_t)vsnprintf(finding->text + *length, sizeof finding->text - *length, format, arguments);
	va_end(arguments);
}

/* Emits a finding that lists the checks of a run without findings. */
static void nothing_found_emit(struct emission *emission, const struct ivpu_statistics *statistics)
{
	struct ivpu_finding finding = { .severity = IAPROF_FINDING_NOTE,
					.name = "npu-no-findings",
					.value = (double)statistics->jobs.count };
	const struct {
		const char *name;
		bool is_checked;
	} checks[] = {
		{ "recoveries", true },
		{ "hangs", statistics->jobs.sees_done && statistics->seconds > 0 },
		{ "firmware messages", statistics->messages.count && statistics->seconds > 0 },
		{ "firmware boots", statistics->boots.count },
		{ "mappings", statistics->mappings.count },
		{ "buffers", statistics->buffers.sees_freed },
		{ "waiting for other programs or models", statistics->jobs.knows_owners },
	};
	size_t length = 0;

	finding_append(&finding, &length, "no problem found in %" PRIu64 " job%s (checked:", statistics->jobs.count,
		       plural(statistics->jobs.count));
	for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
		if (checks[i].is_checked)
			finding_append(&finding, &length, "%s %s", i ? "," : "", checks[i].name);
	finding_append(&finding, &length, ")");
	finding_emit(emission, &finding);
}

static void findings_emit(struct emission *emission, const struct npu_report *report)
{
	emission->count = 0;
	ivpu_findings(&report->statistics, report->limits, finding_emit, emission);
	if (!emission->count && report->statistics.jobs.count)
		nothing_found_emit(emission, &report->statistics);
}

/* Emits the number of calls, by family. */
static void overview_emit(struct emission *emission, const struct npu_report *report)
{
	const struct ivpu_overview *overview = report->overview;
	uint64_t messages = report->statistics.messages.count, polls = report->statistics.boots.polls;
	struct ivpu_finding finding = { .severity = IAPROF_FINDING_NOTE,
					.name = "npu-calls",
					.value = (double)overview->calls };
	size_t length = (size_t)snprintf(finding.text, sizeof finding.text, "%" PRIu64 " call%s", overview->calls,
					 plural(overview->calls));
	if (!overview->calls)
		return;
	/* In the order of the table of families. */
	bool is_listed[IVPU_FAMILY_COUNT] = { false }, is_first = true;
	for (;;) {
		uint32_t largest = IVPU_FAMILY_COUNT;
		for (uint32_t i = 0; i < IVPU_FAMILY_COUNT; i++)
			if (overview->family_counts[i] && !is_listed[i] &&
			    (largest == IVPU_FAMILY_COUNT ||
			     overview->family_counts[i] > overview->family_counts[largest]))
				largest = i;
		if (largest == IVPU_FAMILY_COUNT)
			break;
		is_listed[largest] = true;
		finding_append(
			&finding, &length, "%s %s %" PRIu64 " (%s %%)", is_first ? ":" : ",", ivpu_family_name(largest),
			overview->family_counts[largest],
			quantity_number(100.0 * (double)overview->family_counts[largest] / (double)overview->calls)
				.text);
		is_first = false;
	}
	if (overview->knows_messages)
		finding_append(&finding, &length, "; %" PRIu64 " firmware message%s", messages, plural(messages));
	if (overview->knows_polls)
		finding_append(&finding, &length, "; %" PRIu64 " poll%s while the firmware booted", polls,
			       plural(polls));
	if (overview->hot_functions_left_out)
		finding_append(&finding, &length, "; %" PRIu32 " function%s called for each page not traced (hot=yes)",
			       overview->hot_functions_left_out, plural(overview->hot_functions_left_out));
	finding_emit(emission, &finding);
}

/* Appends a rate such as "12.3 jobs", if it is known. */
static void rate_append(struct ivpu_finding *finding, size_t *length, uint64_t count, double seconds, const char *what)
{
	if (count)
		finding_append(finding, length, "%s %s %s", finding->text[*length - 1] == ':' ? "" : ",",
			       quantity_number((double)count / seconds).text, what);
}

/* Omits numbers that are unknown or 0. */
static void rates_emit(struct emission *emission, const struct ivpu_statistics *statistics)
{
	struct ivpu_finding finding = { .severity = IAPROF_FINDING_NOTE, .name = "npu-rates" };
	double seconds = statistics->seconds;
	size_t length = 0;
	if (seconds <= 0)
		return;
	finding.value = (double)statistics->jobs.count / seconds;
	finding_append(&finding, &length, "per second:");
	rate_append(&finding, &length, statistics->jobs.count, seconds, "jobs");
	rate_append(&finding, &length, statistics->messages.count, seconds, "firmware messages");
	if (statistics->messages.count)
		finding_append(&finding, &length, " (at most %.0f)", statistics->messages.rate);
	rate_append(&finding, &length, statistics->buffers.created, seconds, "buffers created");
	rate_append(&finding, &length, statistics->mappings.count, seconds, "buffers mapped");
	finding_append(&finding, &length, ", over %s", quantity_time(seconds * 1e9).text);
	if (statistics->boots.count)
		finding_append(&finding, &length, "; firmware boots: %" PRIu64, statistics->boots.count);
	if (statistics->resumes)
		finding_append(&finding, &length, "%s NPU resumes: %" PRIu64, statistics->boots.count ? "," : ";",
			       statistics->resumes);
	if (statistics->buffers.bytes)
		finding_append(&finding, &length, "; %s of buffers created",
			       quantity_size((double)statistics->buffers.bytes).text);
	if (statistics->mappings.pages && statistics->buffers.bytes)
		finding_append(
			&finding, &length, ", with %s page mappings per 4 KiB, including the firmware's buffers",
			quantity_number((double)statistics->mappings.pages * 4096 / (double)statistics->buffers.bytes)
				.text);
	if (statistics->mappings.pages && statistics->mappings.count)
		finding_append(
			&finding, &length, "; %s pages per mapping",
			quantity_number((double)statistics->mappings.pages / (double)statistics->mappings.count).text);
	finding_emit(emission, &finding);
}

/* Emits how much of the driver's busy time the jobs explain. */
static void busy_emit(struct emission *emission, const struct npu_report *report)
{
	double traced = (double)report->busy.traced, driver = (double)report->busy.driver;
	struct ivpu_finding finding = { .severity = IAPROF_FINDING_NOTE,
					.name = "npu-job-coverage",
					.value = driver > 0 ? 100 * traced / driver : 0,
					.threshold = 100 - BUSY_DIFFERENCE_MAX };

	if (!report->busy.driver)
		return;
	bool has_more = finding.value > 100 + BUSY_DIFFERENCE_MAX, has_less = finding.value < finding.threshold;
	if (has_more || has_less)
		finding.severity = IAPROF_FINDING_WARNING;
	snprintf(finding.text, sizeof finding.text,
		 "the NPU was busy for %s by its jobs and for %s by the driver's counter npu_busy_time_us (%s %%)%s",
		 quantity_time(traced).text, quantity_time(driver).text, quantity_number(finding.value).text,
		 has_less   ? ": jobs that began before the run or whose events were lost are missing (see the losses)"
		 : has_more ? ": ends of jobs were traced late (see the losses)"
			    : "");
	finding_emit(emission, &finding);
}

static void starts_emit(struct emission *emission, const struct command_queues *queues)
{
	struct ivpu_finding finding = { .severity = IAPROF_FINDING_NOTE,
					.name = "npu-unknown-starts",
					.value = (double)queues->unknown };

	if (!queues->unknown)
		return;
	snprintf(finding.text, sizeof finding.text,
		 "of %" PRIu64 " job%s, %" PRIu64
		 " had a job of another command queue beside them: the driver does not report which one the NPU "
		 "executed, and their times are from submission to completion",
		 queues->jobs, plural(queues->jobs), queues->unknown);
	finding_emit(emission, &finding);
}

void ivpu_unknown_add(struct ivpu_unknown_functions *unknown, const char *name, uint64_t calls)
{
	size_t length = strlen(unknown->names), more = strlen(name);

	unknown->count++;
	unknown->calls += calls;
	/* Reserves room for " ...". */
	if (length + more + 6 < sizeof unknown->names)
		snprintf(unknown->names + length, sizeof unknown->names - length, "%s%s", length ? " " : "", name);
	else if (length < 4 || strcmp(unknown->names + length - 4, " ...") != 0)
		snprintf(unknown->names + length, sizeof unknown->names - length, " ...");
}

static void unknown_emit(struct emission *emission, const struct ivpu_unknown_functions *unknown)
{
	struct ivpu_finding finding = { .severity = IAPROF_FINDING_NOTE,
					.name = "npu-no-family",
					.value = (double)unknown->count };

	if (!unknown->count)
		return;
	snprintf(
		finding.text, sizeof finding.text,
		"no family for %" PRIu32 " function%s with %" PRIu64
		" call%s, which are counted as other: %s (the driver is newer than this program, or names are cut off)",
		unknown->count, plural(unknown->count), unknown->calls, plural(unknown->calls), unknown->names);
	finding_emit(emission, &finding);
}

int npu_report_emit(struct npu_report *report, struct record_batch *batch, uint64_t time)
{
	struct emission emission = { .batch = batch, .time = time };

	npu_use_describe(report->use, &report->statistics);
	overview_emit(&emission, report);
	unknown_emit(&emission, &report->unknown);
	if (!emission.result)
		emission.result = npu_use_emit(report->use, batch, &report->statistics, time);
	rates_emit(&emission, &report->statistics);
	busy_emit(&emission, report);
	starts_emit(&emission, report->queues);
	findings_emit(&emission, report);
	return emission.result;
}
