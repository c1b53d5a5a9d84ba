/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source whose sums are known: devices with jobs, use, utilization and stall samples, losses, and names that have to
 * be escaped. It sends all of it once, and then waits.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <iaprof/plugin.h>

#define MS UINT64_C(1000000)

struct source {
	uint64_t devices, losses, pid, other_pid;
};

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct source, devices, UINT, "devices", "2", "Number of devices", .minimum = 1),
	IAPROF_OPTION(struct source, losses, UINT, "losses", "1", "Number of reasons of losses"),
	IAPROF_OPTION(struct source, pid, UINT, "pid", "0", "Process of the use of devices; 0: this one"),
	IAPROF_OPTION(struct source, other_pid, UINT, "other-pid", "0", "Process of the jobs of devices"),
};

#define HEADER(kind, record)                                                                                           \
	{                                                                                                              \
		.size = sizeof(record), .type = IAPROF_RECORD_##kind, .time = host->clock(host)                        \
	}

static int emit(const struct iaprof_host *host, const void *record, size_t size)
{
	return host->emit(host, &(struct iaprof_batch){ .records = record, .size = size, .count = 1 });
}

static uint32_t text(const struct iaprof_host *host, const char *string)
{
	return host->intern_string(host, string, strlen(string));
}

/* What a device reports of itself. */
static int send_readings(const struct iaprof_host *host, uint32_t device)
{
	static const struct {
		const char *name, *unit, *engine;
		double value;
	} readings[] = { { "gpu-utilization", "percent", "compute", 12.5 },
			 { "gpu-memory", "bytes", NULL, 3.0 * (1 << 30) },
			 { "gpu-power", "watts", NULL, 75.25 } };
	int result = 0;
	for (uint32_t i = 0; !result && i < sizeof readings / sizeof *readings; i++) {
		uint32_t id = 3 * device + i;
		struct iaprof_record_counter counter = { .header = HEADER(COUNTER, counter),
							 .id = id,
							 .name = text(host, readings[i].name),
							 .unit = text(host, readings[i].unit),
							 .kind = IAPROF_COUNTER_GAUGE,
							 .device = device };
		struct iaprof_record_counter_value value = { .header = HEADER(COUNTER_VALUE, value),
							     .counter = id,
							     .value = readings[i].value };
		if (readings[i].engine)
			counter.engine = text(host, readings[i].engine);
		result = emit(host, &counter, sizeof counter);
		if (!result)
			result = emit(host, &value, sizeof value);
	}
	return result;
}

/* Each device is used for 250 ms; jobs of the same device do not add to that. */
static int send_device(const struct iaprof_host *host, const struct source *source, uint32_t id)
{
	char address[32];
	snprintf(address, sizeof address, "0000:%02x:00.0", id);
	struct iaprof_record_device device = { .header = HEADER(DEVICE, device),
					       .id = id,
					       .name = text(host, "say \"hi\" \\ \n\xff"
								  "end"),
					       .address = text(host, address) };
	struct iaprof_record_device_activity use = { .header = HEADER(DEVICE_ACTIVITY, use),
						     .device = id,
						     .pid = source->pid ? (uint32_t)source->pid : (uint32_t)getpid(),
						     .busy = 250 * MS,
						     .kind = IAPROF_ACTIVITY_SCHEDULER };
	use.begin = use.header.time - 1000 * MS;
	struct {
		struct iaprof_record_stall_sample head;
		uint64_t counts[3];
	} stalls = {
		.head = { .header = HEADER(STALL_SAMPLE, stalls), .address = 0x40, .device = id, .reason_count = 3 },
		.counts = { 70, 20, 10 }
	};
	stalls.head.begin = use.begin;
	int result = emit(host, &device, sizeof device);
	if (!result)
		result = emit(host, &use, sizeof use);
	if (!result)
		result = send_readings(host, id);
	return result ? result : emit(host, &stalls, sizeof stalls);
}

/* The first device has jobs only: three of 100 ms that overlap by half, and one that was aborted. */
static int send_jobs(const struct iaprof_host *host, const struct source *source)
{
	struct iaprof_record_device device = {
		.header = HEADER(DEVICE, device), .id = 1000, .name = text(host, "NPU"), .kind = IAPROF_DEVICE_NPU
	};
	int result = emit(host, &device, sizeof device);
	struct iaprof_record_counter counter = { .header = HEADER(COUNTER, counter),
						 .id = UINT32_MAX,
						 .name = text(host, "utilization"),
						 .unit = text(host, "percent"),
						 .kind = IAPROF_COUNTER_GAUGE,
						 .device = 1000,
						 .engine = text(host, "compute") };
	struct iaprof_record_counter_value value = { .header = HEADER(COUNTER_VALUE, value),
						     .counter = UINT32_MAX,
						     .value = 50 };
	if (!result)
		result = emit(host, &counter, sizeof counter);
	if (!result)
		result = emit(host, &value, sizeof value);
	uint64_t now = host->clock(host);
	for (uint32_t i = 0; !result && i < 4; i++) {
		struct iaprof_record_job job = { .header = HEADER(JOB, job),
						 .id = i,
						 .pid = (uint32_t)source->other_pid,
						 .device = 1000,
						 .state = i < 3 ? IAPROF_JOB_DONE : IAPROF_JOB_ABORTED };
		job.header.time = now - (1000 - 50 * i) * MS;
		job.started = i < 3 ? job.header.time - 100 * MS : 0;
		result = emit(host, &job, sizeof job);
	}
	return result;
}

static int start(const struct iaprof_host *host, void *instance)
{
	const struct source *source = instance;
	static const char *const reasons[] = { "sbid", "send", "sbid" };
	int result = 0;
	for (uint32_t i = 0; !result && i < sizeof reasons / sizeof *reasons; i++) {
		struct iaprof_record_stall_reason reason = { .header = HEADER(STALL_REASON, reason),
							     .id = i,
							     .name = text(host, reasons[i]) };
		result = emit(host, &reason, sizeof reason);
	}
	if (!result)
		result = send_jobs(host, source);
	for (uint32_t i = 0; !result && i < source->devices; i++)
		result = send_device(host, source, i + 1);
	for (uint32_t i = 0; i < source->losses; i++) {
		char reason[32];
		snprintf(reason, sizeof reason, "reason %u", i);
		host->lost(host, reason, host->clock(host), 3, 0, 0);
	}
	return result;
}

static int stop(const struct iaprof_host *host, void *instance)
{
	return 0;
}

static const struct iaprof_source_operations operations = {
	.size = sizeof operations,
	.start = start,
	.stop = stop,
};

static const struct iaprof_plugin plugin = {
	IAPROF_PLUGIN_VERSIONS,
	IAPROF_PLUGIN_OPTIONS(options),
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags = IAPROF_PLUGIN_ONLY_BY_NAME,
	.name = "metrics-source",
	.description = "known sums of devices",
	.instance_size = sizeof(struct source),
	.source = &operations,
};
IAPROF_REGISTER_PLUGIN(plugin)
