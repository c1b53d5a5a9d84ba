/* SPDX-License-Identifier: Apache-2.0 */
/* cpu-stack: samples what every CPU runs, with user and kernel stacks. A clock per CPU calls a BPF program (see
 * README.md). */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <bpf/libbpf.h>
#include <iaprof/plugin.h>
#include "machine_check.h"
#include "clock.h"
#include "cpu-stack.h"
#include "drain.h"
#include "support.h"
#include "target_map.h"
#include "targets.h"
#include "cpu-stack.bpf.skel.h"

#define SECOND UINT64_C(1000000000)
#define MILLISECOND UINT64_C(1000000)

/* A set of maps is drained before it holds more than this; a drain takes one or two microseconds for each. */
#define SAMPLES_PER_DRAIN 2048u
#define DRAINS_PER_INTERVAL 4
/* How much longer than planned a drain may be in coming before samples are lost. */
#define DRAIN_DELAY 4u
/* How often it is looked which CPUs are online: reading the list takes 10 us. */
#define FOLLOW_PERIOD SECOND
#define MAP_SIZE_MIN 1024u
#define MAP_SIZE_MAX (1u << 20)
#define FREQUENCY_MAX 10000u

struct cpu_stack {
	/* options */
	uint64_t frequency;
	uint64_t clock_choice; /* enum sample_clock_choice */
	uint64_t drain_period;
	uint64_t map_size;
	bool user;
	bool kernel;
	bool idle;

	const struct iaprof_host *host;
	struct cpu_stack_bpf *skeleton;
	struct sample_clock clock;
	struct drain drain;
	uint64_t followed; /* when it was looked last which CPUs are online */
	bool started;
};

static int cpu_stack_probe(const struct iaprof_host *host, void *instance)
{
	struct cpu_stack *cpu_stack = instance;

	int result = bpf_support_check(host);
	return result ? result : sample_clock_check(host, (enum sample_clock_choice)cpu_stack->clock_choice);
}

/* Sets the maps' sizes and drain_period for the number of samples that can come. */
static int maps_size(struct cpu_stack *cpu_stack, uint32_t stack_depth)
{
	const struct iaprof_host *host = cpu_stack->host;
	struct cpu_stack_bpf *skeleton = cpu_stack->skeleton;
	struct cpu_list online;
	int result = cpu_list_read(host, &online);
	if (result)
		return result;
	size_t cpu_count = online.count;
	uint32_t processor_count = online.cpus[cpu_count - 1] + 1;
	cpu_list_free(&online);
	int possible = libbpf_num_possible_cpus(); /* any of them may come online */
	if (possible > 0 && (uint32_t)possible > processor_count)
		processor_count = (uint32_t)possible;

	uint64_t rate = cpu_stack->frequency * cpu_count;
	uint64_t longest = SAMPLES_PER_DRAIN * SECOND / rate;
	if (longest < 10 * MILLISECOND)
		longest = 10 * MILLISECOND;
	/* A drain's samples are all of the interval that it falls into. */
	uint64_t interval = host->target(host)->interval / DRAINS_PER_INTERVAL;
	if (interval && interval < longest)
		longest = interval < MILLISECOND ? MILLISECOND : interval;
	if (cpu_stack->drain_period > longest)
		cpu_stack->drain_period = longest;
	uint64_t size = cpu_stack->map_size;
	if (!size) {
		size = DRAIN_DELAY * rate * cpu_stack->drain_period / SECOND;
		size = size < MAP_SIZE_MIN ? MAP_SIZE_MIN : size > MAP_SIZE_MAX ? MAP_SIZE_MAX : size;
	}
	host->log(host, IAPROF_LOG_DEBUG, "maps for %" PRIu64 " samples, drained every %" PRIu64 " ms", size,
		  cpu_stack->drain_period / MILLISECOND);

	/* A sample has up to two stacks. */
	uint32_t stack_bytes = stack_size(stack_depth);
	struct bpf_map_size sizes[] = {
		{ skeleton->maps.samples_0, (uint32_t)size, 0 },
		{ skeleton->maps.samples_1, (uint32_t)size, 0 },
		{ skeleton->maps.stacks_0, 2 * (uint32_t)size, stack_bytes },
		{ skeleton->maps.stacks_1, 2 * (uint32_t)size, stack_bytes },
		{ skeleton->maps.scratch, 2, stack_bytes },
		{ skeleton->maps.processors, processor_count, 0 },
		{ skeleton->maps.targets, skeleton->rodata->only_targets ? TARGET_WORDS : 1, 0 },
	};
	return bpf_map_sizes_set(host, sizes, sizeof sizes / sizeof sizes[0]);
}

static int programs_load(struct cpu_stack *cpu_stack, const struct iaprof_target *target)
{
	const struct iaprof_host *host = cpu_stack->host;
	struct cpu_stack_bpf *skeleton = cpu_stack->skeleton = cpu_stack_bpf__open();
	if (!skeleton)
		return host->fail(host, errno, "open the BPF program: %s", strerror(errno));

	bool only_targets = target->scope != IAPROF_SCOPE_SYSTEM;
	uint64_t seed[2];
	if (getrandom(seed, sizeof seed, 0) != (ssize_t)sizeof seed)
		return host->fail(host, errno, "get a random number: %s", strerror(errno));
	skeleton->rodata->stack_depth = stack_depth_read();
	memcpy((void *)skeleton->rodata->hash_seed, seed, sizeof seed);
	skeleton->rodata->take_user = cpu_stack->user;
	skeleton->rodata->take_kernel = cpu_stack->kernel;
	skeleton->rodata->take_idle = cpu_stack->idle;
	/* An older core's target has none. */
	if (target->size >= offsetof(struct iaprof_target, time_resolution) + sizeof target->time_resolution)
		skeleton->rodata->slot_width = target->time_resolution;
	skeleton->rodata->only_targets = only_targets;
	skeleton->rodata->follow_children = target->scope == IAPROF_SCOPE_COMMAND;
	bpf_program__set_autoload(skeleton->progs.follow_fork, only_targets);
	int result = maps_size(cpu_stack, skeleton->rodata->stack_depth);
	if (result)
		return result;

	result = cpu_stack_bpf__load(skeleton);
	if (result)
		return bpf_load_fail(host, result, "load the BPF program", "5.12");
	if (!only_targets)
		return 0;

	result = target_map_set(host, bpf_map__fd(skeleton->maps.targets), target);
	if (result)
		return result;
	skeleton->links.follow_fork = bpf_program__attach(skeleton->progs.follow_fork);
	if (!skeleton->links.follow_fork)
		return host->fail(host, errno, "attach to sched_process_fork: %s", strerror(errno));
	return 0;
}

static void cpu_stack_check(const struct iaprof_host *host, void *instance)
{
	const struct cpu_stack *cpu_stack = instance;

	if (IAPROF_HOST_HAS(host, check_item))
		cpu_stack_check_all(host, cpu_stack->user, cpu_stack->kernel);
}

static int cpu_stack_prepare(const struct iaprof_host *host, void *instance)
{
	struct cpu_stack *cpu_stack = instance;
	cpu_stack->host = host;

	struct bpf_log log = bpf_log_begin(host);
	int result = programs_load(cpu_stack, host->target(host));
	bpf_log_end(&log);
	if (result)
		return result;
	result = drain_init(&cpu_stack->drain, host, cpu_stack->skeleton);
	if (result)
		return result;
	return sample_clock_open(&cpu_stack->clock, host, (enum sample_clock_choice)cpu_stack->clock_choice,
				 cpu_stack->frequency, bpf_program__fd(cpu_stack->skeleton->progs.sample_cpu));
}

/* CPUs that come online are sampled from then on, and what ran on them before is lost. */
static int cpus_follow(struct cpu_stack *cpu_stack)
{
	const struct iaprof_host *host = cpu_stack->host;
	uint64_t before = cpu_stack->followed, now = host->clock(host);
	size_t came = 0;

	if (now - before < FOLLOW_PERIOD)
		return 0;
	cpu_stack->followed = now;
	int result = sample_clock_follow(&cpu_stack->clock, host, &came);
	if (came)
		host->lost(host, "CPU came online", before, IAPROF_COUNT_UNKNOWN, cpu_stack->drain.value_type,
			   IAPROF_COUNT_UNKNOWN);
	return result;
}

static int timer_expired(void *instance, uint64_t expirations)
{
	struct cpu_stack *cpu_stack = instance;

	(void)expirations;
	int result = drain_turn(&cpu_stack->drain);
	return result ? result : cpus_follow(cpu_stack);
}

static int cpu_stack_start(const struct iaprof_host *host, void *instance)
{
	struct cpu_stack *cpu_stack = instance;

	int result = drain_begin(&cpu_stack->drain, SECOND / cpu_stack->frequency);
	if (result)
		return result;
	host->metadata(host, "clock", "%s", cpu_stack->clock.hardware ? "cycles (hardware)" : "cpu-clock (software)");
	host->metadata(host, "frequency", "%" PRIu64 " Hz", cpu_stack->frequency);
	host->metadata(host, "CPUs sampled", "%zu", cpu_stack->clock.event_count);
	host->metadata(host, "deepest stack", "%" PRIu32 " addresses", cpu_stack->skeleton->rodata->stack_depth);

	cpu_stack->started = true;
	cpu_stack->followed = host->clock(host);
	result = sample_clock_start(&cpu_stack->clock, host);
	if (result)
		return result;
	result = host->watch_timer(host, cpu_stack->drain_period, timer_expired);
	return result ? host->fail(host, result, "start a timer: %s", strerror(-result)) : 0;
}

static int cpu_stack_stop(const struct iaprof_host *host, void *instance)
{
	struct cpu_stack *cpu_stack = instance;

	(void)host;
	sample_clock_stop(&cpu_stack->clock);
	return cpu_stack->started ? drain_finish(&cpu_stack->drain) : 0;
}

static int finding_emit(const struct iaprof_host *host, const char *name, double value, const char *text)
{
	struct iaprof_record_finding finding = {
		.header = { .size = sizeof finding, .type = IAPROF_RECORD_FINDING, .time = host->clock(host) },
		.severity = IAPROF_FINDING_WARNING,
		.name = host->intern_string(host, name, strlen(name)),
		.text = host->intern_string(host, text, strlen(text)),
		.value = value,
	};
	struct iaprof_batch batch = { .records = &finding, .size = sizeof finding, .count = 1 };
	int result = host->emit(host, &batch);
	return result == -ENOSPC ? 0 : result;
}

static int cpu_stack_finish(const struct iaprof_host *host, void *instance)
{
	struct cpu_stack *cpu_stack = instance;
	const struct cpu_stack_processor *sum = &cpu_stack->drain.reported;
	uint64_t samples_lost = sum->ticks_full, stacks_lost = sum->stacks_lost;

	if (!cpu_stack->started)
		return 0;
	uint64_t time = sum->handler_time + sum->fork_time;
	uint64_t ticks = sum->ticks ? sum->ticks : 1;
	host->metadata(host, "kernel-side time per tick", "%" PRIu64 " ns", time / ticks);
	if (!samples_lost && !stacks_lost)
		return 0;
	char text[256];
	snprintf(text, sizeof text,
		 "%" PRIu64 " samples and %" PRIu64 " stacks did not fit into the BPF maps: raise map-size= or shorten "
		 "drain=",
		 samples_lost, stacks_lost);
	return finding_emit(host, "cpu-stack-map-full", (double)(samples_lost + stacks_lost), text);
}

static void cpu_stack_destroy(const struct iaprof_host *host, void *instance)
{
	struct cpu_stack *cpu_stack = instance;

	(void)host;
	sample_clock_close(&cpu_stack->clock);
	drain_free(&cpu_stack->drain);
	cpu_stack_bpf__destroy(cpu_stack->skeleton);
}

static const char *const clock_choices[] = { "auto", "hardware", "software", NULL };

static const struct iaprof_option options[] = {
	{ .name = "frequency",
	  .type = IAPROF_OPTION_UINT,
	  .offset = offsetof(struct cpu_stack, frequency),
	  .default_value = "99",
	  .help = "How often a second each CPU is looked at",
	  .minimum = 1,
	  .maximum = FREQUENCY_MAX,
	  .unit = "Hz" },
	{ .name = "clock",
	  .type = IAPROF_OPTION_CHOICE,
	  .offset = offsetof(struct cpu_stack, clock_choice),
	  .default_value = "auto",
	  .help = "What gives the beat: hardware counts cycles, which needs a hardware counter and lets idle CPUs "
		  "sleep; "
		  "software counts time; auto takes hardware where there is one",
	  .choices = clock_choices },
	{ .name = "user",
	  .type = IAPROF_OPTION_BOOL,
	  .offset = offsetof(struct cpu_stack, user),
	  .default_value = "yes",
	  .help = "Take the stacks of programs" },
	{ .name = "kernel",
	  .type = IAPROF_OPTION_BOOL,
	  .offset = offsetof(struct cpu_stack, kernel),
	  .default_value = "yes",
	  .help = "Take the stacks of the Linux kernel" },
	{ .name = "idle",
	  .type = IAPROF_OPTION_BOOL,
	  .offset = offsetof(struct cpu_stack, idle),
	  .default_value = "no",
	  .help = "Count CPUs that have nothing to do, too" },
	{ .name = "drain",
	  .type = IAPROF_OPTION_DURATION,
	  .offset = offsetof(struct cpu_stack, drain_period),
	  .default_value = "1s",
	  .help = "The longest time that samples stay in the Linux kernel; shorter where there are many CPUs",
	  .minimum = 10 * MILLISECOND,
	  .maximum = SECOND },
	{ .name = "map-size",
	  .type = IAPROF_OPTION_UINT,
	  .offset = offsetof(struct cpu_stack, map_size),
	  .default_value = "0",
	  .help = "Room for this many different samples between two drains; 0 gives enough for the frequency and CPUs",
	  .maximum = MAP_SIZE_MAX,
	  .unit = "samples" },
};

static const struct iaprof_plugin plugin = {
	.abi_version = IAPROF_ABI_VERSION,
	.size = sizeof(struct iaprof_plugin),
	.schema_version = IAPROF_SCHEMA_VERSION,
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags = IAPROF_PLUGIN_NEEDS_PROCESSES,
	.option_size = sizeof(struct iaprof_option),
	.name = "cpu-stack",
	.version = PLUGIN_VERSION,
	.description = "what every CPU runs: samples with user and kernel stacks",
	.options = options,
	.option_count = sizeof options / sizeof options[0],
	.instance_size = sizeof(struct cpu_stack),
	.probe = cpu_stack_probe,
	.prepare = cpu_stack_prepare,
	.start = cpu_stack_start,
	.stop = cpu_stack_stop,
	.finish = cpu_stack_finish,
	.destroy = cpu_stack_destroy,
	.check = cpu_stack_check,
};

IAPROF_REGISTER_PLUGIN(plugin)
