/* SPDX-License-Identifier: Apache-2.0 */
/* Holds the budget of a continuous run: measures what an interval cost, and has sources sample less. See run_state.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "run/bpf_cost.h"
#include "run/isolation/isolation.h"
#include "run/run_state.h"

/* How long BPF programs are measured: see bpf_cost.h. */
#define BPF_TIME NANOSECONDS_PER_SECOND
/*
 * Minimum time between measurements at the same rate: each takes several ms, too much for short intervals. Less than
 * the default interval by more than its jitter; while something is given up, the end of a load must show soon.
 */
#define BPF_PERIOD (45 * NANOSECONDS_PER_SECOND)
#define BPF_PERIOD_SAVING (4 * NANOSECONDS_PER_SECOND)

/* Counters of the core itself: its records have no source. */
enum { COUNTER_BUDGET = 1, COUNTER_USED, COUNTER_RATE };

static void declare_counter(struct run *run, uint32_t id, const char *name)
{
	struct iaprof_record_counter record = { .id = id,
						.name = intern_text_id(run->services.intern, name),
						.unit = intern_text_id(run->services.intern, "ratio"),
						.kind = IAPROF_COUNTER_GAUGE };
	run_send(run, &record.header, IAPROF_RECORD_COUNTER, sizeof record);
}

static void set_counter(struct run *run, uint32_t id, double value)
{
	struct iaprof_record_counter_value record = { .counter = id, .value = value };
	run_send(run, &record.header, IAPROF_RECORD_COUNTER_VALUE, sizeof record);
}

static void begin_interval(struct run *run)
{
	struct run_budget *budget = &run->budget;
	budget->cpu = own_cost_now(run_helper_cost(run)).cpu;
	budget->clock = clock_monotonic();
	budget->engine = run->functions->progress(run->engine);
}

/* Costs of helper processes are read now and then: one may appear to be lower than before. */
static double share(uint64_t now, uint64_t before, double time)
{
	return now > before ? (double)(now - before) / time : 0;
}

/*
 * Returns the cost of the interval that began before, without BPF programs. All that is not known to be of something
 * else is taken for that of samples, which threads of sources and of sinks have, too.
 */
static struct cpu_budget_cost cost_since(const struct run_budget *now, const struct run_budget *before)
{
	double time = (double)sysconf(_SC_NPROCESSORS_ONLN) * (double)(now->clock - before->clock);
	double all = share(now->cpu, before->cpu, time);
	double events = share(now->engine.events_cost, before->engine.events_cost, time);
	double tables = share(now->engine.tables_cost, before->engine.tables_cost, time);
	double samples = all > events + tables ? all - events - tables : 0;
	return (struct cpu_budget_cost){ .all = all, .samples = samples, .events = events, .tables = tables };
}

/* Returns the CPU time of a source so far, ns. */
static uint64_t cpu_of(const struct instance *source)
{
	return source->isolation ? isolation_cost(source->isolation) : source->callback_cost;
}

/* time: of all CPUs in the interval, ns; 0: it has no costs. */
static void measure_sources(struct run *run, double time)
{
	struct run_budget *budget = &run->budget;
	const struct cpu_budget *control = &budget->control;
	const struct source_cost unknown = { .dependent = -1 };
	double processors = (double)sysconf(_SC_NPROCESSORS_ONLN);
	while (budget->sources.count < run->setup.sources.count && array_push(&budget->sources, unknown))
		;
	for (size_t i = 0; i < budget->sources.count; i++) {
		struct source_cost *cost = &budget->sources.items[i];
		const struct instance *source = run->setup.sources.items[i];
		uint64_t cpu = cpu_of(source);
		double bpf = bpf_cost_of(&budget->bpf, source->number) / processors;
		cost->share = time > 0 ? share(cpu, cost->cpu, time) + bpf : 0;
		cost->cpu = cpu;
		if (control->tried)
			cost->dependent =
				cpu_budget_dependent(cost->before, cost->share, control->tried, control->stride);
		else
			cost->before = cost->share;
	}
}

/* Begins to measure BPF programs, unless their cost at this rate was measured recently. */
static void measure_programs(struct run *run)
{
	struct run_budget *budget = &run->budget;
	const struct cpu_budget *control = &budget->control;
	bool is_known = budget->bpf.begin && budget->bpf_stride == control->stride;
	bool saves = control->stride > 1 || control->saves_events || control->saves_tables;
	if (is_known && clock_monotonic() - budget->bpf.begin < (saves ? BPF_PERIOD_SAVING : BPF_PERIOD))
		return;
	budget->bpf_stride = control->stride;
	if (budget->bpf.descriptor) /* a measurement has begun and not ended */
		return;
	int result = bpf_cost_begin(&budget->bpf);
	for (size_t i = 0; !result && i < run->setup.sources.count; i++) {
		const struct instance *source = run->setup.sources.items[i];
		pid_t process = isolation_process(source->isolation);
		if (process)
			bpf_cost_add(&budget->bpf, process, source->number);
	}
	if (result && !budget->has_begun)
		log_message(IAPROF_LOG_INFO, "budget: the CPU time of BPF programs is not included: %s",
			    strerror(-result));
}

/* Returns the longest stride that a source accepts; 1 if none can sample less. */
static uint32_t longest_stride(const struct run *run)
{
	uint32_t longest = 1;
	for (size_t i = 0; i < run->setup.sources.count; i++)
		if (run->setup.sources.items[i]->longest_stride > longest)
			longest = run->setup.sources.items[i]->longest_stride;
	return longest;
}

/* Describes what is given up, for a message. */
static void describe_saving(const struct cpu_budget *control, char *text, size_t size)
{
	size_t length = control->stride == 1
				? (size_t)snprintf(text, size, "all samples")
				: (size_t)snprintf(text, size, "1 of %" PRIu32 " samples", control->stride);
	if (control->saves_events && length < size)
		length += (size_t)snprintf(text + length, size - length,
					   ", processes read from /proc when they are sampled");
	if (control->saves_tables && length < size)
		snprintf(text + length, size - length, ", no new unwind tables");
}

/* Appends what costs how much. */
static void append_costs(struct text *text, const struct run *run, const struct cpu_budget_cost *cost)
{
	double other = cost->samples;
	for (size_t i = 0; i < run->budget.sources.count; i++) {
		const struct source_cost *source = &run->budget.sources.items[i];
		other -= source->share;
		text_append_format(text, "%s %.2g %%, ", run->setup.sources.items[i]->name, 100 * source->share);
		if (source->dependent >= 0)
			text_append_format(text, "of which %.0f %% depended on the rate, ", 100 * source->dependent);
	}
	text_append_format(text, "process events %.2g %%, unwind tables %.2g %%, other %.2g %%", 100 * cost->events,
			   100 * cost->tables, 100 * (other > 0 ? other : 0));
}

/* Returns the position of the source that costs most; -1: none. */
static int costliest(const struct run *run)
{
	int most = -1;
	for (size_t i = 0; i < run->budget.sources.count; i++)
		if (most < 0 || run->budget.sources.items[i].share > run->budget.sources.items[most].share)
			most = (int)i;
	return most;
}

/* Two digits, so that a run without end interns few different texts. */
static void describe(struct run *run, double bpf)
{
	const struct cpu_budget *control = &run->budget.control;
	char text[256];
	if (control->share > 0)
		snprintf(text, sizeof text, "%.3g %% of the CPU time of all CPUs", 100 * control->share);
	run_send_metadata(run, "CPU budget", control->share > 0 ? text : "none");
	snprintf(text, sizeof text,
		 "%.2g %% of the CPU time of all CPUs in the interval before (BPF programs %.1g %%)%s",
		 100 * control->used, 100 * bpf,
		 control->is_exceeded ? ", above the budget: to give up more would save little" : "");
	run_send_metadata(run, "CPU use of iaprof", text);
	describe_saving(control, text, sizeof text);
	int most = costliest(run);
	size_t length = strlen(text);
	if (control->stride > 1 || control->saves_events || control->saves_tables)
		length += (size_t)snprintf(text + length, sizeof text - length, ", to hold the CPU budget");
	if (control->stride > 1 && most >= 0)
		length += (size_t)snprintf(text + length, sizeof text - length, ", of which source %.40s uses most",
					   run->setup.sources.items[most]->name);
	if (control->stride > 1 && most >= 0 && run->budget.sources.items[most].dependent >= 0)
		snprintf(text + length, sizeof text - length, " (%.1g %% of it depends on the rate)",
			 100 * run->budget.sources.items[most].dependent);
	run_send_metadata(run, "sampling", text);
}

static void report(struct run *run, enum cpu_budget_change change, const struct cpu_budget_cost *cost)
{
	struct run_budget *budget = &run->budget;
	const struct cpu_budget *control = &budget->control;
	char saving[160];
	struct text costs = { 0 };
	describe_saving(control, saving, sizeof saving);
	append_costs(&costs, run, cost);
	if (change != CPU_BUDGET_KEPT)
		log_message(IAPROF_LOG_INFO,
			    "budget: used %.2g %% of the CPU time of all CPUs (%s), %.3g %% allowed: %s",
			    100 * cost->all, text_string(&costs), 100 * control->share, saving);
	if (control->is_exceeded && !budget->is_reported)
		log_message(IAPROF_LOG_WARNING,
			    "budget: used %.2g %% of the CPU time of all CPUs (%s), %.3g %% allowed, and a lower rate "
			    "would save little: set a larger budget or fewer sources (now %s)",
			    100 * cost->all, text_string(&costs), 100 * control->share, saving);
	budget->is_reported |= control->is_exceeded;
	text_free(&costs);
}

/* Has the engine do less, as far as the budget requires. */
static void limit_engine(struct run *run)
{
	const struct cpu_budget *control = &run->budget.control;
	if (run->engine)
		run->functions->save(run->engine, &(struct engine_saving){ .stride = control->stride,
									   .saves_tables = control->saves_tables,
									   .saves_events = control->saves_events });
}

void run_budget_open(struct run *run)
{
	struct cpu_budget *control = &run->budget.control;
	const struct cpu_budget *before = &run->budget_before;
	cpu_budget_init(control, run->configuration->budget);
	if (before->stride && before->share == control->share) {
		*control = *before;
		/* The previous run's tables no longer exist. */
		control->saves_tables = control->saves_events = false;
	}
	limit_engine(run);
	/* Those of an earlier run. */
	if (run->configuration->continuous)
		bpf_cost_claim(&run->budget.bpf, 0);
}

void run_budget_note_programs(struct run *run, const struct instance *source)
{
	if (run->configuration->continuous)
		bpf_cost_claim(&run->budget.bpf, source->number);
}

void run_budget_begin_anew(struct run *run)
{
	run->budget.is_disturbed = true;
}

void run_budget_close(struct run *run)
{
	bpf_cost_free(&run->budget.bpf);
	array_free(&run->budget.sources);
}

uint32_t run_budget_stride(void *context)
{
	const struct run *run = context;
	return run->budget.control.stride ? run->budget.control.stride : 1;
}

/* The first interval includes the start, and is not representative of the others. */
static void begin(struct run *run)
{
	declare_counter(run, COUNTER_BUDGET, "cpu-budget");
	declare_counter(run, COUNTER_USED, "cpu-use");
	declare_counter(run, COUNTER_RATE, "sampling-rate");
	set_counter(run, COUNTER_BUDGET, run->budget.control.share);
	set_counter(run, COUNTER_RATE, 1.0 / run->budget.control.stride);
	begin_interval(run);
	measure_sources(run, 0);
	measure_programs(run);
	run->budget.has_begun = true;
}

void run_budget_tick(struct run *run)
{
	struct run_budget *budget = &run->budget;
	bool has_intervals = run->configuration->continuous && run->engine;
	uint32_t interval = has_intervals ? run->functions->progress(run->engine).intervals : 0;
	bpf_cost_end(&budget->bpf, interval == budget->interval ? BPF_TIME : 0);
	if (interval == budget->interval)
		return;
	budget->interval = interval;
	if (!budget->has_begun)
		return begin(run);
	if (budget->is_disturbed) {
		budget->is_disturbed = false;
		begin_interval(run);
		measure_sources(run, 0);
		return measure_programs(run);
	}
	struct run_budget before = *budget;
	begin_interval(run);
	double processors = (double)sysconf(_SC_NPROCESSORS_ONLN);
	double bpf = bpf_cost_all(&budget->bpf) / processors;
	struct cpu_budget_cost cost = cost_since(budget, &before);
	measure_sources(run, processors * (double)(budget->clock - before.clock));
	cost.all += bpf;
	cost.samples += bpf;
	budget->control.needs_events = run->functions->needs_events(run->engine);
	report(run, cpu_budget_step(&budget->control, &cost, longest_stride(run)), &cost);
	measure_programs(run);
	limit_engine(run);
	set_counter(run, COUNTER_USED, cost.all);
	set_counter(run, COUNTER_RATE, 1.0 / budget->control.stride);
	describe(run, bpf);
}
