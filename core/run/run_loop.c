/* SPDX-License-Identifier: Apache-2.0 */
/* A run from its first record to the last: see run_state.h. */
#include <inttypes.h>

#include "base/log.h"
#include "process/resident_memory.h"
#include "run/run_state.h"

static void show_status(struct run *run)
{
	struct engine_progress progress = run->functions->progress(run->engine);
	status_line_show(&run->status, clock_monotonic() - run->cost.begin.clock, &progress);
}

/* Intervals for which a run lasts, whatever its memory is. */
#define INTERVALS_MIN 10u

/*
 * A continuous run releases what it no longer needs, but not everything: unwind tables of programs stay in the maps of
 * BPF programs. Above the limit, a new run takes its place.
 */
static void limit_memory(struct run *run)
{
	uint64_t used, limit = run->configuration->memory;
	if (run->is_too_large || clock_monotonic() - run->started_at < INTERVALS_MIN * run->interval)
		return;
	used = resident_memory_of(0);
	if (used <= limit)
		return;
	log_message(IAPROF_LOG_WARNING, "memory: %" PRIu64 " MiB, more than %" PRIu64 " MiB: the run is restarted",
		    used >> 20, limit >> 20);
	run->is_too_large = true;
}

void run_tick(void *context, uint64_t expirations)
{
	struct run *run = context;
	for (size_t i = 0; i < run->setup.sources.count; i++)
		instance_report_refused(run->setup.sources.items[i]);
	if (!run->setup.replays)
		run_synchronize(run);
	if (run->configuration->continuous)
		limit_memory(run);
	run_budget_tick(run);
	if (!run_is_offline(run)) {
		run_update_deliveries(run);
		run_update_liveness(run);
	}
	if (run->status_line && run->engine)
		show_status(run);
}

/* Returns whether an instance has neither failed nor finished. */
static bool any_active(struct instance *const *instances, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		pthread_mutex_lock(&instances[i]->lock);
		bool failed = instances[i]->error.text[0];
		pthread_mutex_unlock(&instances[i]->lock);
		if (!failed && !atomic_load(&instances[i]->finished))
			return true;
	}
	return false;
}

/* Returns whether the processes of --pid have ended, and their descendants. */
static bool targets_have_ended(const struct run *run)
{
	if (!target_processes_have_ended(&run->target_processes) ||
	    (run_follows_children(run) && run->engine && run->functions->running(run->engine)))
		return false;
	log_notice("%s", run->target_processes.items.count == 1 ? "the profiled process has ended"
								: "all profiled processes have ended");
	return true;
}

bool run_until_end(struct run *run, bool (*is_interrupted)(void *context), void *context)
{
	const struct setup *setup = &run->setup;
	while (!run_is_ending(run) && run->command.child.status == -1 && !targets_have_ended(run) &&
	       any_active(setup->sources.items, setup->sources.count) &&
	       (!setup->sinks.count || any_active(setup->sinks.items, setup->sinks.count))) {
		uint64_t now = clock_monotonic();
		if (now >= run->deadline)
			break;
		if (is_interrupted && is_interrupted(context))
			return true;
		loop_turn(run->services.loop, run->deadline == UINT64_MAX ? UINT64_MAX : run->deadline - now);
	}
	return false;
}
