/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source stall-source: stalls of code in an image, which a test chose: a line of its file is the address of an
 * instruction, as the image has it, and how many samples it has of each of three reasons, of which the second waits
 * for other instructions. A real run of the core names them and reads the image.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <iaprof/plugin.h>

#define MACHINE_INTEL_GT 205u

struct stall_source {
	const char *image, *stalls;
};

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct stall_source, image, STRING, "image", NULL, "an image that was loaded, with addresses"),
	IAPROF_OPTION(struct stall_source, stalls, STRING, "stalls", NULL, "a file with what stalled"),
};

static void send(const struct iaprof_host *host, void *record, uint16_t type, size_t size, uint64_t time)
{
	struct iaprof_record *header = record;
	*header = (struct iaprof_record){ .size = (uint32_t)size, .type = type, .time = time };
	(void)host->emit(host, &(struct iaprof_batch){ .records = record, .size = size, .count = 1 });
}

static uint32_t text(const struct iaprof_host *host, const char *string)
{
	return host->intern_string(host, string, strlen(string));
}

static void announce(const struct iaprof_host *host, const struct stall_source *source, uint64_t time)
{
	static const char *const reasons[] = { "active", "sbid", "send" };
	struct iaprof_record_device device = { .id = 1, .name = text(host, "GPU"), .machine = MACHINE_INTEL_GT };
	send(host, &device, IAPROF_RECORD_DEVICE, sizeof device, time);
	for (uint32_t i = 0; i < 3; i++) {
		struct iaprof_record_stall_reason reason = { .id = i,
							     .name = text(host, reasons[i]),
							     .flags = i == 1 ? IAPROF_STALL_REASON_WAITS : 0 };
		send(host, &reason, IAPROF_RECORD_STALL_REASON, sizeof reason, time);
	}
	struct iaprof_record_code_object object = {
		.id = 1, .pid = (uint32_t)getpid(), .machine = MACHINE_INTEL_GT, .path = text(host, source->image)
	};
	send(host, &object, IAPROF_RECORD_CODE_OBJECT, sizeof object, time);
}

static int source_start(const struct iaprof_host *host, void *instance)
{
	const struct stall_source *source = instance;
	struct {
		struct iaprof_record_stall_sample head;
		uint64_t counts[3];
	} sample;
	uint64_t time = host->clock(host), address;
	FILE *input = fopen(source->stalls ? source->stalls : "", "re");
	if (!input || !source->image)
		return host->fail(host, EINVAL, "image= and stalls= have to be files");
	announce(host, source, time);
	memset(&sample, 0, sizeof sample);
	while (fscanf(input, "%" SCNx64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &address, &sample.counts[0],
		      &sample.counts[1], &sample.counts[2]) == 4) {
		sample.head = (struct iaprof_record_stall_sample){
			.begin = time, .address = address, .device = 1, .reason_count = 3
		};
		send(host, &sample, IAPROF_RECORD_STALL_SAMPLE, sizeof sample, time + 1);
	}
	fclose(input);
	host->finished(host);
	return 0;
}

static int source_stop(const struct iaprof_host *host, void *instance)
{
	return 0;
}

static const struct iaprof_source_operations operations = {
	.size = sizeof operations,
	.start = source_start,
	.stop = source_stop,
};

static const struct iaprof_plugin stall_source_plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags = IAPROF_PLUGIN_ONLY_BY_NAME,
	.name = "stall-source",
	.description = "stalls that a test chose",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct stall_source),
	.source = &operations,
};

IAPROF_REGISTER_PLUGIN(stall_source_plugin)
