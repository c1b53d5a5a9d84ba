/* SPDX-License-Identifier: Apache-2.0 */
/* See device_counters.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <iaprof/record.h>
#include "base/cleanup.h"
#include "base/machine.h"
#include "device_counters.h"

/* 18 bits before the binary point and 14 after it. */
#define ENERGY_UNIT (1.0 / (1 << 14))

/*
 * VPU_ENERGY, from npu-smi and npu-monitor-tool of linux-npu-driver, by the GUID of the telemetry region: Meteor Lake,
 * Arrow Lake (and its variants H and S), Lunar Lake, Panther Lake, Wildcat Lake.
 */
static const struct {
	const char *guid;
	uint32_t offset;
	double joules;
} energy_products[] = {
	{ "0x130670b2", 0x628, ENERGY_UNIT },      { "0x1306a0b3", 0x628, ENERGY_UNIT },
	{ "0x1306a0b2", 0x628, ENERGY_UNIT },      { "0x1306a0b4", 0x628, ENERGY_UNIT },
	{ "0x3072005", 0x5d0, ENERGY_UNIT },       { "0x3086000", 0x670, ENERGY_UNIT },
	{ "0x308d000", 0x670, 100 * ENERGY_UNIT },
};

static void npu_energy_find(struct npu_energy *energy, const char *sysfs)
{
	char path[PATH_MAX - 512], file[PATH_MAX], guid[32];
	*energy = (struct npu_energy){ 0 };
	if (snprintf(path, sizeof path, "%s/class/intel_pmt", sysfs) >= (int)sizeof path)
		return;
	CLEANUP_CLOSEDIR DIR *folder = opendir(path);
	for (struct dirent *entry; folder && !*energy->path && (entry = readdir(folder));) {
		snprintf(file, sizeof file, "%s/%s/guid", path, entry->d_name);
		if (strncmp(entry->d_name, "telem", strlen("telem")) || line_read(file, guid, sizeof guid))
			continue;
		for (size_t i = 0; i < sizeof energy_products / sizeof *energy_products; i++) {
			if (strcmp(energy_products[i].guid, guid) != 0)
				continue;
			snprintf(energy->path, sizeof energy->path, "%s/%s/telem", path, entry->d_name);
			energy->offset = energy_products[i].offset;
			energy->joules = energy_products[i].joules;
		}
	}
}

static int npu_energy_read(const struct npu_energy *energy, uint32_t *units)
{
	if (!*energy->path)
		return -ENOENT;
	CLEANUP_CLOSE int file = open(energy->path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return -errno;
	ssize_t size = pread(file, units, sizeof *units, energy->offset);
	return size == sizeof *units ? 0 : size < 0 ? -errno : -EINVAL;
}

/* drivers/accel/ivpu/ivpu_sysfs.c: names and units. Linux 7.x moved the frequencies into a folder. */
static const struct {
	const char *name, *unit, *files[2];
	uint32_t kind;
	double factor;
} counters[DEVICE_COUNTER_COUNT] = {
	[DEVICE_COUNTER_BUSY_TIME] = { "npu-busy-time",
				       "nanoseconds",
				       { "npu_busy_time_us" },
				       IAPROF_COUNTER_CUMULATIVE,
				       1000 },
	[DEVICE_COUNTER_UTILIZATION] = { "npu-utilization",
					 "percent",
					 { "npu_busy_time_us" },
					 IAPROF_COUNTER_GAUGE,
					 1 },
	[DEVICE_COUNTER_MEMORY] = { "npu-memory", "bytes", { "npu_memory_utilization" }, IAPROF_COUNTER_GAUGE, 1 },
	[DEVICE_COUNTER_FREQUENCY] = { "npu-frequency",
				       "hertz",
				       { "freq/current_freq", "npu_current_frequency_mhz" },
				       IAPROF_COUNTER_GAUGE,
				       1e6 },
	[DEVICE_COUNTER_AWAKE] = { "npu-awake", "boolean", { "power/runtime_status" }, IAPROF_COUNTER_GAUGE, 1 },
	[DEVICE_COUNTER_POWER] = { "npu-power", "watts", { NULL }, IAPROF_COUNTER_GAUGE, 1 },
};

void device_counters_init(struct device_counters *usage, const char *sysfs)
{
	*usage = (struct device_counters){ 0 };
	usage->count = npus_find(sysfs, usage->npus);
	npu_energy_find(&usage->energy, sysfs);
}

static int value_read(const struct npu *npu, enum device_counter counter, uint64_t *value)
{
	int result = -ENOENT;
	if (counter == DEVICE_COUNTER_AWAKE) {
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

static uint32_t counter_id(uint32_t first_counter, size_t npu, enum device_counter counter)
{
	return first_counter + (uint32_t)(npu * DEVICE_COUNTER_COUNT) + counter;
}

/* Emits the mean power since the last reading. */
static int power_turn(struct device_counters *usage, struct record_batch *batch, uint32_t counter, uint64_t time)
{
	uint64_t before = usage->last_energy.time;
	uint32_t units, last = usage->last_energy.units;
	if (npu_energy_read(&usage->energy, &units)) {
		usage->failures++;
		return 0;
	}
	usage->last_energy.units = units;
	usage->last_energy.time = time;
	if (!before || time <= before)
		return 0;
	/* The counter wraps. */
	double joules = (double)(uint32_t)(units - last) * usage->energy.joules;
	return record_batch_set_counter(batch, counter, joules * 1e9 / (double)(time - before), time);
}

/* Returns whether the NPU has a counter. */
static bool has_counter(const struct device_counters *usage, size_t npu, enum device_counter counter)
{
	uint64_t value;
	uint32_t units;
	if (counter == DEVICE_COUNTER_POWER)
		return npu == 0 && npu_energy_read(&usage->energy, &units) == 0;
	return value_read(&usage->npus[npu], counter, &value) == 0;
}

static int npu_turn(struct device_counters *usage, size_t npu, struct record_batch *batch, uint32_t first_counter,
		    uint64_t time)
{
	int result = 0;
	for (enum device_counter counter = 0; counter < DEVICE_COUNTER_COUNT && result == 0; counter++) {
		uint64_t value = 0, before = usage->states[npu].busy, elapsed = time - usage->states[npu].time;
		/* Utilization is derived from the busy time, which has just been read. */
		if (!usage->states[npu].has[counter] || counter == DEVICE_COUNTER_UTILIZATION)
			continue;
		if (counter == DEVICE_COUNTER_POWER) {
			result = power_turn(usage, batch, counter_id(first_counter, npu, counter), time);
			continue;
		}
		if (value_read(&usage->npus[npu], counter, &value)) {
			usage->failures++;
			continue;
		}
		result = record_batch_set_counter(batch, counter_id(first_counter, npu, counter),
						  (double)value * counters[counter].factor, time);
		if (counter != DEVICE_COUNTER_BUSY_TIME)
			continue;
		if (result == 0 && usage->states[npu].time && elapsed && value >= before)
			result = record_batch_set_counter(
				batch, counter_id(first_counter, npu, DEVICE_COUNTER_UTILIZATION),
				100.0 * 1000 * (double)(value - before) / (double)elapsed, time);
		usage->states[npu].busy = value;
		usage->states[npu].time = time;
	}
	return result;
}

static int npu_begin(struct device_counters *usage, size_t npu, struct record_batch *batch, uint32_t first_counter,
		     uint64_t time)
{
	const struct iaprof_host *host = batch->host;
	char mode[32];
	struct iaprof_record_device device = {
		.header = { .size = sizeof device, .type = IAPROF_RECORD_DEVICE, .time = time },
		.id = (uint32_t)npu + 1,
		.name = record_batch_text(batch, usage->npus[npu].name),
		.address = record_batch_text(batch, usage->npus[npu].address),
		.kind = IAPROF_DEVICE_NPU,
	};
	int result = record_batch_append(batch, &device.header);
	if (!npu_read_text(&usage->npus[npu], "sched_mode", mode, sizeof mode))
		host->metadata(host, "NPU scheduling", "%s", mode);
	for (enum device_counter counter = 0; counter < DEVICE_COUNTER_COUNT && result == 0; counter++) {
		if (!has_counter(usage, npu, counter))
			continue;
		usage->states[npu].has[counter] = true;
		const struct record_counter declared = { .id = counter_id(first_counter, npu, counter),
							 .name = counters[counter].name,
							 .unit = counters[counter].unit,
							 .kind = counters[counter].kind,
							 .device = device.id };
		result = record_batch_declare_counter(batch, &declared, time);
	}
	return result ? result : npu_turn(usage, npu, batch, first_counter, time);
}

int device_counters_begin(struct device_counters *usage, struct record_batch *batch, uint32_t first_counter,
			  uint64_t time)
{
	int result = 0;
	for (size_t i = 0; i < usage->count && result == 0; i++)
		result = npu_begin(usage, i, batch, first_counter, time);
	return result;
}

int device_counters_turn(struct device_counters *usage, struct record_batch *batch, uint32_t first_counter,
			 uint64_t time)
{
	int result = 0;
	for (size_t i = 0; i < usage->count && result == 0; i++)
		result = npu_turn(usage, i, batch, first_counter, time);
	return result;
}

bool device_counters_busy_time(const struct device_counters *usage, uint64_t *busy_time)
{
	if (usage->count != 1 || value_read(&usage->npus[0], DEVICE_COUNTER_BUSY_TIME, busy_time))
		return false;
	*busy_time *= (uint64_t)counters[DEVICE_COUNTER_BUSY_TIME].factor;
	return true;
}
