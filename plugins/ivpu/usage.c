/* SPDX-License-Identifier: Apache-2.0 */
/* See usage.h. */
#include <errno.h>
#include <string.h>
#include <iaprof/record.h>
#include "usage.h"

/* drivers/accel/ivpu/ivpu_sysfs.c: names and units. Linux 7.x moved the frequencies into a folder. */
static const struct {
	const char *name, *unit, *files[2];
	uint32_t kind;
	double factor;
} counters[USAGE_COUNTER_COUNT] = {
	[USAGE_BUSY_TIME] = { "npu-busy-time", "nanoseconds", { "npu_busy_time_us" }, IAPROF_COUNTER_CUMULATIVE, 1000 },
	[USAGE_UTILIZATION] = { "npu-utilization", "percent", { "npu_busy_time_us" }, IAPROF_COUNTER_GAUGE, 1 },
	[USAGE_MEMORY] = { "npu-memory", "bytes", { "npu_memory_utilization" }, IAPROF_COUNTER_GAUGE, 1 },
	[USAGE_FREQUENCY] = { "npu-frequency",
			      "hertz",
			      { "freq/current_freq", "npu_current_frequency_mhz" },
			      IAPROF_COUNTER_GAUGE,
			      1e6 },
	[USAGE_AWAKE] = { "npu-awake", "boolean", { "power/runtime_status" }, IAPROF_COUNTER_GAUGE, 1 },
};

void usage_init(struct usage *usage, const char *sysfs)
{
	*usage = (struct usage){ 0 };
	usage->count = npus_find(sysfs, usage->npus);
}

static int value_read(const struct npu *npu, enum usage_counter counter, uint64_t *value)
{
	int result = -ENOENT;
	if (counter == USAGE_AWAKE) {
		/* drivers/base/power/sysfs.c: "active", "suspended", "suspending", "resuming", "error", "unsupported"
		 */
		char text[32];
		result = npu_read_text(npu, counters[counter].files[0], text, sizeof text);
		*value = !strcmp(text, "active") || !strcmp(text, "resuming");
		return result;
	}
	for (size_t i = 0; i < 2 && counters[counter].files[i] && result == -ENOENT; i++)
		result = npu_read_number(npu, counters[counter].files[i], value);
	return result;
}

static uint32_t counter_id(uint32_t first_counter, size_t npu, enum usage_counter counter)
{
	return first_counter + (uint32_t)(npu * USAGE_COUNTER_COUNT) + counter;
}

static uint32_t intern(const struct record_batch *batch, const char *text)
{
	return batch->host->intern_string(batch->host, text, strlen(text));
}

static int value_emit(struct record_batch *batch, uint32_t id, double value, uint64_t time)
{
	struct iaprof_record_counter_value record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_COUNTER_VALUE, .time = time },
		.counter = id,
		.value = value,
	};
	return record_batch_append(batch, &record.header);
}

static int npu_turn(struct usage *usage, size_t npu, struct record_batch *batch, uint32_t first_counter, uint64_t time)
{
	int result = 0;
	for (enum usage_counter counter = 0; counter < USAGE_COUNTER_COUNT && result == 0; counter++) {
		uint64_t value = 0, before = usage->states[npu].busy, elapsed = time - usage->states[npu].time;
		/* From the busy time, which has just been read. */
		if (!usage->states[npu].has[counter] || counter == USAGE_UTILIZATION)
			continue;
		if (value_read(&usage->npus[npu], counter, &value)) {
			usage->failures++;
			continue;
		}
		result = value_emit(batch, counter_id(first_counter, npu, counter),
				    (double)value * counters[counter].factor, time);
		if (counter != USAGE_BUSY_TIME)
			continue;
		if (result == 0 && usage->states[npu].time && elapsed && value >= before)
			result = value_emit(batch, counter_id(first_counter, npu, USAGE_UTILIZATION),
					    100.0 * 1000 * (double)(value - before) / (double)elapsed, time);
		usage->states[npu].busy = value;
		usage->states[npu].time = time;
	}
	return result;
}

static int npu_begin(struct usage *usage, size_t npu, struct record_batch *batch, uint32_t first_counter, uint64_t time)
{
	const struct iaprof_host *host = batch->host;
	char mode[32];
	struct iaprof_record_device device = {
		.header = { .size = sizeof device, .type = IAPROF_RECORD_DEVICE, .time = time },
		.id = (uint32_t)npu + 1,
		.name = intern(batch, usage->npus[npu].name),
		.address = intern(batch, usage->npus[npu].address),
	};
	int result = record_batch_append(batch, &device.header);
	if (!npu_read_text(&usage->npus[npu], "sched_mode", mode, sizeof mode))
		host->metadata(host, "NPU scheduling", "%s", mode);
	for (enum usage_counter counter = 0; counter < USAGE_COUNTER_COUNT && result == 0; counter++) {
		uint64_t value;
		if (value_read(&usage->npus[npu], counter, &value))
			continue;
		usage->states[npu].has[counter] = true;
		struct iaprof_record_counter record = {
			.header = { .size = sizeof record, .type = IAPROF_RECORD_COUNTER, .time = time },
			.id = counter_id(first_counter, npu, counter),
			.name = intern(batch, counters[counter].name),
			.unit = intern(batch, counters[counter].unit),
			.kind = counters[counter].kind,
			.device = device.id,
		};
		result = record_batch_append(batch, &record.header);
	}
	return result ? result : npu_turn(usage, npu, batch, first_counter, time);
}

int usage_begin(struct usage *usage, struct record_batch *batch, uint32_t first_counter, uint64_t time)
{
	int result = 0;
	for (size_t i = 0; i < usage->count && result == 0; i++)
		result = npu_begin(usage, i, batch, first_counter, time);
	return result;
}

int usage_turn(struct usage *usage, struct record_batch *batch, uint32_t first_counter, uint64_t time)
{
	int result = 0;
	for (size_t i = 0; i < usage->count && result == 0; i++)
		result = npu_turn(usage, i, batch, first_counter, time);
	return result;
}
