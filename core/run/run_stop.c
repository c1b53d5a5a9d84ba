/* SPDX-License-Identifier: Apache-2.0 */
/* Ends a run, up to what run_finish.c does, and frees it: see run_state.h. */
#include <malloc.h>

#include "base/cleanup.h"
#include "run/isolation/isolation.h"
#include "run/run_state.h"
#include "run/stop_signals.h"

/* Time between two reads of process events while a source is waited for, ns. */
#define ATTEND_PERIOD (NANOSECONDS_PER_SECOND / 100)

void run_attend(void *context, const struct instance *waited_for)
{
	struct run *run = context;
	if (run->engine && clock_monotonic() - run->attended_at >= ATTEND_PERIOD) {
		run->functions->drain(run->engine);
		run->attended_at = clock_monotonic();
	}
	for (size_t i = 0; i < run->setup.sources.count; i++) {
		struct instance *source = run->setup.sources.items[i];
		if (source != waited_for && source->isolation && source->started)
			isolation_attend(source->isolation);
	}
}

/*
 * Calls instance_stop() or instance_finish() of sources: first of those in this process, so that they do not wait for
 * an isolated one that hangs, then of all others at once.
 */
static void call_sources(const struct run *run, bool (*is_due)(const struct instance *source),
			 void (*begin)(struct instance *source), int (*call)(struct instance *, struct error *))
{
	struct error ignored = { 0 };
	struct instance *const *sources = run->setup.sources.items;
	size_t count = run->setup.sources.count;
	for (size_t i = 0; i < count; i++)
		if (is_due(sources[i]) && !sources[i]->isolation)
			call(sources[i], &ignored);
	for (size_t i = 0; i < count; i++)
		if (is_due(sources[i]))
			begin(sources[i]);
	for (size_t i = 0; i < count; i++)
		if (is_due(sources[i]) && sources[i]->isolation)
			call(sources[i], &ignored);
}

static bool is_prepared(const struct instance *source)
{
	return source->prepared;
}

static bool is_started(const struct instance *source)
{
	return source->started;
}

void run_stop_sources(struct run *run)
{
	call_sources(run, is_prepared, instance_begin_stop, instance_stop);
	injectors_end(&run->injectors);
}

void run_stop(struct run *run)
{
	if (!run_is_offline(run))
		run_note_end(run);
	if (!run->stopped_at)
		run->stopped_at = clock_monotonic();
	run_stop_sources(run);
	if (run->engine)
		run->functions->stop(run->engine, run->configuration->finish_within,
				     run_is_offline(run) ? UINT64_MAX : run_write_by(run, 0));
	call_sources(run, is_started, instance_begin_finish, instance_finish);
	for (size_t i = 0; i < run->setup.sources.count; i++)
		instance_report_refused(run->setup.sources.items[i]);
	if (!run->setup.replays && !run->has_last_sync)
		run_synchronize(run);
	run->cost.end = own_cost_now(run_helper_cost(run));
	/* Done before the sinks write, so that a second Ctrl-C leaves no command running. */
	command_end(&run->command);
}

void run_release(struct run *run)
{
	injectors_end(&run->injectors);
	command_end(&run->command);
	command_close(&run->command);
	stop_signals_uninstall(run->services.loop);
	collector_thread_free(run->collector);
	if (run->engine)
		run->functions->free(STEAL_POINTER(run->engine));
	run_budget_close(run);
	setup_release(&run->setup);
	run_release_services(run);
	malloc_trim(0);
}

void run_discard(struct run *run)
{
	if (run->is_configured)
		run_stop(run);
	if (run->collector)
		collector_thread_abandon(run->collector);
	run_release(run);
}
