/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source that needs no device: it announces an image as loaded by this process, a kernel of it, and launches; and, if
 * asked, samples of a device, in ever larger numbers.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <iaprof/plugin.h>

struct source {
	const char *image, *kernel;
	uint64_t address, size, machine, objects, samples;
	bool outside;

	uint64_t sent;
};

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct source, image, STRING, "image", NULL, "Path of the image"),
	IAPROF_OPTION(struct source, kernel, STRING, "kernel", "kernel", "Name of the kernel"),
	IAPROF_OPTION(struct source, address, UINT, "address", "0x1000", "Where the kernel is"),
	IAPROF_OPTION(struct source, size, UINT, "size", "64", "Its size"),
	IAPROF_OPTION(struct source, machine, UINT, "machine", "205", "ELF machine"),
	IAPROF_OPTION(struct source, objects, UINT, "objects", "1", "How often the image is loaded"),
	IAPROF_OPTION(struct source, samples, UINT, "samples", "0",
		      "How many STALL_SAMPLE records, one every 10 ms, and then nothing more: 1 sample, 2, 3, ..."),
	IAPROF_OPTION(struct source, outside, BOOL, "outside", "no", "Samples are behind the kernel"),
};

static int emit(const struct iaprof_host *host, const void *record, size_t size)
{
	return host->emit(host, &(struct iaprof_batch){ .records = record, .size = size, .count = 1 });
}

static uint32_t text(const struct iaprof_host *host, const char *string)
{
	return string ? host->intern_string(host, string, strlen(string)) : 0;
}

static int send_samples(const struct iaprof_host *host, void *instance, uint64_t expirations)
{
	struct source *source = instance;
	if (source->sent == source->samples)
		return 0;
	struct {
		struct iaprof_record_stall_sample head;
		uint64_t counts[1];
	} record = { .head = { .header = { .size = sizeof record, .type = IAPROF_RECORD_STALL_SAMPLE },
			       .address = source->address + (source->outside ? source->size : 0),
			       .device = 1,
			       .reason_count = 1 } };
	record.head.begin = record.head.header.time = host->clock(host);
	record.counts[0] = ++source->sent;
	if (source->sent == source->samples)
		host->finished(host);
	return emit(host, &record, sizeof record);
}

static int announce_device(const struct iaprof_host *host)
{
	struct iaprof_record_device device = {
		.header = { .size = sizeof device, .type = IAPROF_RECORD_DEVICE, .time = host->clock(host) },
		.id = 1,
		.name = text(host, "device")
	};
	int result = emit(host, &device, sizeof device);
	return result ? result : host->on_timer(host, 10 * 1000 * 1000, send_samples);
}

static int start(const struct iaprof_host *host, void *instance)
{
	struct source *source = instance;
	int result = source->samples ? announce_device(host) : 0;
	for (uint64_t i = 0; !result && i < source->objects; i++) {
		struct iaprof_record_code_object object = { .header = { .size = sizeof object,
									.type = IAPROF_RECORD_CODE_OBJECT,
									.time = host->clock(host) },
							    .id = (uint32_t)i + 1,
							    .pid = (uint32_t)getpid(),
							    .machine = (uint32_t)source->machine,
							    .path = text(host, source->image) };
		result = emit(host, &object, sizeof object);
	}
	struct iaprof_record_kernel kernel = {
		.header = { .size = sizeof kernel, .type = IAPROF_RECORD_KERNEL, .time = host->clock(host) },
		.id = 1,
		.code_object = 1,
		.pid = (uint32_t)getpid(),
		.name = text(host, source->kernel),
		.address = source->address,
		.size = source->size
	};
	if (!result)
		result = emit(host, &kernel, sizeof kernel);
	/* With a stack, as a real one has. */
	uint64_t address = (uintptr_t)getpid;
	struct iaprof_record_launch launch = {
		.header = { .size = sizeof launch, .type = IAPROF_RECORD_LAUNCH, .time = host->clock(host) },
		.kernel = 1,
		.pid = (uint32_t)getpid(),
		.user_stack = host->intern_stack(host, (uint32_t)getpid(), &address, 1),
		.count = 42
	};
	return result ? result : emit(host, &launch, sizeof launch);
}

static int stop(const struct iaprof_host *host, void *instance)
{
	struct iaprof_record_code_object_unload unload = { .header = { .size = sizeof unload,
								       .type = IAPROF_RECORD_CODE_OBJECT_UNLOAD,
								       .time = host->clock(host) },
							   .id = 1,
							   .pid = (uint32_t)getpid() };
	return emit(host, &unload, sizeof unload);
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
	.name = "device-source",
	.description = "announces an image of device code",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct source),
	.source = &operations,
};
IAPROF_REGISTER_PLUGIN(plugin)
