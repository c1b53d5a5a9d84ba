/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source that sends the same records ten times a second: samples of two programs, stalls of two kernels of a device,
 * calls of a driver, a job, and a loss. All records of a turn have the same time, so that the shares of an interval are
 * known, wherever it ends.
 */
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <iaprof/plugin.h>

#define PERIOD (100 * 1000 * 1000u)
/* Jobs of a turn with busy=yes. */
#define JOBS 50

struct source {
	bool hostile;
	bool talkative;
	bool busy;
	bool threads;
	uint64_t turns, sent; /* turns of the source, 0: no end; and those so far */
	uint64_t now, before; /* times of this turn, and of the last one */

	const struct iaprof_host *host;
	uint32_t cpu, calls, time;
};

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct source, hostile, BOOL, "hostile", NULL, "names that do harm to terminals"),
	IAPROF_OPTION(struct source, talkative, BOOL, "talkative", NULL, "warns each time"),
	IAPROF_OPTION(struct source, busy, BOOL, "busy", NULL,
		      "the device is busy for a quarter of the time, another one has jobs for 60 %, a third one is "
		      "silent"),
	IAPROF_OPTION(struct source, threads, BOOL, "threads", NULL,
		      "samples are of threads 11 and 12, 1 of 10 of the latter"),
	IAPROF_OPTION(struct source, turns, UINT, "turns", "0", "ends after so many turns, 0: never", .maximum = 1000),
};

/* A sequence that clears the screen, one that sets its title, wide characters, a mark on nothing, direction, length. */
static const char hostile_program[] = "\033[2J\033[31mred\007";
static char hostile_kernel[10000];

static uint32_t text(struct source *source, const char *string)
{
	return source->host->intern_string(source->host, string, strlen(string));
}

static int emit(struct source *source, const void *record, size_t size)
{
	return source->host->emit(source->host, &(struct iaprof_batch){ .records = record, .size = size, .count = 1 });
}

#define EMIT(source, type_number, ...)                                                                                 \
	do {                                                                                                           \
		__VA_ARGS__;                                                                                           \
		record.header.type = (type_number);                                                                    \
		record.header.size = sizeof record;                                                                    \
		record.header.time = (source)->now;                                                                    \
		int result = emit((source), &record, sizeof record);                                                   \
		if (result)                                                                                            \
			return result;                                                                                 \
	} while (0)

static int send_sample(struct source *source, const char *program, uint32_t tid, uint64_t count)
{
	EMIT(source, IAPROF_RECORD_SAMPLE,
	     struct iaprof_record_sample record = { .pid = (uint32_t)getpid(),
						    .tid = tid,
						    .name = text(source, program),
						    .cpu = UINT32_MAX,
						    .value_type = source->cpu,
						    .count = count,
						    .value = count * 1000000,
						    .first_time = source->now });
	return 0;
}

struct stall {
	struct iaprof_record_stall_sample head;
	uint64_t counts[2];
};

static int send_stalls(struct source *source, uint64_t address, uint64_t first, uint64_t second)
{
	struct stall record = { .head = { .header = { .size = sizeof record, .type = IAPROF_RECORD_STALL_SAMPLE },
					  .address = address,
					  .device = 1,
					  .reason_count = 2 },
				.counts = { first, second } };
	record.head.begin = record.head.header.time = source->now;
	return emit(source, &record, sizeof record);
}

static int send_call(struct source *source)
{
	EMIT(source, IAPROF_RECORD_CALL,
	     struct iaprof_record_call record = { .name = text(source, "ivpu_bo_create_ioctl"),
						  .pid = (uint32_t)getpid(),
						  .duration = 4000,
						  .self_duration = 4000,
						  .count = 2,
						  .node = 1,
						  .time_type = source->time,
						  .count_type = source->calls,
						  .first_time = source->now });
	EMIT(source, IAPROF_RECORD_JOB,
	     struct iaprof_record_job record = { .id = 1, .state = IAPROF_JOB_DONE, .pid = (uint32_t)getpid() });
	return 0;
}

static int send_job(struct source *source, uint64_t started, uint64_t ended)
{
	struct iaprof_record_job record = {
		.header = { .size = sizeof record, .type = IAPROF_RECORD_JOB, .time = ended },
		.submitted = started,
		.started = started,
		.id = 2,
		.device = 2,
		.state = IAPROF_JOB_DONE,
		.pid = (uint32_t)getpid()
	};
	return emit(source, &record, sizeof record);
}

/* A quarter and 60 % of the time since the last turn; short jobs, of which no interval has much too little or much. */
static int send_use(struct source *source)
{
	uint64_t now = source->now, before = source->before, part = (now - before) / JOBS;
	source->before = now;
	if (!before || part < 10)
		return 0;
	struct iaprof_record_device_activity activity = {
		.header = { .size = sizeof activity, .type = IAPROF_RECORD_DEVICE_ACTIVITY, .time = now },
		.begin = before,
		.busy = (now - before) / 4,
		.device = 1,
		.pid = (uint32_t)getpid(),
		.kind = IAPROF_ACTIVITY_SCHEDULER
	};
	int result = emit(source, &activity, sizeof activity);
	for (uint64_t i = 0; !result && i < JOBS; i++)
		result = send_job(source, before + i * part, before + i * part + part / 5 * 3);
	return result;
}

static int send_samples(struct source *source, const char *program, uint64_t count)
{
	uint32_t first = source->threads ? 11 : 0;
	int result = send_sample(source, program, first, count - (first ? count / 10 : 0));
	return result || !first ? result : send_sample(source, program, first + 1, count / 10);
}

/* The programs 3 to 1; the kernels 6 to 4; reason sbid 7, send 3. */
static int send_all(const struct iaprof_host *host, void *instance, uint64_t expirations)
{
	struct source *source = instance;
	const char *program = source->hostile ? hostile_program : "hot";
	if (source->talkative)
		source->host->log(source->host, IAPROF_LOG_WARNING, "that is how it is");
	for (; expirations && (!source->turns || source->sent < source->turns); expirations--, source->sent++) {
		source->now = source->host->clock(source->host);
		int result = send_samples(source, program, 30);
		if (!result)
			result = send_samples(source, "warm", 10);
		if (!result)
			result = send_stalls(source, 0x1010, 6, 0);
		if (!result)
			result = send_stalls(source, 0x2020, 1, 3);
		if (!result)
			result = send_call(source);
		if (!result && source->busy)
			result = send_use(source);
		if (result)
			return result;
		source->host->lost(source->host, "known loss", source->now, 5, 0, 0);
	}
	if (source->turns && source->sent == source->turns)
		source->host->finished(source->host);
	return 0;
}

static int announce_device(struct source *source)
{
	static const char *const reasons[] = { "sbid", "send" };
	EMIT(source, IAPROF_RECORD_DEVICE,
	     struct iaprof_record_device record = { .id = 1, .name = text(source, "device") });
	if (source->busy) {
		EMIT(source, IAPROF_RECORD_DEVICE,
		     struct iaprof_record_device record = { .id = 2, .name = text(source, "second device") });
		EMIT(source, IAPROF_RECORD_DEVICE,
		     struct iaprof_record_device record = { .id = 3, .name = text(source, "\033[2Jthird") });
	}
	for (uint32_t i = 0; i < 2; i++)
		EMIT(source, IAPROF_RECORD_STALL_REASON,
		     struct iaprof_record_stall_reason record = { .id = i, .name = text(source, reasons[i]) });
	for (uint32_t i = 1; i <= 2; i++) {
		const char *name = i == 2 ? "softmax" : source->hostile ? hostile_kernel : "matmul";
		EMIT(source, IAPROF_RECORD_KERNEL,
		     struct iaprof_record_kernel record = { .id = i,
							    .pid = (uint32_t)getpid(),
							    .name = text(source, name),
							    .address = i * 0x1000,
							    .size = 0x100 });
		EMIT(source, IAPROF_RECORD_LAUNCH,
		     struct iaprof_record_launch record = { .kernel = i, .pid = (uint32_t)getpid(), .count = 1 });
	}
	return 0;
}

static int announce_calls(struct source *source)
{
	EMIT(source, IAPROF_RECORD_CALL_FUNCTION,
	     struct iaprof_record_call_function record = { .id = 1,
							   .name = text(source, "ivpu_bo_create_ioctl"),
							   .family = text(source, "buffers"),
							   .kind = IAPROF_CALL_IOCTL });
	EMIT(source, IAPROF_RECORD_CALL_NODE, struct iaprof_record_call_node record = { .id = 1, .function = 1 });
	return 0;
}

static int start(const struct iaprof_host *host, void *instance)
{
	struct source *source = instance;
	source->host = host;
	source->now = host->clock(host);
	source->cpu = host->declare_value_type(host, "cpu", "nanoseconds", 1000000);
	source->calls = host->declare_value_type(host, "npu-calls", "count", 1);
	source->time = host->declare_value_type(host, "npu-time", "nanoseconds", 0);
	/* Three bytes, two columns each. */
	for (size_t i = 0; i + 3 < sizeof hostile_kernel; i += 3)
		memcpy(hostile_kernel + i, "\xe7\x81\xab", 3);
	memcpy(hostile_kernel, "\xe2\x80\xae\xcc\x88", 5);
	hostile_kernel[5] = ' ';
	int result = announce_device(source);
	if (!result)
		result = announce_calls(source);
	return result ? result : host->on_timer(host, PERIOD, send_all);
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
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags = IAPROF_PLUGIN_ONLY_BY_NAME,
	.name = "known-source",
	.description = "sends the same records repeatedly",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct source),
	.source = &operations,
};
IAPROF_REGISTER_PLUGIN(plugin)
