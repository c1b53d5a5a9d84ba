/* SPDX-License-Identifier: Apache-2.0 */
/* Ends a run, up to what run_finish.c does, and frees it: see run_state.h. */
#include <malloc.h>

#include "run/run_state.h"
#include "run/stop_signals.h"

void run_stop(struct run *run)
{
	struct error ignored = { 0 };
	if (!run_is_offline(run))
		run_note_end(run);
	if (!run->stopped_at)
		run->stopped_at = clock_monotonic();
	for (size_t i = 0; i < run->setup.sources.count; i++)
		if (run->setup.sources.items[i]->prepared)
			instance_stop(run->setup.sources.items[i], &ignored);
	uint64_t tables = unwind_tables_finish(run);
	if (!run_is_offline(run) && run->collector)
		collector_thread_end_by(run->collector, run_write_by(run, 0) + tables);
	for (size_t i = 0; i < run->setup.sources.count; i++)
		if (run->setup.sources.items[i]->started)
			instance_finish(run->setup.sources.items[i], &ignored);
	for (size_t i = 0; i < run->setup.sources.count; i++)
		instance_report_refused(run->setup.sources.items[i]);
	if (!run->setup.replays && !run->has_ended_feed)
		process_feed_synchronize(run);
	run->cost.end = own_cost_now(run_helper_cost(run));
	/* Done before the sinks write, so that a second Ctrl-C leaves no command running. */
	command_end(&run->command);
}

void run_release(struct run *run)
{
	command_end(&run->command);
	command_close(&run->command);
	stop_signals_uninstall(run->services.loop);
	collector_thread_free(run->collector);
	run_budget_close(run);
	setup_release(&run->setup);
	sideband_free(run->sideband);
	mapped_files_free(&run->mapped_files);
	kept_files_free(&run->kept_files);
	unwind_tables_free(run);
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
