/* SPDX-License-Identifier: Apache-2.0 */
/* Source ivpu: the calls of the NPU driver intel_vpu, as they happen or from a text trace of bpftrace (input=). */
#include <stdbool.h>
#include <stddef.h>
#include <iaprof/plugin.h>
#include "ivpu.h"

#define SECOND 1000000000u
#define MILLISECOND 1000000u
/* How often a thread has to look whether it is to end: iaprof/plugin.h. */
#define STOPPING_PERIOD (100u * MILLISECOND)

#define LIMIT(key, option_type, member, value, text, ...)                                                              \
	{                                                                                                              \
		.name = (key), .type = (option_type), .offset = offsetof(struct ivpu, limits.member),                  \
		.default_value = (value), .help = (text), __VA_ARGS__                                                  \
	}
/* More in any of these is no limit any more, and products of it fit into 64 bits. */
#define COUNT_MAX 1000000000u

/* In the order of enum ivpu_mode. */
static const char *const modes[] = { "count", "events", NULL };

/* In the order of enum links_way. */
static const char *const ways[] = { "auto", "fsession", "session", "multi", "single", NULL };

/* The defaults are those of IVPU_LIMITS_DEFAULT. */
static const struct iaprof_option options[] = {
	{ .name = "input",
	  .type = IAPROF_OPTION_STRING,
	  .offset = offsetof(struct ivpu, input),
	  .help = "The text that bpftrace wrote of the driver's calls: a file, a pipe, or - for standard input" },
	{ .name = "functions",
	  .type = IAPROF_OPTION_STRING,
	  .offset = offsetof(struct ivpu, functions),
	  .default_value = "ivpu_*",
	  .help = "Which functions of the driver: patterns with *, ? and [], with commas between them" },
	{ .name = "hot",
	  .type = IAPROF_OPTION_BOOL,
	  .offset = offsetof(struct ivpu, hot),
	  .default_value = "no",
	  .help = "Also those functions that are called for each page: they cost most, and tell least" },
	{ .name = "mode",
	  .type = IAPROF_OPTION_CHOICE,
	  .offset = offsetof(struct ivpu, mode),
	  .default_value = "count",
	  .help = "count adds calls up; events tells every one with its time and thread, which costs more: -k "
		  "csv:rows=events shows them",
	  .choices = modes },
	{ .name = "buffer",
	  .type = IAPROF_OPTION_SIZE,
	  .offset = offsetof(struct ivpu, buffer),
	  .default_value = "8MiB",
	  .help = "mode=events: how much waits in the Linux kernel to be told, 72 bytes a call, rounded up to a power "
		  "of 2",
	  .minimum = 64 * 1024,
	  .maximum = 1024 * 1024 * 1024 },
	{ .name = "attach",
	  .type = IAPROF_OPTION_CHOICE,
	  .offset = offsetof(struct ivpu, attach),
	  .default_value = "auto",
	  .help = "By trampolines (fsession.multi), by a kprobe session, by two links of kprobe.multi, or by a kprobe "
		  "for "
		  "each function; auto takes the first that the Linux kernel has",
	  .choices = ways },
	{ .name = "api",
	  .type = IAPROF_OPTION_BOOL,
	  .offset = offsetof(struct ivpu, api),
	  .default_value = "yes",
	  .help = "Also the programs' calls of Level Zero, which those of the driver are in" },
	{ .name = "stacks",
	  .type = IAPROF_OPTION_BOOL,
	  .offset = offsetof(struct ivpu, stacks),
	  .default_value = "yes",
	  .help = "The programs' stacks at their calls of Level Zero" },
	{ .name = "drain",
	  .type = IAPROF_OPTION_DURATION,
	  .offset = offsetof(struct ivpu, drain_period),
	  .default_value = "1s",
	  .help = "The longest time that counts stay in the Linux kernel",
	  .minimum = 10 * MILLISECOND,
	  .maximum = SECOND },
	LIMIT("ipc-rate", IAPROF_OPTION_UINT, ipc_rate, "200",
	      "Messages of the firmware in one second that are a finding; 0: none", .unit = "messages",
	      .maximum = COUNT_MAX),
	LIMIT("ipc-growth", IAPROF_OPTION_UINT, ipc_growth, "10",
	      "Times of the usual messages in one second that are a finding; 0: none", .maximum = COUNT_MAX),
	LIMIT("ipc-per-job", IAPROF_OPTION_UINT, ipc_per_job, "10000",
	      "IPC calls for each job that are a finding; 0: none", .unit = "calls", .maximum = COUNT_MAX),
	LIMIT("map-ratio", IAPROF_OPTION_UINT, map_ratio, "4",
	      "Times that each buffer is mapped, for each open file, that are a finding; 0: none",
	      .maximum = COUNT_MAX),
	LIMIT("buffer-growth", IAPROF_OPTION_UINT, buffer_growth, "32",
	      "Buffers that each half of the jobs may leave behind before it is a finding; 0: any", .unit = "buffers",
	      .maximum = COUNT_MAX),
	LIMIT("hang", IAPROF_OPTION_DURATION, hang, "5s",
	      "How long a job may wait for its completion before it is a finding; 0: for ever",
	      .maximum = 3600ull * SECOND),
	LIMIT("boots", IAPROF_OPTION_UINT, boots, "5",
	      "Boots of the firmware from which on boot-jobs is looked at; 0: never", .unit = "boots",
	      .maximum = COUNT_MAX),
	LIMIT("boot-jobs", IAPROF_OPTION_UINT, boot_jobs, "2",
	      "Fewer jobs than this for each boot of the firmware are a finding", .unit = "jobs", .maximum = COUNT_MAX),
};

static bool has_input(const struct ivpu *ivpu)
{
	return ivpu->input && ivpu->input[0];
}

static uint32_t ring_size(const struct ivpu *ivpu)
{
	uint32_t size = 4096;

	if (ivpu->mode != IVPU_MODE_EVENTS)
		return 0;
	while (size < ivpu->buffer)
		size *= 2;
	return size;
}

static struct live_options live_options_of(const struct ivpu *ivpu)
{
	return (struct live_options){ .functions = ivpu->functions,
				      .attach = (enum links_way)ivpu->attach,
				      .hot = ivpu->hot,
				      .api = ivpu->api,
				      .stacks = ivpu->stacks,
				      .ring_size = ring_size(ivpu),
				      .limits = &ivpu->limits };
}

static int ivpu_configure(const struct iaprof_host *host, void *instance)
{
	struct ivpu *ivpu = instance;
	ivpu->trace.descriptor = -1;
	if (has_input(ivpu) && IAPROF_HOST_HAS(host, offline))
		host->offline(host);
	return 0;
}

static int ivpu_probe(const struct iaprof_host *host, void *instance)
{
	const struct ivpu *ivpu = instance;
	const struct live_options live_options = live_options_of(ivpu);
	return has_input(ivpu) ? 0 : live_probe(host, &live_options);
}

static void ivpu_check(const struct iaprof_host *host, void *instance)
{
	const struct ivpu *ivpu = instance;
	if (!has_input(ivpu) && IAPROF_HOST_HAS(host, check_item))
		live_check(host, ivpu->functions);
}

static int file_mapped(void *instance, const struct iaprof_mapped_file *file)
{
	live_file_mapped(((struct ivpu *)instance)->live, file);
	return 0;
}

static int live_begin(struct ivpu *ivpu, const struct iaprof_host *host)
{
	const struct live_options live_options = live_options_of(ivpu);
	int result = live_prepare(&ivpu->live, host, &live_options);
	if (result == 0 && ivpu->api && IAPROF_HOST_HAS(host, watch_mapped_files))
		result = host->watch_mapped_files(host, file_mapped);
	return result;
}

static int ivpu_prepare(const struct iaprof_host *host, void *instance)
{
	struct ivpu *ivpu = instance;
	return has_input(ivpu) ? trace_input_open(&ivpu->trace, host, ivpu->input, &ivpu->limits,
						  ivpu->mode == IVPU_MODE_EVENTS)
			       : live_begin(ivpu, host);
}

static int ivpu_start(const struct iaprof_host *host, void *instance)
{
	(void)host;
	struct ivpu *ivpu = instance;
	return ivpu->live ? live_start(ivpu->live) : 0;
}

/* Takes what there is out of the Linux kernel, every drain=. */
static int watch(struct ivpu *ivpu, const struct iaprof_host *host, const volatile int *stopping)
{
	uint64_t next = host->clock(host) + ivpu->drain_period;
	while (!__atomic_load_n(stopping, __ATOMIC_ACQUIRE)) {
		uint64_t now = host->clock(host);
		int result = live_poll(ivpu->live);
		if (result == 0 && now >= next) {
			result = live_turn(ivpu->live);
			next = now + ivpu->drain_period;
		}
		if (result)
			return result;
		uint64_t left = next > now ? next - now : 0;
		live_wait(ivpu->live, left < STOPPING_PERIOD ? left : STOPPING_PERIOD);
	}
	return 0;
}

static int ivpu_thread(const struct iaprof_host *host, void *instance, const volatile int *stopping)
{
	struct ivpu *ivpu = instance;
	if (ivpu->live)
		return watch(ivpu, host, stopping);
	host->metadata(host, "mode", "%s", modes[ivpu->mode]);
	return trace_input_run(&ivpu->trace, stopping);
}

static int ivpu_stop(const struct iaprof_host *host, void *instance)
{
	(void)host;
	return live_stop(((struct ivpu *)instance)->live);
}

static int ivpu_finish(const struct iaprof_host *host, void *instance)
{
	(void)host;
	return live_finish(((struct ivpu *)instance)->live);
}

static void ivpu_destroy(const struct iaprof_host *host, void *instance)
{
	(void)host;
	struct ivpu *ivpu = instance;
	live_free(ivpu->live);
	trace_input_close(&ivpu->trace);
}

static const struct iaprof_plugin ivpu_plugin = {
	.abi_version = IAPROF_ABI_VERSION,
	.size = sizeof ivpu_plugin,
	.schema_version = IAPROF_SCHEMA_VERSION,
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags = IAPROF_PLUGIN_NEEDS_PROCESSES,
	.option_size = sizeof(struct iaprof_option),
	.name = "ivpu",
	.version = PLUGIN_VERSION,
	.description = "what the driver of Intel NPUs does: its calls, their nesting, and their times",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
	.instance_size = sizeof(struct ivpu),
	.configure = ivpu_configure,
	.destroy = ivpu_destroy,
	.probe = ivpu_probe,
	.prepare = ivpu_prepare,
	.start = ivpu_start,
	.stop = ivpu_stop,
	.finish = ivpu_finish,
	.thread = ivpu_thread,
	.check = ivpu_check,
};

IAPROF_REGISTER_PLUGIN(ivpu_plugin)
