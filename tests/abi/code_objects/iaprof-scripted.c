/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source for an accelerator that a script describes, one record a line; built like any third party's plugin. The
 * process of all records is iaprof itself, and the launch site of kernel N is the function launch_site_N below.
 *
 *     object ID MACHINE ADDRESS SIZE PATH         PATH "-": no image
 *     unload ID
 *     kernel ID OBJECT ADDRESS SIZE NAME
 *     launch KERNEL [NUMBER]                      NUMBER: as in LAUNCH, correlation
 *     sample ADDRESS COUNT
 *     named KERNEL OFFSET COUNT PERIOD NUMBER     a sample without an address, of value type "gpu-cycles" if PERIOD
 *     job KERNEL DURATION NUMBER                  of value type "gpu-time"
 *     refused                                     an unknown type, times in the future and before the run, an
 *                                                 undeclared counter, an undeclared device
 *     late KERNEL                                 a launch before the time to which the source had advanced
 *     later                                       the interval of further samples begins now
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <iaprof/plugin.h>

#define LAUNCH_SITES(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define LAUNCH_SITE(NUMBER)                                                                                            \
	__attribute__((noinline)) static int launch_site_##NUMBER(int value)                                           \
	{                                                                                                              \
		return value * (NUMBER + 3);                                                                           \
	}
LAUNCH_SITES(LAUNCH_SITE)

#define LAUNCH_SITE_ENTRY(NUMBER) launch_site_##NUMBER,
static int (*const launch_sites[])(int) = { LAUNCH_SITES(LAUNCH_SITE_ENTRY) };
#define LAUNCH_SITE_COUNT (sizeof launch_sites / sizeof *launch_sites)

struct source {
	const char *script;
	const struct iaprof_host *host;
	uint32_t cycles, time; /* value types */
};

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct source, script, STRING, "script", NULL, "File with the records to send"),
};

static int emit(const struct iaprof_host *host, const void *record, size_t size)
{
	return host->emit(host, &(struct iaprof_batch){ .records = record, .size = size, .count = 1 });
}

static uint32_t text(const struct iaprof_host *host, const char *string)
{
	return host->intern_string(host, string, strlen(string));
}

static struct iaprof_record header(const struct iaprof_host *host, uint16_t type, size_t size)
{
	return (struct iaprof_record){ .type = type, .size = (uint32_t)size, .time = host->clock(host) };
}

static int send_launch(const struct iaprof_host *host, uint32_t kernel, uint64_t number, uint64_t ago)
{
	uint64_t address = (uintptr_t)launch_sites[kernel % LAUNCH_SITE_COUNT] + 1;
	struct iaprof_record_launch launch = { .header = header(host, IAPROF_RECORD_LAUNCH, sizeof launch),
					       .kernel = kernel,
					       .pid = (uint32_t)getpid(),
					       .user_stack = host->intern_stack(host, (uint32_t)getpid(), &address, 1),
					       .count = 1,
					       .correlation = number };
	launch.first_time = launch.header.time -= ago;
	return emit(host, &launch, sizeof launch);
}

static int send_sample(const struct iaprof_host *host, uint64_t begin, uint64_t address, uint64_t count)
{
	struct {
		struct iaprof_record_stall_sample head;
		uint64_t count;
	} sample = { .head = { .header = header(host, IAPROF_RECORD_STALL_SAMPLE, sizeof sample),
			       .begin = begin,
			       .address = address,
			       .device = 1,
			       .reason_count = 1,
			       .array_offset = IAPROF_ARRAY_OFFSET(struct iaprof_record_stall_sample),
			       .pid = (uint32_t)getpid() },
		     .count = count };
	return emit(host, &sample, sizeof sample);
}

static int send_named(const struct iaprof_host *host, uint64_t begin, const uint64_t numbers[5], uint32_t value_type)
{
	struct {
		struct iaprof_record_stall_sample head;
		uint64_t count;
		struct iaprof_record_stall_details details;
	} sample = { .head = { .header = header(host, IAPROF_RECORD_STALL_SAMPLE, sizeof sample),
			       .begin = begin,
			       .address = numbers[1],
			       .address_space = IAPROF_ADDRESS_KERNEL,
			       .device = 1,
			       .reason_count = 1,
			       .array_offset = IAPROF_ARRAY_OFFSET(struct iaprof_record_stall_sample),
			       .pid = (uint32_t)getpid() },
		     .count = numbers[2],
		     .details = { .size = sizeof sample.details,
				  .kernel = (uint32_t)numbers[0],
				  .correlation = numbers[4],
				  .period = numbers[3],
				  .value_type = numbers[3] ? value_type : 0 } };
	return emit(host, &sample, sizeof sample);
}

static int send_job(const struct iaprof_host *host, const uint64_t numbers[3], uint32_t time_type)
{
	struct iaprof_record_job job = { .header = header(host, IAPROF_RECORD_JOB, sizeof job),
					 .pid = (uint32_t)getpid(),
					 .device = 1,
					 .state = IAPROF_JOB_DONE,
					 .kernel = (uint32_t)numbers[0],
					 .time_type = time_type,
					 .correlation = numbers[2] };
	job.started = job.header.time - numbers[1];
	return emit(host, &job, sizeof job);
}

/* Records that are dropped or counted, as the interface states: emit() does not fail. */
static int send_refused(const struct iaprof_host *host)
{
	struct iaprof_record unknown = header(host, 999, sizeof unknown);
	struct iaprof_record_counter_value value = { .header = header(host, IAPROF_RECORD_COUNTER_VALUE, sizeof value),
						     .counter = 12345 };
	struct iaprof_record_finding future = { .header = header(host, IAPROF_RECORD_FINDING, sizeof future),
						.severity = IAPROF_FINDING_NOTE };
	struct iaprof_record_job old = { .header = header(host, IAPROF_RECORD_JOB, sizeof old),
					 .state = IAPROF_JOB_DONE };
	struct iaprof_record_job elsewhere = { .header = header(host, IAPROF_RECORD_JOB, sizeof elsewhere),
					       .state = IAPROF_JOB_DONE,
					       .device = 12345 };
	future.header.time += UINT64_C(1) << 60;
	old.header.time /= 2;
	int result = emit(host, &unknown, sizeof unknown);
	result = result ? result : emit(host, &value, sizeof value);
	result = result ? result : emit(host, &old, sizeof old);
	result = result ? result : emit(host, &elsewhere, sizeof elsewhere);
	return result ? result : emit(host, &future, sizeof future);
}

/* Returns whether a line is one of the records that need no address; *result: what sending it returned. */
static bool send_named_line(const struct source *source, const char *line, uint64_t begin, int *result)
{
	const struct iaprof_host *host = source->host;
	uint64_t n[5];
	if (sscanf(line, "named %" SCNu64 " %" SCNi64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &n[0], &n[1], &n[2], &n[3],
		   &n[4]) == 5)
		*result = send_named(host, begin, n, source->cycles);
	else if (sscanf(line, "job %" SCNu64 " %" SCNu64 " %" SCNu64, &n[0], &n[1], &n[2]) == 3)
		*result = send_job(host, n, source->time);
	else if (sscanf(line, "launch %" SCNu64 " %" SCNu64, &n[0], &n[1]) == 2)
		*result = send_launch(host, (uint32_t)n[0], n[1], 0);
	else if (sscanf(line, "late %" SCNu64, &n[0]) == 1)
		*result = host->advance(host, host->clock(host)) || send_launch(host, (uint32_t)n[0], 0, 1000000000);
	else if (strcmp(line, "refused\n") == 0)
		*result = send_refused(host);
	else
		return false;
	return true;
}

static int send_line(const struct iaprof_host *host, const char *line, uint64_t begin)
{
	uint32_t id, number;
	uint64_t address, size;
	char name[512];
	if (sscanf(line, "object %" SCNu32 " %" SCNu32 " %" SCNi64 " %" SCNi64 " %511s", &id, &number, &address, &size,
		   name) == 5) {
		struct iaprof_record_code_object object = { .header = header(host, IAPROF_RECORD_CODE_OBJECT,
									     sizeof object),
							    .id = id,
							    .pid = (uint32_t)getpid(),
							    .machine = number,
							    .address = address,
							    .size = size,
							    .path = strcmp(name, "-") == 0 ? 0 : text(host, name) };
		return emit(host, &object, sizeof object);
	}
	if (sscanf(line, "kernel %" SCNu32 " %" SCNu32 " %" SCNi64 " %" SCNi64 " %511s", &id, &number, &address, &size,
		   name) == 5) {
		struct iaprof_record_kernel kernel = { .header = header(host, IAPROF_RECORD_KERNEL, sizeof kernel),
						       .id = id,
						       .code_object = number,
						       .pid = (uint32_t)getpid(),
						       .name = text(host, name),
						       .address = address,
						       .size = size };
		return emit(host, &kernel, sizeof kernel);
	}
	if (sscanf(line, "unload %" SCNu32, &id) == 1) {
		struct iaprof_record_code_object_unload unload = {
			.header = header(host, IAPROF_RECORD_CODE_OBJECT_UNLOAD, sizeof unload),
			.id = id,
			.pid = (uint32_t)getpid()
		};
		return emit(host, &unload, sizeof unload);
	}
	if (sscanf(line, "launch %" SCNu32, &id) == 1)
		return send_launch(host, id, 0, 0);
	if (sscanf(line, "sample %" SCNi64 " %" SCNi64, &address, &size) == 2)
		return send_sample(host, begin, address, size);
	return host->fail(host, EINVAL, "not a line of a script: %s", line);
}

static int start(const struct iaprof_host *host, void *instance)
{
	struct source *source = instance;
	source->host = host;
	source->cycles = host->declare_value_type(host, "gpu-cycles", "cycles", 0);
	source->time = host->declare_value_type(host, "gpu-time", "nanoseconds", 0);
	struct iaprof_record_device device = { .header = header(host, IAPROF_RECORD_DEVICE, sizeof device),
					       .id = 1,
					       .name = text(host, "fictional accelerator") };
	struct iaprof_record_stall_reason reason = { .header = header(host, IAPROF_RECORD_STALL_REASON, sizeof reason),
						     .name = text(host, "waits") };
	uint64_t begin = host->clock(host);
	char line[1024];
	FILE *file = fopen(source->script ? source->script : "", "re");
	if (!file)
		return host->fail(host, errno, "cannot open the script");
	int result = emit(host, &device, sizeof device);
	if (!result)
		result = emit(host, &reason, sizeof reason);
	while (!result && fgets(line, sizeof line, file)) {
		if (strcmp(line, "later\n") == 0)
			begin = host->clock(host);
		else if (!send_named_line(source, line, begin, &result))
			result = send_line(host, line, begin);
	}
	fclose(file);
	host->finished(host);
	return result;
}

static int stop(const struct iaprof_host *host, void *instance)
{
	(void)host;
	(void)instance;
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
	.flags = IAPROF_PLUGIN_ONLY_BY_NAME | IAPROF_PLUGIN_NEEDS_PROCESSES,
	.name = "scripted",
	.description = "records of a script",
	.instance_size = sizeof(struct source),
	.source = &operations,
};
IAPROF_REGISTER_PLUGIN(plugin)
