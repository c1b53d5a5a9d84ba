/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: what a run hears of kernels, launches, busy processes and stall samples, in any order and with any
 * numbers: half of them were told by programs that are profiled. However it is matched, the profile has every sample
 * that came in, once.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "profile/collector.h"

#define SECOND NANOSECONDS_PER_SECOND

struct input {
	const uint8_t *data;
	size_t size, position;
};

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* The next bytes as a number; 0 when there are none left. */
static uint64_t next(struct input *input, size_t bytes)
{
	uint64_t number = 0;
	size_t left = input->size - input->position;
	if (bytes > left)
		bytes = left;
	memcpy(&number, input->data + input->position, bytes);
	input->position += bytes;
	return number;
}

struct fuzzed {
	struct input input;
	struct collector *collector;
	struct intern *intern;
	uint64_t start, samples;
	bool saturated;
};

/* Mostly of a few seconds, sometimes anything. */
static uint64_t next_time(struct fuzzed *fuzzed)
{
	uint64_t number = next(&fuzzed->input, 2);
	return number == UINT16_MAX ? next(&fuzzed->input, 8) : fuzzed->start + number * (SECOND / 4096);
}

static uint64_t next_address(struct fuzzed *fuzzed)
{
	uint64_t number = next(&fuzzed->input, 1);
	return number == UINT8_MAX ? next(&fuzzed->input, 8) : number << 8;
}

static uint64_t next_count(struct fuzzed *fuzzed)
{
	uint64_t number = next(&fuzzed->input, 1);
	return number == UINT8_MAX ? next(&fuzzed->input, 8) : number;
}

static void take(struct fuzzed *fuzzed, void *record, uint16_t type, size_t size, uint64_t time)
{
	struct iaprof_record *header = record;
	header->type = type;
	header->size = (uint32_t)size;
	header->time = time;
	header->source = 1;
	collector_take(fuzzed->collector, &(struct iaprof_batch){ .records = record, .size = size, .count = 1 }, NULL,
		       NULL);
}

static void take_sample(struct fuzzed *fuzzed)
{
	struct {
		struct iaprof_record_stall_sample head;
		uint64_t counts[64];
	} record = { .head = { .address = next_address(fuzzed),
			       .device = (uint32_t)next(&fuzzed->input, 1) & 3,
			       .address_space = (uint32_t)next(&fuzzed->input, 1) & 1,
			       .reason_count = 1 + ((uint32_t)next(&fuzzed->input, 1) & 63),
			       .pid = (uint32_t)next(&fuzzed->input, 1) & 3 } };
	uint64_t time = next_time(fuzzed), length = next(&fuzzed->input, 2) * (SECOND / 4096);
	record.head.begin = time > length ? time - length : 0;
	for (uint32_t i = 0; i < record.head.reason_count && i < 3; i++) {
		record.counts[i] = next_count(fuzzed);
		fuzzed->saturated |= record.counts[i] > UINT64_MAX / 4096;
		fuzzed->samples += record.counts[i];
	}
	take(fuzzed, &record, IAPROF_RECORD_STALL_SAMPLE, sizeof record.head + record.head.reason_count * 8, time);
}

static void take_one(struct fuzzed *fuzzed)
{
	struct input *input = &fuzzed->input;
	uint8_t kind = (uint8_t)next(input, 1);
	uint32_t pid = (uint32_t)next(input, 1) & 3;
	switch (kind % 9) {
	case 0: {
		struct iaprof_record_kernel record = { .id = (uint32_t)next(input, 1),
						       .pid = pid,
						       .name = intern_string(fuzzed->intern, "add", 3),
						       .address = next_address(fuzzed),
						       .size = next_address(fuzzed) };
		take(fuzzed, &record, IAPROF_RECORD_KERNEL, sizeof record, next_time(fuzzed));
		break;
	}
	case 1: {
		uint64_t address = next_address(fuzzed);
		struct iaprof_record_launch record = { .kernel = (uint32_t)next(input, 1),
						       .pid = pid,
						       .user_stack = intern_stack(fuzzed->intern, pid + 1, &address, 1),
						       .count = 1 + next_count(fuzzed) / 2,
						       .first_time = next_time(fuzzed) };
		take(fuzzed, &record, IAPROF_RECORD_LAUNCH, sizeof record, next_time(fuzzed));
		break;
	}
	case 2: {
		struct iaprof_record_device_activity record = { .begin = next_time(fuzzed),
								.busy = 1 + next_count(fuzzed) / 2,
								.device = (uint32_t)next(input, 1) & 3,
								.pid = 1 + pid,
								.kind = (uint32_t)next(input, 1) & 3 };
		uint64_t time = next_time(fuzzed);
		if (time >= record.begin) /* as record_check() sees to */
			take(fuzzed, &record, IAPROF_RECORD_DEVICE_ACTIVITY, sizeof record, time);
		break;
	}
	case 3: {
		struct iaprof_record_process record = { .pid = pid, .event = 1 + (uint32_t)next(input, 1) % 5 };
		take(fuzzed, &record, IAPROF_RECORD_PROCESS, sizeof record, next_time(fuzzed));
		break;
	}
	case 4: {
		struct iaprof_record_sync record = { 0 };
		take(fuzzed, &record, IAPROF_RECORD_SYNC, sizeof record, next_time(fuzzed));
		break;
	}
	case 5: {
		struct iaprof_record_counter_value record = { .counter = 1, .value = (double)next(input, 4) };
		take(fuzzed, &record, IAPROF_RECORD_COUNTER_VALUE, sizeof record, next_time(fuzzed));
		break;
	}
	case 6: {
		struct iaprof_record_code_object record = { .id = (uint32_t)next(input, 1),
							    .pid = pid,
							    .machine = 205,
							    .address = next_address(fuzzed),
							    .instruction_base = next_address(fuzzed) };
		take(fuzzed, &record, IAPROF_RECORD_CODE_OBJECT, sizeof record, next_time(fuzzed));
		break;
	}
	default:
		take_sample(fuzzed);
	}
}

static void check_profile(const struct fuzzed *fuzzed)
{
	struct snapshot *snapshot = collector_snapshot(fuzzed->collector, true);
	size_t count;
	const struct sampled_device *devices = collector_devices(fuzzed->collector, &count);
	uint64_t sum = 0, samples = 0;
	check(snapshot != NULL);
	for (size_t i = 0; i < snapshot->profile.value_count; i++)
		sum += iaprof_profile_value(&snapshot->profile, i)->value;
	for (size_t i = 0; i < count; i++) {
		const struct device_samples *became = &devices[i].samples;
		samples += became->samples;
		check(fuzzed->saturated || became->samples == became->matched + became->ambiguous + became->unmatched);
	}
	check(fuzzed->saturated || (sum == fuzzed->samples && samples == fuzzed->samples));
	snapshot_release(snapshot);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct intern *intern = intern_new(NULL);
	struct fuzzed fuzzed = {
		.input = { .data = data, .size = size },
		.intern = intern,
		.collector = collector_new(
			&(struct collector_options){ .intern = intern, .live = true, .kallsyms = "/dev/null" }),
		.start = clock_monotonic() - 20 * SECOND,
	};
	while (fuzzed.input.position < fuzzed.input.size)
		take_one(&fuzzed);
	collector_finish(fuzzed.collector);
	check_profile(&fuzzed);
	collector_free(fuzzed.collector);
	intern_free(intern);
	return 0;
}
