/* SPDX-License-Identifier: Apache-2.0 */
/* Sends a given number of CPU samples, in batches like those of cpu-stack, and waits for the core. */
#include <iaprof/plugin.h>

#define BATCH_RECORDS 900
#define STACKS 500
#define DEPTH 20

struct source {
	uint64_t records;
};

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct source, records, UINT, "records", NULL, "number of samples"),
};

static int start(const struct iaprof_host *host, void *instance)
{
	return 0;
}

static int run(const struct iaprof_host *host, void *instance, const volatile int *stopping)
{
	const struct source *source = instance;
	struct iaprof_record_sample samples[BATCH_RECORDS];
	uint32_t stacks[STACKS], name = host->intern_string(host, "program", 7);
	uint32_t value_type = host->declare_value_type(host, "samples", "count", 1);
	for (uint64_t sent = 0; sent < source->records && !__atomic_load_n(stopping, __ATOMIC_ACQUIRE);) {
		uint64_t now = host->clock(host);
		uint32_t count = 0;
		for (uint32_t i = 0; i < STACKS; i++) {
			uint64_t addresses[DEPTH];
			for (uint32_t k = 0; k < DEPTH; k++)
				addresses[k] = UINT64_C(0x400000) + i * 64 + k * 4096;
			stacks[i] = host->intern_stack(host, 1, addresses, DEPTH);
		}
		for (; count < BATCH_RECORDS && sent < source->records; count++, sent++)
			samples[count] = (struct iaprof_record_sample){
				.header = { .size = sizeof samples[count], .type = IAPROF_RECORD_SAMPLE, .time = now },
				.pid = 4194304,
				.name = name,
				.cpu = UINT32_MAX,
				.user_stack = stacks[count % STACKS],
				.value_type = value_type,
				.count = 1,
				.value = 1,
				.first_time = now,
			};
		struct iaprof_batch batch = { .records = samples, .size = count * sizeof samples[0], .count = count };
		int result = host->emit(host, &batch);
		if (result)
			return result;
	}
	return 0;
}

static int stop(const struct iaprof_host *host, void *instance)
{
	return 0;
}

static const struct iaprof_source_operations operations = {
	.size = sizeof operations,
	.start = start,
	.thread = run,
	.stop = stop,
};

static const struct iaprof_plugin plugin = {
	IAPROF_PLUGIN_VERSIONS,
	IAPROF_PLUGIN_OPTIONS(options),
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags = IAPROF_PLUGIN_ONLY_BY_NAME | IAPROF_PLUGIN_LOSSLESS,
	.name = "many-records",
	.description = "sends many samples",
	.instance_size = sizeof(struct source),
	.source = &operations,
};
IAPROF_REGISTER_PLUGIN(plugin)
