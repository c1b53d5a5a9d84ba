/* SPDX-License-Identifier: Apache-2.0 */
/* See finding_records.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <iaprof/record.h>
#include "finding_records.h"
#include "text/plural.h"
#include "text/quantity.h"

struct emission {
	struct record_batch *batch;
	uint64_t time;
	int result;
	uint32_t count;
};

static void emit(void *context, const struct ivpu_finding *finding)
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

static void append(struct ivpu_finding *finding, size_t *length, const char *format, ...) IAPROF_PRINTF(3, 4);

/* Emits a finding that lists the checks of a run without findings. */
static void nothing_found_emit(struct emission *emission, const struct ivpu_statistics *statistics)
{
	struct ivpu_finding finding = { .severity = IAPROF_FINDING_NOTE,
					.name = "npu-no-findings",
					.value = (double)statistics->jobs };
	const struct {
		const char *name;
		bool is_checked;
	} checks[] = {
		{ "recoveries", true },
		{ "hangs", statistics->sees_done && statistics->seconds > 0 },
		{ "firmware messages", statistics->messages && statistics->seconds > 0 },
		{ "firmware boots", statistics->boots },
		{ "mappings", statistics->mappings },
		{ "buffers", statistics->sees_freed },
		{ "waiting for other programs or models", statistics->knows_owners },
	};
	size_t length = 0;

	append(&finding, &length, "no problem found in %" PRIu64 " job%s (checked:", statistics->jobs,
	       plural(statistics->jobs));
	for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
		if (checks[i].is_checked)
			append(&finding, &length, "%s %s", i ? "," : "", checks[i].name);
	append(&finding, &length, ")");
	emit(emission, &finding);
}

int ivpu_findings_emit(struct record_batch *batch, const struct ivpu_statistics *statistics,
		       const struct ivpu_limits *limits, uint64_t time)
{
	struct emission emission = { .batch = batch, .time = time };
	ivpu_findings(statistics, limits, emit, &emission);
	if (!emission.count && statistics->jobs)
		nothing_found_emit(&emission, statistics);
	return emission.result;
}

static void append(struct ivpu_finding *finding, size_t *length, const char *format, ...)
{
	if (*length >= sizeof finding->text)
		return;
	va_list arguments;
	va_start(arguments, format);
	*length += (size_t)vsnprintf(finding->text + *length, sizeof finding->text - *length, format, arguments);
	va_end(arguments);
}

int ivpu_overview_emit(struct record_batch *batch, const struct ivpu_overview *overview, uint64_t time)
{
	struct emission emission = { .batch = batch, .time = time };
	struct ivpu_finding finding = { .severity = IAPROF_FINDING_NOTE,
					.name = "npu-calls",
					.value = (double)overview->calls };
	size_t length = (size_t)snprintf(finding.text, sizeof finding.text, "%" PRIu64 " call%s", overview->calls,
					 plural(overview->calls));
	if (!overview->calls)
		return 0;
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
		append(&finding, &length, "%s %s %" PRIu64 " (%s %%)", is_first ? ":" : ",", ivpu_family_name(largest),
		       overview->family_counts[largest],
		       quantity_number(100.0 * (double)overview->family_counts[largest] / (double)overview->calls)
			       .text);
		is_first = false;
	}
	if (overview->knows_messages)
		append(&finding, &length, "; %" PRIu64 " firmware message%s", overview->messages,
		       plural(overview->messages));
	if (overview->knows_polls)
		append(&finding, &length, "; %" PRIu64 " poll%s while the firmware booted", overview->boot_polls,
		       plural(overview->boot_polls));
	if (overview->hot_functions_left_out)
		append(&finding, &length, "; %" PRIu32 " function%s called for each page not traced (hot=yes)",
		       overview->hot_functions_left_out, plural(overview->hot_functions_left_out));
	emit(&emission, &finding);
	return emission.result;
}

/* Appends a rate such as "12.3 jobs", if it is known. */
static void append_rate(struct ivpu_finding *finding, size_t *length, uint64_t count, double seconds, const char *what)
{
	if (count)
		append(finding, length, "%s %s %s", finding->text[*length - 1] == ':' ? "" : ",",
		       quantity_number((double)count / seconds).text, what);
}

/* Omits numbers that are unknown or 0. */
int ivpu_rates_emit(struct record_batch *batch, const struct ivpu_statistics *statistics, uint64_t time)
{
	struct emission emission = { .batch = batch, .time = time };
	struct ivpu_finding finding = { .severity = IAPROF_FINDING_NOTE, .name = "npu-rates" };
	double seconds = statistics->seconds;
	size_t length = 0;
	if (seconds <= 0)
		return 0;
	finding.value = (double)statistics->jobs / seconds;
	append(&finding, &length, "per second:");
	append_rate(&finding, &length, statistics->jobs, seconds, "jobs");
	append_rate(&finding, &length, statistics->messages, seconds, "firmware messages");
	if (statistics->messages)
		append(&finding, &length, " (at most %.0f)", statistics->message_rate);
	append_rate(&finding, &length, statistics->buffers_created, seconds, "buffers created");
	append_rate(&finding, &length, statistics->mappings, seconds, "buffers mapped");
	append(&finding, &length, ", over %s", quantity_time(seconds * 1e9).text);
	if (statistics->boots)
		append(&finding, &length, "; firmware boots: %" PRIu64, statistics->boots);
	if (statistics->resumes)
		append(&finding, &length, "%s NPU resumes: %" PRIu64, statistics->boots ? "," : ";",
		       statistics->resumes);
	if (statistics->created_bytes)
		append(&finding, &length, "; %s of buffers created",
		       quantity_size((double)statistics->created_bytes).text);
	if (statistics->page_maps && statistics->created_bytes)
		append(&finding, &length, ", with %s page mappings per 4 KiB, including the firmware's buffers",
		       quantity_number((double)statistics->page_maps * 4096 / (double)statistics->created_bytes).text);
	if (statistics->page_maps && statistics->mappings)
		append(&finding, &length, "; %s pages per mapping",
		       quantity_number((double)statistics->page_maps / (double)statistics->mappings).text);
	emit(&emission, &finding);
	return emission.result;
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

int ivpu_unknown_emit(struct record_batch *batch, const struct ivpu_unknown_functions *unknown, uint64_t time)
{
	struct emission emission = { .batch = batch, .time = time };
	struct ivpu_finding finding = { .severity = IAPROF_FINDING_NOTE,
					.name = "npu-no-family",
					.value = (double)unknown->count };

	if (!unknown->count)
		return 0;
	snprintf(
		finding.text, sizeof finding.text,
		"no family for %" PRIu32 " function%s with %" PRIu64
		" call%s, which are counted as other: %s (the driver is newer than this program, or names are cut off)",
		unknown->count, plural(unknown->count), unknown->calls, plural(unknown->calls), unknown->names);
	emit(&emission, &finding);
	return emission.result;
}
