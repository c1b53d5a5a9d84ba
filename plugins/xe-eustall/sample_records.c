/* SPDX-License-Identifier: Apache-2.0 */
/* See sample_records.h. */
#include <inttypes.h>
#include <stdio.h>
#include "sample_records.h"
#include "sampler.h"
#include "text/quantity.h"

/* ELF machine number of Intel GT code (EM_INTELGT). */
#define MACHINE_INTEL_GT 205u

static const uint32_t stall_classes[STALL_REASON_COUNT] = {
	[STALL_ACTIVE] = IAPROF_STALL_ISSUING,      [STALL_TDR] = IAPROF_STALL_ORDER,
	[STALL_OTHER] = IAPROF_STALL_OTHER,         [STALL_CONTROL] = IAPROF_STALL_BRANCH,
	[STALL_PIPESTALL] = IAPROF_STALL_PIPELINE,  [STALL_SEND] = IAPROF_STALL_QUEUE,
	[STALL_DIST_ACC] = IAPROF_STALL_ARITHMETIC, [STALL_SBID] = IAPROF_STALL_DATA,
	[STALL_SYNC] = IAPROF_STALL_BARRIER,        [STALL_INST_FETCH] = IAPROF_STALL_FETCH,
};

int records_declare_reasons(struct record_batch *batch)
{
	int result = 0;

	for (uint32_t i = 0; !result && i < STALL_REASON_COUNT; i++) {
		struct iaprof_record_stall_reason reason = {
			.header = { .size = sizeof reason,
				    .type = IAPROF_RECORD_STALL_REASON,
				    .time = batch->host->clock(batch->host) },
			.id = i,
			.name = record_batch_text(batch, stall_reason_names[i]),
			/* Waits for a scoreboard token: the result of a load, sampler, math or matrix instruction. */
			.flags = i == STALL_SBID ? IAPROF_STALL_REASON_WAITS : 0,
			.stall_class = stall_classes[i],
		};
		result = record_batch_append(batch, &reason.header);
	}
	return result;
}

/* Two counters per device. */
static uint32_t rows_counter(const struct sampler *sampler)
{
	return 2 * sampler->record_id - 1;
}

static uint32_t overflows_counter(const struct sampler *sampler)
{
	return 2 * sampler->record_id;
}

static int counter_declare(struct record_batch *batch, const struct sampler *sampler, uint32_t id, const char *name,
			   uint32_t role)
{
	const struct record_counter counter = {
		.id = id, .name = name, .unit = name, .device = sampler->record_id, .role = role
	};
	return record_batch_declare_counter(batch, &counter, batch->host->clock(batch->host));
}

int records_declare_device(struct record_batch *batch, const struct sampler *sampler)
{
	struct iaprof_record_device device = {
		.header = { .size = sizeof device,
			    .type = IAPROF_RECORD_DEVICE,
			    .time = batch->host->clock(batch->host) },
		.id = sampler->record_id,
		.name = record_batch_text(batch, sampler->name),
		.address = record_batch_text(batch, sampler->device->address),
		.machine = MACHINE_INTEL_GT,
		.value_name = record_batch_text(batch, "gpu-stalls"),
		.value_unit = record_batch_text(batch, "count"),
		.kind = IAPROF_DEVICE_GPU,
		.sample_unit = record_batch_text(batch, "EU"),
	};
	int result = record_batch_append(batch, &device.header);
	if (!result)
		result = counter_declare(batch, sampler, rows_counter(sampler), "rows", IAPROF_COUNTER_ROLE_ROWS);
	return result ? result
		      : counter_declare(batch, sampler, overflows_counter(sampler), "overflows",
					IAPROF_COUNTER_ROLE_OVERFLOWS);
}

int records_set_counters(struct record_batch *batch, const struct sampler *sampler, uint64_t time)
{
	int result = record_batch_set_counter(batch, rows_counter(sampler), (double)sampler->rows, time);

	return result ? result
		      : record_batch_set_counter(batch, overflows_counter(sampler), (double)sampler->overflows, time);
}

int records_add_samples(struct record_batch *batch, const struct sampler *sampler)
{
	struct {
		struct iaprof_record_stall_sample sample;
		uint64_t counts[STALL_REASON_COUNT];
		struct iaprof_record_stall_details details;
	} record = {
		.sample = { .header = { .size = sizeof record,
					.type = IAPROF_RECORD_STALL_SAMPLE,
					.time = sampler->end },
			    .begin = sampler->begin,
			    .device = sampler->record_id,
			    .address_space = sampler->device->layout->address_space,
			    .reason_count = STALL_REASON_COUNT,
			    .array_offset = IAPROF_ARRAY_OFFSET(struct iaprof_record_stall_sample) },
		.details = { .size = sizeof record.details, .period = sampler->cycle.stride },
	};
	int result = 0;

	if (sampler->cycle.stride <= 1) /* the default */
		record.sample.header.size -= sizeof record.details;

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
		snprintf(remedy, sizeof remedy, "use a lower rate: rate=%" PRIu32, eu_stall->rates[position + 1]);
	else
		snprintf(remedy, sizeof remedy, "rate=%" PRIu32 " is the lowest; give iaprof more CPU time",
			 eu_stall->rates[position]);
	snprintf(text, sizeof text,
		 "%s: EU stall buffer overflows: %" PRIu64 " in %s, an unknown number of samples was lost (%s)",
		 sampler->label, stretch->count, quantity_time((double)(stretch->last - stretch->begin)).text, remedy);
	const struct record_finding finding = { .severity = IAPROF_FINDING_WARNING,
						.name = "stall-overflow",
						.text = text,
						.value = (double)stretch->count };
	return record_batch_add_finding(batch, &finding, stretch->last);
}
