/* SPDX-License-Identifier: Apache-2.0 */
/* See sample_records.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "sample_records.h"
#include "sampler.h"

/* ELF machine number of Intel GT code (EM_INTELGT). */
#define MACHINE_INTEL_GT 205u

static uint32_t text_id(const struct record_batch *batch, const char *text)
{
	return batch->host->intern_string(batch->host, text, strlen(text));
}

int records_declare_reasons(struct record_batch *batch)
{
	int result = 0;

	for (uint32_t i = 0; !result && i < STALL_REASON_COUNT; i++) {
		struct iaprof_record_stall_reason reason = {
			.header = { .size = sizeof reason,
				    .type = IAPROF_RECORD_STALL_REASON,
				    .time = batch->host->clock(batch->host) },
			.id = i,
			.name = text_id(batch, stall_reason_names[i]),
			/* A scoreboard token: the result of a load, a sampler, a math or matrix instruction. */
			.flags = i == STALL_SBID ? IAPROF_STALL_REASON_WAITS : 0,
		};
		result = record_batch_append(batch, &reason.header);
	}
	return result;
}

/* Two counters a device. */
static uint32_t rows_counter(const struct sampler *sampler)
{
	return 2 * sampler->record_id - 1;
}

static uint32_t overflows_counter(const struct sampler *sampler)
{
	return 2 * sampler->record_id;
}

static int counter_declare(struct record_batch *batch, const struct sampler *sampler, uint32_t id, const char *name)
{
	struct iaprof_record_counter counter = {
		.header = { .size = sizeof counter,
			    .type = IAPROF_RECORD_COUNTER,
			    .time = batch->host->clock(batch->host) },
		.id = id,
		.name = text_id(batch, name),
		.unit = text_id(batch, name),
		.kind = IAPROF_COUNTER_CUMULATIVE,
		.device = sampler->record_id,
	};
	return record_batch_append(batch, &counter.header);
}

int records_declare_device(struct record_batch *batch, const struct sampler *sampler)
{
	struct iaprof_record_device device = {
		.header = { .size = sizeof device,
			    .type = IAPROF_RECORD_DEVICE,
			    .time = batch->host->clock(batch->host) },
		.id = sampler->record_id,
		.name = text_id(batch, sampler->name),
		.address = text_id(batch, sampler->device->address),
		.machine = MACHINE_INTEL_GT,
	};
	int result = record_batch_append(batch, &device.header);
	if (!result)
		result = counter_declare(batch, sampler, rows_counter(sampler), "rows");
	return result ? result : counter_declare(batch, sampler, overflows_counter(sampler), "overflows");
}

int records_set_counters(struct record_batch *batch, const struct sampler *sampler, uint64_t time)
{
	int result = record_batch_set_counter(batch, rows_counter(sampler), sampler->rows, time);

	return result ? result : record_batch_set_counter(batch, overflows_counter(sampler), sampler->overflows, time);
}

int records_add_samples(struct record_batch *batch, const struct sampler *sampler)
{
	struct {
		struct iaprof_record_stall_sample sample;
		uint64_t counts[STALL_REASON_COUNT];
	} record = {
		.sample = { .header = { .size = sizeof record,
					.type = IAPROF_RECORD_STALL_SAMPLE,
					.time = sampler->end },
			    .begin = sampler->begin,
			    .device = sampler->record_id,
			    .address_space = sampler->device->layout->address_space,
			    .reason_count = STALL_REASON_COUNT },
	};
	int result = 0;

	for (uint32_t i = 0; !result && i < sampler->fold.count; i++) {
		fold_get(&sampler->fold, i, &record.sample.address, record.counts);
		result = record_batch_append(batch, &record.sample.header);
	}
	return result;
}

int records_add_overflow_finding(struct record_batch *batch, const struct sampler *sampler)
{
	const struct query_eu_stall *eu_stall = &sampler->device->eu_stall;
	const struct overflow_stretch *stretch = &sampler->stretch;
	size_t position = stretch->position;
	char text[400], remedy[160];

	if (position + 1 < eu_stall->rate_count)
		snprintf(remedy, sizeof remedy, "take a slower rate: rate=%" PRIu32, eu_stall->rates[position + 1]);
	else
		snprintf(remedy, sizeof remedy,
			 "rate=%" PRIu32 " is the slowest that there is; give iaprof more of a CPU",
			 eu_stall->rates[position]);
	snprintf(text, sizeof text,
		 "%s: rows of EU stalls overflowed %" PRIu64 " times in %.1f s, and the GPU does not say how many "
		 "were lost: %s",
		 sampler->label, stretch->count, (double)(stretch->last - stretch->begin) / 1e9, remedy);
	struct iaprof_record_finding finding = {
		.header = { .size = sizeof finding, .type = IAPROF_RECORD_FINDING, .time = stretch->last },
		.severity = IAPROF_FINDING_WARNING,
		.name = text_id(batch, "stall-overflow"),
		.text = text_id(batch, text),
		.value = (double)stretch->count,
	};
	return record_batch_append(batch, &finding.header);
}
