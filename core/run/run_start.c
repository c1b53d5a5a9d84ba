/* SPDX-License-Identifier: Apache-2.0 */
/* Begins a run: see run_state.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/utsname.h>

#include "base/boot_id.h"
#include "base/log.h"
#include "base/priority.h"
#include "base/saturating.h"
#include "run/capabilities.h"
#include "run/run_state.h"
#include "run/run_target.h"

/* Interval at which process events are read and the status line is updated. */
#define TICK NANOSECONDS_PER_SECOND

static int prepare_sinks(struct run *run, struct error *error)
{
	int result = 0;
	for (size_t i = 0; !result && i < run->setup.sinks.count; i++) {
		struct instance *sink = run->setup.sinks.items[i];
		result = run_result_of(run, sink, instance_prepare(sink, error));
		run_budget_note_programs(run, sink);
	}
	return result;
}

static int prepare_sources(struct run *run, struct error *error)
{
	int result = 0;
	for (size_t i = 0; !result && i < run->setup.sources.count; i++) {
		struct instance *source = run->setup.sources.items[i];
		result = run_source_result(run, source, instance_prepare(source, error), error);
		run_budget_note_programs(run, source);
	}
	return result;
}

/* Before prepare(), which may report losses. */
static void send_source_names(struct run *run)
{
	for (size_t i = 0; !run->setup.replays && i < run->setup.sources.count; i++) {
		const struct instance *source = run->setup.sources.items[i];
		struct iaprof_record_source record = { .number = source->number,
						       .name = intern_text_id(run->services.intern, source->name) };
		run_send(run, &record.header, IAPROF_RECORD_SOURCE, sizeof record);
	}
}

int run_prepare(struct run *run, struct error *error)
{
	int result = 0;
	run->services.target.time_resolution = run_source_resolution(run);
	if (run->configuration->command) {
		result = command_hold(&run->command, run->configuration->command, error);
		run->services.target.command_pid = (uint32_t)run->command.child.pid;
	}
	if (!result && run->engine && run_needs_processes(run))
		result = run->functions->open(run->engine, error);
	if (!result)
		result = prepare_sinks(run, error);
	send_source_names(run);
	run_budget_open(run);
	if (!result)
		result = prepare_sources(run, error);
	if (!result)
		capabilities_reduce();
	return result;
}

/* Sends what is profiled: see run_target.h. */
static void send_target(struct run *run)
{
	struct text text = { 0 };
	run_target_append_command(&text, run->configuration);
	if (text.size)
		run_send_metadata(run, "command", text_string(&text));
	text_free(&text);
	run_target_append(&text, run->configuration);
	run_send_metadata(run, "target", text_string(&text));
	text_free(&text);
}

/* The first message: a command that is not profiled itself, such as sleep, is not mistaken for one that is. */
static void show_target(const struct run *run)
{
	struct text text = { 0 };
	if (run_is_offline(run) || !run->configuration->command)
		return;
	run_target_append_command(&text, run->configuration);
	if (text.size)
		text_append_string(&text, " and its descendants");
	else
		run_target_append(&text, run->configuration);
	log_notice("profiling %s", text_string(&text));
	text_free(&text);
}

static void send_head(struct run *run)
{
	/* Recorded data has neither this machine's name nor its time. */
	if (run_is_offline(run))
		return;
	char offset[32];
	snprintf(offset, sizeof offset, "%lu", clock_read(CLOCK_REALTIME) - clock_monotonic());
	run_send_metadata(run, METADATA_REALTIME_OFFSET, offset);
	char boot_id[BOOT_ID_SIZE];
	boot_id_read(boot_id);
	run_send_metadata(run, METADATA_BOOT_ID, boot_id);
	struct utsname system;
	if (!uname(&system)) {
		run_send_metadata(run, "kernel release", system.release);
		run_send_metadata(run, "machine", system.machine);
	}
	send_target(run);
}

static void command_ready(void *context, uint32_t events)
{
	struct run *run = context;
	if (child_wait(&run->command.child, 0))
		loop_pause(run->command_watch);
}

static int watch(struct run *run, struct error *error)
{
	struct loop *loop = run->services.loop;
	uint64_t period = run->interval && run->interval < TICK ? run->interval : TICK;
	loop_begin_periods(loop);
	int result = loop_watch_timer(loop, period, run_tick, run, NULL);
	if (!result && run->configuration->command)
		result = loop_watch_descriptor(loop, run->command.child.descriptor, EPOLLIN, command_ready, run,
					       &run->command_watch);
	if (!result && !run_is_offline(run) && !run->configuration->command)
		result = target_processes_watch(&run->target_processes, loop);
	return result ? error_set(error, result, "event loop: %s", strerror(-result)) : 0;
}

int run_start_sinks(struct run *run, struct error *error)
{
	int result = 0;
	for (size_t i = 0; !result && i < run->setup.sinks.count; i++) {
		struct instance *sink = run->setup.sinks.items[i];
		result = run_result_of(run, sink, instance_start(sink, error));
	}
	return result;
}

int run_begin(struct run *run, bool holds_sinks, struct error *error)
{
	const struct configuration *configuration = run->configuration;
	run->collector = collector_thread_start(
		&(struct collector_thread_options){
			.bus = run->services.bus,
			.functions = run->functions,
			.engine = run->engine,
			.wanted = { .requests = run_requests(run),
				    .time_resolution = run_time_resolution(run),
				    .interval = run->interval,
				    .continuous = configuration->continuous,
				    .replays = run->setup.replays,
				    .hold = configuration->hold,
				    .debuginfod = configuration->debuginfod,
				    .rules = run->setup.rules,
				    .decoders = decoders_finder(&run->setup.decoders),
				    .before = run->before ? run->before->result.engine.profile : NULL,
				    .normalization = (uint32_t)configuration->normalization },
			.sinks = run->setup.sinks.items,
			.sink_count = run->setup.sinks.count,
			.interval_for_all = configuration->interval > 0 || configuration->continuous,
			.finish_within = run->services.target.finish_within,
			.holds_sinks = holds_sinks,
			.lossless = run_is_offline(run) },
		error);
	if (!run->collector)
		return error->code;
	int result = watch(run, error);
	if (!run->setup.replays)
		send_head(run);
	/* The threads of the collector and of sinks, which began before, do not inherit it. */
	if (!run_is_offline(run))
		priority_raise_thread();
	if (!result && run->engine)
		result = run->functions->start(run->engine, error);
	run->cost.begin = own_cost_now(run_helper_cost(run));
	return result;
}

void run_has_begun(struct run *run)
{
	uint64_t duration = run->configuration->duration;
	run->started_at = clock_monotonic();
	run->deadline = duration ? saturating_add(run->started_at, duration) : UINT64_MAX;
	injectors_begin(&run->injectors);
}

/* Sources start before the scan of /proc, so that no sample is missed meanwhile. */
int run_start(struct run *run, struct error *error)
{
	/* The sinks' threads start with the collector's, and call these members only afterwards. */
	int result = run_start_sinks(run, error);
	if (!result)
		result = run_begin(run, false, error);
	for (size_t i = 0; !result && i < run->setup.sources.count; i++) {
		struct instance *source = run->setup.sources.items[i];
		if (!source->is_missing)
			result = run_source_result(run, source, instance_start(source, error), error);
	}
	if (!result && run->engine)
		result = run->functions->scan(run->engine, error);
	if (!result && !run->setup.replays)
		run_synchronize(run);
	if (!result)
		show_target(run);
	if (!result && run->configuration->command)
		result = command_release(&run->command, error);
	run_has_begun(run);
	return result;
}
