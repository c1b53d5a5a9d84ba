/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source and a sink that were built when structs had other sizes: with LATER, every struct and record has members
 * appended that this core does not know; with EARLIER, they lack those that may be missing, and end right before memory
 * that cannot be read.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <iaprof/plugin.h>

#ifdef LATER
#define SIZE_OF(name, missing) (sizeof(struct name) + 64)
#else
#define SIZE_OF(name, missing) offsetof(struct name, missing)
#endif

struct instance {
	uint64_t number;
	uint64_t count, sum; /* of all values in the profile */
};

/* Returns a copy of size bytes, or of as many as there are and garbage, in front of memory that cannot be read. */
static void *resize(const void *data, size_t known, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE))
		abort();
	char *copy = memset(pages + page - size, 0xff, size);
	return memcpy(copy, data, known < size ? known : size);
}

#if defined(SOURCE)
static int send_record(const struct iaprof_host *host, const void *record, size_t known, size_t size)
{
	struct iaprof_record *resized = resize(record, known, size);
	resized->size = (uint32_t)size;
	struct iaprof_batch batch = { .records = resized, .size = size, .count = 1 };
	return host->emit(host, &batch);
}

static int start(const struct iaprof_host *host, void *memory)
{
	const struct instance *instance = memory;
	uint64_t now = host->clock(host);
	struct iaprof_record_counter counter = {
		.header = { .type = IAPROF_RECORD_COUNTER, .time = now },
		.id = 1,
		.name = host->intern_string(host, "count", 5),
		.kind = IAPROF_COUNTER_GAUGE,
	};
	struct iaprof_record_counter_value value = { .header = { .type = IAPROF_RECORD_COUNTER_VALUE, .time = now },
						     .counter = 1,
						     .value = (double)instance->number };
	struct iaprof_record_sample sample = { .header = { .type = IAPROF_RECORD_SAMPLE, .time = now },
					       .pid = (uint32_t)getpid(),
					       .cpu = UINT32_MAX,
					       .value_type = host->declare_value_type(host, "units", "count", 1),
					       .count = 1,
					       .value = instance->number,
					       .first_time = now };
	int result = send_record(host, &counter, sizeof counter, SIZE_OF(iaprof_record_counter, role));
	if (!result)
		result = send_record(host, &value, sizeof value, sizeof value);
	for (int i = 0; i < 3 && !result; i++)
		result = send_record(host, &sample, sizeof sample, SIZE_OF(iaprof_record_sample, thread_name));
	host->finished(host);
	return result;
}

static int stop(const struct iaprof_host *host, void *memory)
{
	(void)host;
	(void)memory;
	return 0;
}
#else
/* Reads only the first members of a profile. */
static int profile(const struct iaprof_host *host, void *memory, const struct iaprof_profile *profile)
{
	struct instance *instance = memory;
	if (profile->size < offsetof(struct iaprof_profile, times))
		return host->fail(host, EINVAL, "the profile has %u bytes", profile->size);
	for (size_t i = 0; i < profile->value_count; i++) {
		instance->count += iaprof_profile_value(profile, i)->count;
		instance->sum += iaprof_profile_value(profile, i)->value;
	}
	return 0;
}

static int finish(const struct iaprof_host *host, void *memory)
{
	const struct instance *instance = memory;
	char text[128];
	int length = snprintf(text, sizeof text, "number %lu, count %lu, sum %lu\n", (unsigned long)instance->number,
			      (unsigned long)instance->count, (unsigned long)instance->sum);
	struct iaprof_output *output = host->output_open(host, NULL, 0);
	if (!output)
		return -EIO;
	int result = host->output_write(host, output, text, (size_t)length);
	if (result) {
		host->output_discard(host, output);
		return result;
	}
	return host->output_close(host, output);
}
#endif

static const struct iaprof_option option = { .name = "number",
					     .type = IAPROF_OPTION_UINT,
					     .offset = offsetof(struct instance, number),
					     .default_value = "1",
					     .maximum = 100,
					     .help = "Value of each sample" };

static const struct iaprof_plugin known = {
	.abi_version = IAPROF_ABI_VERSION,
	.schema_version = IAPROF_SCHEMA_VERSION,
	.flags = IAPROF_PLUGIN_ONLY_BY_NAME,
	.name = PLUGIN_NAME,
	.description = "structs of other sizes",
	.option_count = 1,
	.instance_size = sizeof(struct instance),
};

#if defined(SOURCE)
#define OPERATIONS_SIZE SIZE_OF(iaprof_source_operations, prepare)
static const struct iaprof_source_operations operations = { .size = (uint32_t)OPERATIONS_SIZE,
							    .start = start,
							    .stop = stop };
#define KIND IAPROF_PLUGIN_SOURCE
#define MEMBER source
#else
#define OPERATIONS_SIZE SIZE_OF(iaprof_sink_operations, prepare)
static const struct iaprof_sink_operations operations = {
	.size = (uint32_t)OPERATIONS_SIZE, .extension = "txt", .profile = profile, .finish = finish
};
#define KIND IAPROF_PLUGIN_SINK
#define MEMBER sink
#endif

IAPROF_EXPORT const struct iaprof_plugin *iaprof_plugin_register(void);
const struct iaprof_plugin *iaprof_plugin_register(void)
{
	static const struct iaprof_plugin *resized;
	if (!resized) {
		struct iaprof_plugin plugin = known;
		plugin.kind = KIND;
		plugin.MEMBER = resize(&operations, sizeof operations, operations.size);
		plugin.size = (uint32_t)SIZE_OF(iaprof_plugin, configure);
		plugin.option_size = (uint32_t)SIZE_OF(iaprof_option, alias);
		plugin.options = resize(&option, sizeof option, plugin.option_size);
		resized = resize(&plugin, sizeof plugin, plugin.size);
	}
	return resized;
}
