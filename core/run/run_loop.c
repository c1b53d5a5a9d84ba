/* SPDX-License-Identifier: Apache-2.0 */
/* A run from its first record to the last: see run_state.h. */
#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/log.h"
#include "process/resident_memory.h"
#include "run/run_state.h"
#include "run/stop_signals.h"

/* How often the limits on what processes name are renewed in a continuous run. */
#define CONTINUOUS_PERIOD (600 * NANOSECONDS_PER_SECOND)

static void show_status(struct run *run)
{
	struct collector_thread_progress progress = collector_thread_progress(run->collector);
	report_status(&run->status, clock_monotonic() - run->cost.begin.clock, &progress);
}

/* Intervals for which a run lasts, whatever its memory is. */
#define INTERVALS_MIN 10u

/*
 * A continuous run releases what it no longer needs, but not everything: unwind tables of programs stay in the maps of
 * BPF programs. Above the limit, it ends and is started anew in this process.
 */
static void limit_memory(struct run *run, uint64_t now)
{
	uint64_t used, limit = run->configuration->memory;
	if (!run->reload || now - run->started_at < INTERVALS_MIN * run->interval)
		return;
	used = resident_memory_of(0);
	if (used <= limit)
		return;
	log_message(IAPROF_LOG_WARNING, "memory: %" PRIu64 " MiB, more than %" PRIu64 ": the run is started anew",
		    used >> 20, limit >> 20);
	run->reload->is_wanted = run->reload->is_same = true;
	run_end(run);
}

void run_tick(void *context, uint64_t expirations)
{
	struct run *run = context;
	(void)expirations;
	for (size_t i = 0; i < run->setup.sources.count; i++)
		instance_report_refused(run->setup.sources.items[i]);
	if (!run->setup.replays)
		process_feed_synchronize(run);
	uint64_t now = clock_monotonic();
	if (run->configuration->continuous)
		limit_memory(run, now);
	run_budget_tick(run);
	if (run->configuration->continuous && run->sideband && now - run->period_begin >= CONTINUOUS_PERIOD) {
		run->period_begin = now;
		sideband_begin_period(run->sideband);
	}
	if (run->status_line)
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
	    (run_follows_children(run) && run->sideband && sideband_process_count(run->sideband)))
		return false;
	log_notice("%s", run->target_processes.items.count == 1 ? "the profiled process has ended"
								: "all profiled processes have ended");
	return true;
}

/* Returns whether a configuration can be run, as far as that is known without starting it. */
static int validate(const struct configuration *configuration, struct registry *registry, struct error *error)
{
	struct run run = { .configuration = configuration, .command = COMMAND_INIT, .deadline = UINT64_MAX };
	int result = run_make_services(&run, error);
	if (!result)
		result = setup_make(&run.setup, configuration, registry, &run.services, error);
	if (!result)
		result = run_check_target(&run, error);
	setup_release(&run.setup);
	run_release_services(&run);
	return result;
}

/* On SIGHUP: ends the run if there is a new configuration. */
static void reload_configuration(struct run *run)
{
	struct run_reload *reload = run->reload;
	struct error error = { 0 };
	reload->next = (struct configuration){ 0 };
	int result = reload->read(reload->context, &reload->next, &error);
	if (!result && (reload->next.action != ACTION_RUN || !reload->next.continuous))
		result = error_set(&error, EINVAL, "continuous is not set");
	if (!result)
		result = validate(&reload->next, run->setup.registry, &error);
	if (!result) {
		reload->is_wanted = true;
		run_end(run);
		return;
	}
	configuration_free(&reload->next);
	log_message(IAPROF_LOG_ERROR, "SIGHUP: %s (the run continues with the earlier configuration)", error.text);
}

void run_until_end(struct run *run)
{
	const struct setup *setup = &run->setup;
	while (!run_is_ending(run) && !run->command.ended && !targets_have_ended(run) &&
	       any_active(setup->sources.items, setup->sources.count) &&
	       (!setup->sinks.count || any_active(setup->sinks.items, setup->sinks.count))) {
		uint64_t now = clock_monotonic();
		if (now >= run->deadline)
			break;
		if (run->reload && stop_signals_take_reload()) {
			reload_configuration(run);
			continue;
		}
		loop_turn(run->services.loop, run->deadline == UINT64_MAX ? UINT64_MAX : run->deadline - now);
	}
}
