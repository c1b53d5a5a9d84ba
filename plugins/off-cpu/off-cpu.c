/* SPDX-License-Identifier: Apache-2.0 */
/* Source off-cpu: time that threads spend off the CPU, by stack and reason (see README.md). */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <bpf/libbpf.h>
#include <iaprof/plugin.h>
#include "bpf/stack_reader.h"
#include "bpf/support.h"
#include "bpf/target_set.h"
#include "collect.h"
#include "off-cpu.h"
#include "process/rights.h"
#include "off-cpu.bpf.skel.h"

#define SECOND UINT64_C(1000000000)
#define MILLISECOND UINT64_C(1000000)
#define MICROSECOND UINT64_C(1000)

/* The BPF programs divide by it in 32 bits. */
#define MINIMUM_MAX (4 * SECOND)
/* Largest factor by which the budget raises it. */
#define STRIDE_MAX 100u
/* Largest number of waits of quiet threads of which the budget has one handled. */
#define QUIET_STRIDE_MAX 64u
#define WAITS_PER_PROCESSOR 2048u
#define MAP_SIZE_MIN 4096u
#define MAP_SIZE_MAX 65536u
/* Limit on threads that are followed. */
#define THREADS_OF_SYSTEM 65536u
#define THREADS_OF_TARGETS 16384u
#define DRAINS_PER_INTERVAL 4
/* With time slots this short, nearly each wait has its own element, so the maps are larger and read more often. */
#define SLOT_OF_FEW_WAITS (5 * MILLISECOND)
#define DRAIN_OF_FEW_WAITS (250 * MILLISECOND)
#define WAITS_OF_FEW 2u /* times as many elements */

/* Values of option "short", in the order of its choices. */
enum short_choice { SHORT_SAMPLE = 0, SHORT_SKIP = 1 };

struct off_cpu {
	struct stack_reader stacks;
	/* options */
	uint64_t minimum;
	uint64_t short_choice;
	uint64_t share; /* percent */
	uint64_t drain_period;
	uint64_t map_size;
	bool kernel;
	bool runnable;
	bool waker;
	bool kernel_threads;

	const struct iaprof_host *host;
	struct off_cpu_bpf *skeleton;
	struct collector collector;
	uint32_t stride; /* of the budget */
	uint64_t end;    /* time of stop() */
	bool started;
};

static int off_cpu_probe(const struct iaprof_host *host, void *instance)
{
	struct off_cpu *off_cpu = instance;
	const char *reason = NULL;
	int result = bpf_support_check(host);
	if (result)
		return result;
	/* libbpf cannot probe for helpers of programs of type tracing, which have those of raw tracepoints. */
	if (!unwinder_is_supported(BPF_PROG_TYPE_RAW_TRACEPOINT, &reason))
		return host->fail(host, ENOTSUP, "%s: requires Linux 5.18", reason);
	return stack_reader_probe(&off_cpu->stacks, host, BPF_PROG_TYPE_RAW_TRACEPOINT);
}

static void off_cpu_check(const struct iaprof_host *host, void *instance)
{
	rights_check_bpf(host);
}

static int set_sizes(struct off_cpu *off_cpu)
{
	const struct iaprof_host *host = off_cpu->host;
	struct off_cpu_bpf *skeleton = off_cpu->skeleton;
	const struct iaprof_target *target = host->target(host);
	uint32_t processors = bpf_processor_count();
	uint64_t slot = skeleton->rodata->slot_width;
	bool has_few = slot && slot <= SLOT_OF_FEW_WAITS;
	uint64_t size = (uint64_t)processors * WAITS_PER_PROCESSOR * (has_few ? WAITS_OF_FEW : 1);
	if (skeleton->rodata->take_spans)
		size *= 2;
	if (has_few && off_cpu->drain_period > DRAIN_OF_FEW_WAITS)
		off_cpu->drain_period = DRAIN_OF_FEW_WAITS;
	size = off_cpu->map_size     ? off_cpu->map_size
	       : size < MAP_SIZE_MIN ? MAP_SIZE_MIN
	       : size > MAP_SIZE_MAX ? MAP_SIZE_MAX
				     : size;
	/* Waits with a span have one half of the map: a program with one for each request has many. */
	skeleton->rodata->span_keys_max = (uint32_t)size / 2;
	uint64_t interval = target->interval / DRAINS_PER_INTERVAL;
	/* All waits of a drain belong to the interval of the drain. */
	if (interval && interval < off_cpu->drain_period)
		off_cpu->drain_period = interval < MILLISECOND ? MILLISECOND : interval;
	const struct bpf_map_size sizes[] = {
		{ skeleton->maps.waits_0, (uint32_t)size, 0 },
		{ skeleton->maps.waits_1, (uint32_t)size, 0 },
		{ skeleton->maps.stacks_0, (uint32_t)size, 0 },
		{ skeleton->maps.stacks_1, (uint32_t)size, 0 },
		{ skeleton->maps.threads, target->scope == IAPROF_SCOPE_SYSTEM ? THREADS_OF_SYSTEM : THREADS_OF_TARGETS,
		  0 },
		{ skeleton->maps.processors, processors, 0 },
		{ skeleton->maps.targets, target_words(target), 0 },
	};
	return bpf_map_sizes_set(host, sizes, sizeof sizes / sizeof *sizes);
}

static int programs_load(struct off_cpu *off_cpu)
{
	const struct iaprof_host *host = off_cpu->host;
	const struct iaprof_target *target = host->target(host);
	struct off_cpu_bpf *skeleton = off_cpu->skeleton = off_cpu_bpf__open();
	if (!skeleton)
		return host->fail(host, errno, "cannot open the BPF program: %s", strerror(errno));
	int result = stack_reader_configure(&off_cpu->stacks, host, STACK_READER_OBJECT(skeleton));
	if (result)
		return result;
	skeleton->rodata->take_user = off_cpu->stacks.user;
	skeleton->rodata->take_kernel = off_cpu->kernel;
	skeleton->rodata->take_ready = off_cpu->runnable;
	skeleton->rodata->take_waker = off_cpu->waker;
	skeleton->rodata->take_kernel_threads = off_cpu->kernel_threads;
	skeleton->rodata->use_tables = off_cpu->stacks.use_tables;
	skeleton->data->minimum = off_cpu->minimum;
	skeleton->rodata->sample_short = off_cpu->short_choice == SHORT_SAMPLE;
	skeleton->rodata->window_share = OFF_CPU_WINDOW * off_cpu->share / 100;
	skeleton->rodata->slot_width = target->time_resolution;
	TARGET_SET_CONFIGURE(skeleton, target);
	bpf_program__set_autoload(skeleton->progs.off_cpu_sleeping_spans, skeleton->rodata->take_spans);
	result = set_sizes(off_cpu);
	if (result)
		return result;
	result = off_cpu_bpf__load(skeleton);
	if (result && stack_reader_reduce(&off_cpu->stacks, result)) {
		off_cpu_bpf__destroy(skeleton);
		off_cpu->skeleton = NULL;
		return programs_load(off_cpu);
	}
	if (result)
		return bpf_load_fail(host, result, "cannot load the BPF programs", "5.18");
	return target_set_follow(TARGET_SET(skeleton), host);
}

/* Reads the spans of threads that have been asleep since before the run, now that more is known of their process. */
static void read_sleeping_spans(struct off_cpu *off_cpu)
{
	struct sleepers *sleepers = &off_cpu->collector.before;
	if (sleepers->threads.count)
		(void)sleepers_read(sleepers, off_cpu->skeleton->progs.off_cpu_sleeping_spans);
}

static void sleepers_continue(struct stack_reader *stacks, const struct iaprof_unwind_process *process, bool has_span)
{
	struct off_cpu *off_cpu = (struct off_cpu *)stacks;
	if (has_span)
		read_sleeping_spans(off_cpu);
	sleepers_unwind(&off_cpu->collector.before, &stacks->unwinder, process->pid, false);
}

static int off_cpu_prepare(const struct iaprof_host *host, void *instance)
{
	struct off_cpu *off_cpu = instance;
	off_cpu->host = host;
	off_cpu->stacks.on_process = sleepers_continue;

	struct bpf_log log = bpf_log_begin(host);
	int result = programs_load(off_cpu);
	bpf_log_end(&log);
	if (result)
		return result;
	result = collector_init(&off_cpu->collector, host, &off_cpu->stacks, off_cpu->skeleton);
	off_cpu->collector.minimum = off_cpu->minimum;
	off_cpu->collector.skip_short = off_cpu->short_choice == SHORT_SKIP;
	if (result == 0)
		result = stack_reader_open(&off_cpu->stacks, STACK_READER_OBJECT(off_cpu->skeleton));
	return result;
}

/* Of so many waits of quiet threads, one is handled. */
static uint32_t quiet_stride(const struct off_cpu *off_cpu)
{
	uint32_t longest =
		off_cpu->waker ? 1 : QUIET_STRIDE_MAX; /* a waker is read when its thread wakes another one */
	return off_cpu->stride < longest ? off_cpu->stride : longest;
}

static uint64_t raised_minimum(const struct off_cpu *off_cpu)
{
	return off_cpu->minimum * (off_cpu->short_choice == SHORT_SAMPLE ? off_cpu->stride : 1);
}

static void describe_minimum(const struct off_cpu *off_cpu)
{
	const struct iaprof_host *host = off_cpu->host;
	const char *shorter = off_cpu->short_choice == SHORT_SAMPLE ? "sampled" : "skipped";
	char raised[64] = "", quiet[96] = "";
	if (raised_minimum(off_cpu) > off_cpu->minimum)
		snprintf(raised, sizeof raised, " (raised from %" PRIu64 " us by the budget)",
			 off_cpu->minimum / MICROSECOND);
	if (quiet_stride(off_cpu) > 1)
		snprintf(quiet, sizeof quiet, "; 1 of %" PRIu32 " waits of threads that have only such, for the budget",
			 quiet_stride(off_cpu));
	host->metadata(host, "shortest wait", "%" PRIu64 " us%s, shorter ones are %s%s",
		       raised_minimum(off_cpu) / MICROSECOND, raised, shorter, quiet);
}

/*
 * Adapts the waits that are handled to the run's budget. Shorter waits are sampled, so sums remain correct when it
 * changes.
 */
static void follow_budget(struct off_cpu *off_cpu)
{
	const struct iaprof_host *host = off_cpu->host;
	bool is_raised = off_cpu->short_choice == SHORT_SAMPLE;
	uint64_t longest = !off_cpu->minimum ? 1 : is_raised ? MINIMUM_MAX / off_cpu->minimum : QUIET_STRIDE_MAX;
	uint32_t stride =
		longest > 1 ? host->sample_stride(host, longest < STRIDE_MAX ? (uint32_t)longest : STRIDE_MAX) : 1;
	if (stride == off_cpu->stride)
		return;
	off_cpu->stride = stride;
	__atomic_store_n(&off_cpu->skeleton->data->minimum, raised_minimum(off_cpu), __ATOMIC_RELAXED);
	__atomic_store_n(&off_cpu->skeleton->data->quiet_chance, UINT32_MAX / quiet_stride(off_cpu), __ATOMIC_RELAXED);
	describe_minimum(off_cpu);
}

static int timer_expired(const struct iaprof_host *host, void *instance, uint64_t expirations)
{
	struct off_cpu *off_cpu = instance;
	follow_budget(off_cpu);
	return collector_turn(&off_cpu->collector);
}

/* Attaches a program. Returns 0, or the result of host->fail(). */
static int attach(const struct iaprof_host *host, struct bpf_program *program, struct bpf_link **link,
		  const char *where)
{
	*link = bpf_program__attach(program);
	return *link ? 0 : host->fail(host, errno, "cannot attach to %s: %s", where, strerror(errno));
}

static int programs_attach(struct off_cpu *off_cpu)
{
	const struct iaprof_host *host = off_cpu->host;
	struct off_cpu_bpf *skeleton = off_cpu->skeleton;
	int result = attach(host, skeleton->progs.off_cpu_switch, &skeleton->links.off_cpu_switch, "sched_switch");
	if (result == 0)
		result = attach(host, skeleton->progs.off_cpu_waking, &skeleton->links.off_cpu_waking, "sched_waking");
	return result;
}

/* Reads the threads that are asleep. That not all of them could be read is no reason to end the run. */
static void read_sleepers(struct off_cpu *off_cpu)
{
	const struct iaprof_host *host = off_cpu->host;
	struct sleepers *sleepers = &off_cpu->collector.before;
	off_cpu->skeleton->bss->run_begin = host->clock(host);
	int result = sleepers_read(sleepers, off_cpu->skeleton->progs.off_cpu_sleepers);
	if (result)
		host->log(host, IAPROF_LOG_WARNING, "cannot read the threads that are asleep: %s",
			  result == -ETIMEDOUT ? "the memory of one of them did not answer in time"
					       : strerror(-result));
	if (sleepers->refused)
		host->lost(host, "asleep at the start, not read", host->clock(host), sleepers->refused,
			   off_cpu->collector.waiting, 0);
	if (off_cpu->skeleton->rodata->take_spans)
		read_sleeping_spans(off_cpu);
	if (off_cpu->stacks.use_tables) {
		sleepers_unwind(sleepers, &off_cpu->stacks.unwinder, 0, false);
		sleepers_ask(sleepers, &off_cpu->stacks.unwinder);
	}
}

static int off_cpu_start(const struct iaprof_host *host, void *instance)
{
	struct off_cpu *off_cpu = instance;

	stack_reader_describe_limits(&off_cpu->stacks);
	int result = collector_begin(&off_cpu->collector);
	if (result == 0)
		result = programs_attach(off_cpu);
	if (result)
		return result;
	/* A command has no threads yet; it is held until the run begins. */
	if (host->target(host)->scope != IAPROF_SCOPE_COMMAND)
		read_sleepers(off_cpu);
	follow_budget(off_cpu);
	off_cpu->started = true;
	result = host->on_timer(host, off_cpu->drain_period, timer_expired);
	return result ? host->fail(host, result, "cannot start a timer: %s", strerror(-result)) : 0;
}

static void detach(struct bpf_link **link)
{
	bpf_link__destroy(*link);
	*link = NULL;
}

static int off_cpu_stop(const struct iaprof_host *host, void *instance)
{
	struct off_cpu *off_cpu = instance;

	if (!off_cpu->skeleton)
		return 0;
	off_cpu->end = host->clock(host);
	detach(&off_cpu->skeleton->links.off_cpu_switch);
	detach(&off_cpu->skeleton->links.off_cpu_waking);
	if (!off_cpu->started)
		return 0;
	stack_reader_read(&off_cpu->stacks);
	return collector_finish(&off_cpu->collector);
}

static void describe_stacks(const struct off_cpu *off_cpu)
{
	/* Spans of threads that were asleep when the run began, too. */
	const struct thread_context_counts *asleep = &off_cpu->skeleton->bss->sleeper_spans;
	struct stack_counts sum = off_cpu->collector.reported.stacks;
	sum.spans.spans += asleep->spans;
	sum.spans.none += asleep->none;
	sum.spans.invalid += asleep->invalid;
	sum.spans.unreadable += asleep->unreadable;
	sum.spans.unsupported += asleep->unsupported;
	stack_reader_describe(&off_cpu->stacks, &sum, "user stacks");
}

static int off_cpu_finish(const struct iaprof_host *host, void *instance)
{
	struct off_cpu *off_cpu = instance;
	struct collector *collector = &off_cpu->collector;
	const struct off_cpu_processor *sum = &collector->reported;

	if (!off_cpu->started)
		return 0;
	if (off_cpu->stacks.use_tables)
		sleepers_unwind(&collector->before, &off_cpu->stacks.unwinder, 0, true);
	int result = collector_emit_unfinished(collector, off_cpu->end);
	if (result)
		return result;
	uint64_t switches = sum->switches ? sum->switches : 1;
	host->metadata(host, "kernel-side time per switch", "%" PRIu64 " ns", (uint64_t)(sum->handler_time / switches));
	host->metadata(host, "short waits", "%" PRIu64 " sampled, %" PRIu64 " not recorded",
		       (uint64_t)sum->short_sampled, (uint64_t)sum->short_skipped);
	host->metadata(host, "waits without stacks", "%" PRIu64 " over the CPU share, %" PRIu64 " expected to be short",
		       (uint64_t)sum->stacks_refused, (uint64_t)sum->stacks_skipped);
	if (sum->switches_unseen)
		host->metadata(host, "switches not seen", "%" PRIu64, (uint64_t)sum->switches_unseen);
	host->metadata(host, "waits without a wake-up", "%" PRIu64, (uint64_t)sum->wakeups_unmatched);
	host->metadata(host, "threads off the CPU at the end", "%" PRIu64 ", counted up to the end",
		       collector->asleep_at_end);
	host->metadata(host, "threads asleep throughout the run", "%" PRIu64 ", %s", collector->asleep_throughout,
		       host->target(host)->scope == IAPROF_SCOPE_SYSTEM ? "not counted" : "counted");
	if (sum->stacks.lost)
		host->metadata(host, "stacks lost", "%" PRIu64 " (raise map-size=)", (uint64_t)sum->stacks.lost);
	describe_stacks(off_cpu);
	return 0;
}

static void off_cpu_destroy(const struct iaprof_host *host, void *instance)
{
	struct off_cpu *off_cpu = instance;

	collector_free(&off_cpu->collector);
	stack_reader_free(&off_cpu->stacks);
	off_cpu_bpf__destroy(off_cpu->skeleton);
}

static const char *const unwind_choices[] = { "tables", "fp", NULL };
static const char *const short_choices[] = { "sample", "skip", NULL };

#define OPTION(...) IAPROF_OPTION(struct off_cpu, __VA_ARGS__)

static const struct iaprof_option options[] = {
	OPTION(minimum, DURATION, "min", "1ms", "Record every wait at least this long; 0: all waits",
	       .maximum = MINIMUM_MAX),
	OPTION(short_choice, CHOICE, "short", "sample",
	       "Shorter waits; sample: recorded with a probability in proportion to their length, and counted as the "
	       "shortest wait, so that sums stay right; skip: not recorded",
	       .choices = short_choices),
	OPTION(runnable, BOOL, "runnable", "yes",
	       "Record the time that threads wait for a CPU, as value type runnable"),
	OPTION(waker, BOOL, "waker", "no", "Record the stack of the thread that ends a wait"),
	OPTION(kernel_threads, BOOL, "kernel-threads", "no", "Include threads of the Linux kernel"),
	OPTION(stacks.user, BOOL, "user", "yes", "Record user stacks"),
	OPTION(kernel, BOOL, "kernel", "yes", "Record Linux kernel stacks, from which the reason of a wait is known"),
	OPTION(stacks.unwind, CHOICE, "unwind", "tables",
	       "How user stacks are unwound: tables uses .eh_frame of programs and libraries, and frame pointers where "
	       "there is none; fp uses frame pointers alone",
	       .choices = unwind_choices),
	STACK_READER_PYTHON_OPTION(struct off_cpu, stacks, "user stacks"),
	STACK_READER_SPANS_OPTION(struct off_cpu, stacks),
	OPTION(share, UINT, "share", "5",
	       "Largest share of each CPU that the BPF programs use; beyond it waits have no stacks, and beyond twice "
	       "as much they are dropped and counted; 0: no limit",
	       .maximum = 100, .unit = "%"),
	OPTION(drain_period, DURATION, "drain", "1s", "Longest interval between reads of the BPF maps",
	       .minimum = 10 * MILLISECOND, .maximum = SECOND),
	OPTION(map_size, UINT, "map-size", "0",
	       "Distinct waits that the BPF maps hold between two reads; 0: chosen by the number of CPUs",
	       .maximum = 1u << 20, .unit = "waits"),
};

static const struct iaprof_source_operations operations = {
	.size = sizeof operations,
	.probe = off_cpu_probe,
	.prepare = off_cpu_prepare,
	.start = off_cpu_start,
	.stop = off_cpu_stop,
	.finish = off_cpu_finish,
	.check = off_cpu_check,
};

static const struct iaprof_plugin plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags = IAPROF_PLUGIN_NEEDS_PROCESSES | IAPROF_PLUGIN_TARGETS | IAPROF_PLUGIN_ONLY_BY_NAME |
		 IAPROF_PLUGIN_WAITS,
	.name = "off-cpu",
	.version = PLUGIN_VERSION,
	.description = "Off-CPU profiling: what threads wait for, and for how long",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct off_cpu),
	.source = &operations,
	.destroy = off_cpu_destroy,
};

IAPROF_REGISTER_PLUGIN(plugin)
