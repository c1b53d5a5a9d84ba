/* SPDX-License-Identifier: Apache-2.0 */
/* See finding_records.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <iaprof/record.h>
#include "finding_records.h"

struct emission {
	struct record_batch *batch;
	uint64_t time;
	int result;
};

static void emit(void *context, const struct ivpu_finding *finding)
{
	struct emission *emission = context;
	const struct iaprof_host *host = emission->batch->host;
	struct iaprof_record_finding record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_FINDING, .time = emission->time },
		.severity = finding->severity,
		.name = host->intern_string(host, finding->name, strlen(finding->name)),
		.text = host->intern_string(host, finding->text, strlen(finding->text)),
		.value = finding->value,
		.threshold = finding->threshold,
	};
	if (!emission->result)
		emission->result = record_batch_append(emission->batch, &record.header);
}

int ivpu_findings_emit(struct record_batch *batch, const struct ivpu_tally *tally, const struct ivpu_limits *limits,
		       uint64_t time)
{
	struct emission emission = { .batch = batch, .time = time };
	ivpu_findings(tally, limits, emit, &emission);
	return emission.result;
}

int ivpu_overview_emit(struct record_batch *batch, const struct ivpu_overview *overview, uint64_t time)
{
	struct emission emission = { .batch = batch, .time = time };
	struct ivpu_finding finding = { .severity = IAPROF_FINDING_NOTE,
					.name = "npu-calls",
					.value = (double)overview->calls };
	size_t length = (size_t)snprintf(finding.text, sizeof finding.text, "%" PRIu64 " calls", overview->calls);
	if (!overview->calls)
		return 0;
	for (uint32_t i = IVPU_HEADLINE_NONE + 1; i < IVPU_HEADLINE_COUNT; i++)
		length += (size_t)snprintf(finding.text + length, sizeof finding.text - length,
					   "%s %s %" PRIu64 " (%.1f %%)", i == IVPU_HEADLINE_NONE + 1 ? ":" : ",",
					   ivpu_headline_name(i), overview->headline_counts[i],
					   100.0 * (double)overview->headline_counts[i] / (double)overview->calls);
	length += (size_t)snprintf(finding.text + length, sizeof finding.text - length,
				   "; %" PRIu64 " messages of the firmware, which was polled %" PRIu64
				   " times while it booted",
				   overview->messages, overview->boot_polls);
	if (overview->hot_functions_left_out && length < sizeof finding.text)
		snprintf(finding.text + length, sizeof finding.text - length,
			 "; %" PRIu32 " functions that are called for each page are left out (hot=yes counts them)",
			 overview->hot_functions_left_out);
	emit(&emission, &finding);
	return emission.result;
}

int ivpu_rates_emit(struct record_batch *batch, const struct ivpu_tally *tally, uint64_t time)
{
	struct emission emission = { .batch = batch, .time = time };
	struct ivpu_finding finding = { .severity = IAPROF_FINDING_NOTE, .name = "npu-rates" };
	if (tally->seconds <= 0)
		return 0;
	finding.value = (double)tally->jobs / tally->seconds;
	int length = snprintf(finding.text, sizeof finding.text,
			      "%.1f jobs, %.1f messages of the firmware (at most %.0f), %.1f buffers made and %.1f "
			      "mapped a second, in %.1f s; the firmware was booted %" PRIu64 " times and the NPU woken "
			      "%" PRIu64 " times",
			      finding.value, (double)tally->messages / tally->seconds, tally->message_rate,
			      (double)tally->buffers_created / tally->seconds, (double)tally->mappings / tally->seconds,
			      tally->seconds, tally->boots, tally->resumes);
	bool is_large = tally->created_bytes >= 1 << 20;
	if (tally->created_bytes && length > 0 && (size_t)length < sizeof finding.text)
		length += snprintf(
			finding.text + length, sizeof finding.text - (size_t)length, "; %.1f %s of buffers were made",
			(double)tally->created_bytes / (is_large ? 1048576 : 1024), is_large ? "MiB" : "KiB");
	if (tally->page_maps && tally->created_bytes && length > 0 && (size_t)length < sizeof finding.text)
		length += snprintf(finding.text + length, sizeof finding.text - (size_t)length,
				   ", with %.2f page maps for each 4 KiB, the firmware's own buffers included",
				   (double)tally->page_maps * 4096 / (double)tally->created_bytes);
	if (tally->page_maps && tally->mappings && length > 0 && (size_t)length < sizeof finding.text)
		snprintf(finding.text + length, sizeof finding.text - (size_t)length, "; %.1f pages a mapping",
			 (double)tally->page_maps / (double)tally->mappings);
	emit(&emission, &finding);
	return emission.result;
}
