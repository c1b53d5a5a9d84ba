/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source cpu-stack: samples user and kernel stacks on every CPU. One clock per CPU calls a BPF program (see README.md).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <bpf/libbpf.h>
#include <iaprof/plugin.h>
#include "machine_check.h"
#include "clock.h"
#include "cpu-stack.h"
#include "drain.h"
#include "bpf/stack_reader.h"
#include "bpf/support.h"
#include "bpf/target_set.h"
#include "cpu-stack.bpf.skel.h"
#include "text/plural.h"

#define SECOND UINT64_C(1000000000)
#define MILLISECOND UINT64_C(1000000)

/* Limit on the samples in a set of maps; draining takes one or two microseconds per sample. */
#define SAMPLES_PER_DRAIN 2048u
#define DRAINS_PER_INTERVAL 4
/* Factor by which a drain may be late before samples are lost. */
#define DRAIN_DELAY 4u
/* Interval between reads of the list of online CPUs; a read takes 10 us. */
#define FOLLOW_PERIOD SECOND
#define MAP_SIZE_MIN 1024u
#define MAP_SIZE_MAX (1u << 20)
#define FREQUENCY_MAX 10000u

struct cpu_stack {
	struct stack_reader stacks;
	/* options */
	uint64_t frequency;
	uint64_t clock_choice; /* enum sample_clock_choice */
	uint64_t drain_period;
	uint64_t map_size;
	bool kernel;
	bool idle;

	const struct iaprof_host *host;
	struct cpu_stack_bpf *skeleton;
	struct sample_clock clock;
	struct drain drain;
	uint32_t stride;   /* ticks of a block, of which one is handled */
	uint64_t followed; /* time of the last read of the online CPUs */
	bool started;
};

static int cpu_stack_probe(const struct iaprof_host *host, void *instance)
{
	struct cpu_stack *cpu_stack = instance;

	int result = bpf_support_check(host);
	if (result == 0)
		result = stack_reader_probe(&cpu_stack->stacks, host, BPF_PROG_TYPE_PERF_EVENT);
	return result ? result : sample_clock_check(host, (enum sample_clock_choice)cpu_stack->clock_choice);
}

/* Sets the sizes of the maps and drain_period for the expected number of samples. */
static int maps_size(struct cpu_stack *cpu_stack)
{
	const struct iaprof_host *host = cpu_stack->host;
	struct cpu_stack_bpf *skeleton = cpu_stack->skeleton;
	struct cpu_list online;
	int result = cpu_list_read(host, &online);
	if (result)
		return result;
	size_t cpu_count = online.count;
	uint32_t processor_count = online.items[cpu_count - 1] + 1;
	cpu_list_free(&online);
	if (processor_count < bpf_processor_count()) /* any of them may come online */
		processor_count = bpf_processor_count();

	uint64_t rate = cpu_stack->frequency * cpu_count;
	uint64_t longest = SAMPLES_PER_DRAIN * SECOND / rate;
	if (longest < 10 * MILLISECOND)
		longest = 10 * MILLISECOND;
	/* All samples of a drain belong to the interval of the drain. */
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
	struct bpf_map_size sizes[] = {
		{ skeleton->maps.samples_0, (uint32_t)size, 0 },
		{ skeleton->maps.samples_1, (uint32_t)size, 0 },
		{ skeleton->maps.stacks_0, 2 * (uint32_t)size, 0 },
		{ skeleton->maps.stacks_1, 2 * (uint32_t)size, 0 },
		{ skeleton->maps.processors, processor_count, 0 },
		{ skeleton->maps.targets, target_words(host->target(host)), 0 },
	};
	result = bpf_map_sizes_set(host, sizes, sizeof sizes / sizeof sizes[0]);
	return result ? result
		      : copied_stacks_set_sizes(host, skeleton, processor_count, cpu_stack->frequency,
						cpu_stack->stacks.use_tables);
}

static int programs_load(struct cpu_stack *cpu_stack, const struct iaprof_target *target)
{
	const struct iaprof_host *host = cpu_stack->host;
	struct cpu_stack_bpf *skeleton = cpu_stack->skeleton = cpu_stack_bpf__open();
	if (!skeleton)
		return host->fail(host, errno, "cannot open the BPF program: %s", strerror(errno));

	int result = stack_reader_configure(&cpu_stack->stacks, host, STACK_READER_OBJECT(skeleton));
	if (result)
		return result;
	skeleton->rodata->take_user = cpu_stack->stacks.user;
	skeleton->rodata->take_kernel = cpu_stack->kernel;
	skeleton->rodata->take_idle = cpu_stack->idle;
	skeleton->rodata->slot_width = target->time_resolution;
	TARGET_SET_CONFIGURE(skeleton, target);
	bpf_program__set_autoload(skeleton->progs.sample_cpu, !cpu_stack->stacks.use_tables);
	bpf_program__set_autoload(skeleton->progs.sample_cpu_by_tables, cpu_stack->stacks.use_tables);
	result = maps_size(cpu_stack);
	if (result)
		return result;

	result = cpu_stack_bpf__load(skeleton);
	if (result && stack_reader_reduce(&cpu_stack->stacks, result)) {
		cpu_stack_bpf__destroy(skeleton);
		cpu_stack->skeleton = NULL;
		return programs_load(cpu_stack, target);
	}
	if (result)
		return bpf_load_fail(host, result, "cannot load the BPF program", "5.12");
	return target_set_follow(TARGET_SET(skeleton), host);
}

static void cpu_stack_check(const struct iaprof_host *host, void *instance)
{
	const struct cpu_stack *cpu_stack = instance;

	cpu_stack_check_all(host, cpu_stack->stacks.user, cpu_stack->stacks.unwind, cpu_stack->kernel);
}

/* Unwinds the copies of a process whose tables have come. */
static void copies_retry(struct stack_reader *stacks, const struct iaprof_unwind_process *process, bool has_span)
{
	copied_stacks_retry(&((struct cpu_stack *)stacks)->drain.copies, process->pid);
}

static int stack_copied(const struct iaprof_host *host, void *instance, int fd, uint32_t ready)
{
	struct cpu_stack *cpu_stack = instance;
	copied_stacks_read(&cpu_stack->drain.copies);
	return 0;
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
	struct stack_reader *stacks = &cpu_stack->stacks;
	stacks->on_process = copies_retry;
	result = drain_init(&cpu_stack->drain, host, stacks, cpu_stack->skeleton);
	if (result == 0)
		result = stack_reader_open(stacks, STACK_READER_OBJECT(cpu_stack->skeleton));
	if (result == 0 && stacks->use_tables)
		result = copied_stacks_open(&cpu_stack->drain.copies, host, &stacks->unwinder, &stacks->python,
					    cpu_stack->skeleton, stack_copied);
	if (result)
		return result;
	return sample_clock_open(&cpu_stack->clock, host, (enum sample_clock_choice)cpu_stack->clock_choice,
				 cpu_stack->frequency,
				 bpf_program__fd(stacks->use_tables ? cpu_stack->skeleton->progs.sample_cpu_by_tables
								    : cpu_stack->skeleton->progs.sample_cpu));
}

/* CPUs that come online are sampled from now on; their earlier samples are lost. */
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

static void describe_frequency(const struct cpu_stack *cpu_stack)
{
	const struct iaprof_host *host = cpu_stack->host;
	if (cpu_stack->stride == 1)
		host->metadata(host, "frequency", "%" PRIu64 " Hz", cpu_stack->frequency);
	else
		host->metadata(host, "frequency", "%.3g Hz (lowered from %" PRIu64 " Hz by the budget)",
			       (double)cpu_stack->frequency / cpu_stack->stride, cpu_stack->frequency);
}

/* Adapts the sampling frequency to the run's budget: at least one sample per second and CPU. */
static void follow_budget(struct cpu_stack *cpu_stack)
{
	const struct iaprof_host *host = cpu_stack->host;
	uint32_t stride = host->sample_stride(host, (uint32_t)cpu_stack->frequency);
	if (stride == cpu_stack->stride)
		return;
	cpu_stack->stride = stride;
	__atomic_store_n(&cpu_stack->skeleton->bss->block_skip, stride - 1, __ATOMIC_RELAXED);
	describe_frequency(cpu_stack);
}

static int timer_expired(const struct iaprof_host *host, void *instance, uint64_t expirations)
{
	struct cpu_stack *cpu_stack = instance;

	int result = drain_turn(&cpu_stack->drain);
	follow_budget(cpu_stack);
	return result ? result : cpus_follow(cpu_stack);
}

static int cpu_stack_start(const struct iaprof_host *host, void *instance)
{
	struct cpu_stack *cpu_stack = instance;

	int result = drain_begin(&cpu_stack->drain, SECOND / cpu_stack->frequency);
	if (result)
		return result;
	host->metadata(host, "clock", "%s", cpu_stack->clock.hardware ? "cycles (hardware)" : "cpu-clock (software)");
	cpu_stack->stride = 1;
	describe_frequency(cpu_stack);
	follow_budget(cpu_stack);
	host->metadata(host, "CPUs sampled", "%zu", cpu_stack->clock.events.count);
	stack_reader_describe_limits(&cpu_stack->stacks);

	cpu_stack->started = true;
	cpu_stack->followed = host->clock(host);
	result = sample_clock_start(&cpu_stack->clock, host);
	if (result)
		return result;
	result = host->on_timer(host, cpu_stack->drain_period, timer_expired);
	return result ? host->fail(host, result, "cannot start a timer: %s", strerror(-result)) : 0;
}

static int cpu_stack_stop(const struct iaprof_host *host, void *instance)
{
	struct cpu_stack *cpu_stack = instance;

	sample_clock_stop(&cpu_stack->clock);
	stack_reader_read(&cpu_stack->stacks);
	return cpu_stack->started ? drain_finish(&cpu_stack->drain) : 0;
}

static void describe_copies(const struct cpu_stack *cpu_stack, const struct iaprof_host *host)
{
	const struct cpu_stack_processor *sum = &cpu_stack->drain.reported;
	const struct copied_stacks *copies = &cpu_stack->drain.copies;
	host->metadata(host, "copied stacks",
		       "%" PRIu64 ": %" PRIu64 " complete, %" PRIu64 " ended early, %" PRIu64
		       " without tables in time; no room for %" PRIu64 ", over the budget %" PRIu64,
		       (uint64_t)sum->copies, copies->unwound, copies->ended, copies->late,
		       (uint64_t)sum->copies_lost + copies->refused, (uint64_t)sum->copies_refused);
}

static int cpu_stack_finish(const struct iaprof_host *host, void *instance)
{
	struct cpu_stack *cpu_stack = instance;
	const struct cpu_stack_processor *sum = &cpu_stack->drain.reported;
	uint64_t samples_lost = sum->ticks_full, stacks_lost = sum->stacks.lost;

	if (!cpu_stack->started)
		return 0;
	int result = drain_release(&cpu_stack->drain);
	if (result)
		return result;
	uint64_t ticks = sum->ticks ? sum->ticks : 1;
	stack_reader_describe(&cpu_stack->stacks, &sum->stacks, "user stacks");
	if (cpu_stack->stacks.use_tables)
		describe_copies(cpu_stack, host);
	host->metadata(host, "kernel-side time per tick", "%" PRIu64 " ns", (uint64_t)sum->handler_time / ticks);
	if (!samples_lost && !stacks_lost)
		return 0;
	char text[256];
	snprintf(text, sizeof text,
		 "BPF maps full: %" PRIu64 " sample%s and %" PRIu64 " stack%s lost (raise map-size= or lower drain=)",
		 samples_lost, plural(samples_lost), stacks_lost, plural(stacks_lost));
	const struct record_finding finding = { .severity = IAPROF_FINDING_WARNING,
						.name = "cpu-stack-map-full",
						.text = text,
						.value = (double)(samples_lost + stacks_lost) };
	result = record_batch_add_finding(&cpu_stack->drain.batch, &finding, host->clock(host));
	return result ? result : record_batch_flush(&cpu_stack->drain.batch);
}

static void cpu_stack_destroy(const struct iaprof_host *host, void *instance)
{
	struct cpu_stack *cpu_stack = instance;

	sample_clock_close(&cpu_stack->clock);
	drain_free(&cpu_stack->drain);
	stack_reader_free(&cpu_stack->stacks);
	cpu_stack_bpf__destroy(cpu_stack->skeleton);
}

static const char *const unwind_choices[] = { "auto", "fp", "tables", NULL };
static const char *const clock_choices[] = { "auto", "hardware", "software", NULL };

#define OPTION(...) IAPROF_OPTION(struct cpu_stack, __VA_ARGS__)

static const struct iaprof_option options[] = {
	OPTION(frequency, UINT, "frequency", "99", "Sampling frequency per CPU", .minimum = 1, .maximum = FREQUENCY_MAX,
	       .unit = "Hz"),
	OPTION(clock_choice, CHOICE, "clock", "auto",
	       "Clock that drives sampling: hardware counts CPU cycles (requires a hardware counter, does not wake "
	       "idle "
	       "CPUs), "
	       "software counts time, auto prefers hardware",
	       .choices = clock_choices),
	OPTION(stacks.unwind, CHOICE, "unwind", "auto",
	       "How user stacks are unwound: tables uses .eh_frame of programs and libraries, and frame pointers where "
	       "there is none (Linux 5.17); fp uses frame pointers alone; auto prefers tables",
	       .choices = unwind_choices),
	STACK_READER_PYTHON_OPTION(struct cpu_stack, stacks, "user stacks"),
	OPTION(stacks.user, BOOL, "user", "yes", "Record user stacks"),
	OPTION(kernel, BOOL, "kernel", "yes", "Record Linux kernel stacks"),
	OPTION(idle, BOOL, "idle", "no", "Include idle CPUs"),
	STACK_READER_SPANS_OPTION(struct cpu_stack, stacks),
	OPTION(drain_period, DURATION, "drain", "1s",
	       "Longest interval between reads of the BPF maps; shorter on machines with many CPUs",
	       .minimum = 10 * MILLISECOND, .maximum = SECOND),
	OPTION(map_size, UINT, "map-size", "0",
	       "Distinct samples that the BPF maps hold between two reads; 0: chosen by frequency and number of CPUs",
	       .maximum = MAP_SIZE_MAX, .unit = "samples"),
};

static const struct iaprof_source_operations operations = {
	.size = sizeof operations,
	.probe = cpu_stack_probe,
	.prepare = cpu_stack_prepare,
	.start = cpu_stack_start,
	.stop = cpu_stack_stop,
	.finish = cpu_stack_finish,
	.check = cpu_stack_check,
};

static const struct iaprof_plugin plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags = IAPROF_PLUGIN_NEEDS_PROCESSES | IAPROF_PLUGIN_TARGETS,
	.name = "cpu-stack",
	.version = PLUGIN_VERSION,
	.description = "CPU profiling: sampled user and kernel stacks",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct cpu_stack),
	.source = &operations,
	.destroy = cpu_stack_destroy,
};

IAPROF_REGISTER_PLUGIN(plugin)
