/* SPDX-License-Identifier: Apache-2.0 */
/* Ends a run: writes the profile, prints tables and the summary. See run_state.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "plugin/plugin_call.h"
#include "run/output/output.h"
#include "run/isolation/isolation.h"
#include "run/run.h"
#include "run/run_state.h"
#include "run/output/screen.h"
#include "text/plural.h"

void run_note_end(struct run *run)
{
	uint_least64_t never = 0;
	atomic_compare_exchange_strong(&run->end_time, &never, clock_monotonic());
}

uint64_t run_write_by(void *context, uint64_t since)
{
	struct run *run = context;
	bool is_ending = run_is_ending(run);
	if (is_ending)
		run_note_end(run);
	uint64_t end = atomic_load(&run->end_time);
	if (!end)
		return UINT64_MAX;
	/* An interrupted run stops writing; otherwise a slow reader receives everything. */
	return (since > end && !is_ending ? since : end) + run->configuration->finish_within;
}

void run_show(struct run *run, const struct error *error)
{
	run->failed = true;
	log_message(IAPROF_LOG_ERROR, "%s", error->text);
}

static void show_failures(struct run *run, struct instance *const *instances, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (instances[i]->error_is_shown)
			run->failed = true;
		else if (instances[i]->error.text[0])
			run_show(run, &instances[i]->error);
}

static void show_command(const struct run *run)
{
	char text[CHILD_CAUSE_SIZE];
	if (command_has_failed(&run->command, text))
		log_message(IAPROF_LOG_WARNING, "%s %s", run->command.name, text);
}

/* Names the files that are complete. */
static void show_outputs(const struct run *run)
{
	for (size_t i = 0; i < run->setup.sinks.count; i++) {
		const struct output_target *output = &run->setup.sinks.items[i]->output;
		uint64_t others = output->written_count - 1;
		if (output->written_count == 1)
			log_notice("wrote %s", output->written);
		else if (output->written_count)
			log_notice("wrote %s and %" PRIu64 " file%s before it", output->written, others,
				   plural(others));
	}
}

static void show_calls(struct run *run)
{
	if (log_level() < IAPROF_LOG_WARNING)
		return;
	struct text text = run_report(run, "calls", run->result.engine.profile);
	log_text(text.data, text.size);
	text_free(&text);
}

static void show_table(struct run *run)
{
	const struct collector_thread_result *result = &run->result;
	if (!run->setup.has_table || !result->engine.profile)
		return;
	struct text text =
		run_report(run, "functions", run->before ? result->engine.difference : result->engine.profile);
	fputs(text_string(&text), stdout);
	fprintf(stdout, "\n");
	text_free(&text);
}

struct own_cost own_cost_now(uint64_t helpers)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return (struct own_cost){
		.cpu = ((uint64_t)usage.ru_utime.tv_sec + (uint64_t)usage.ru_stime.tv_sec) * NANOSECONDS_PER_SECOND +
		       ((uint64_t)usage.ru_utime.tv_usec + (uint64_t)usage.ru_stime.tv_usec) * 1000 + helpers,
		.clock = clock_monotonic(),
	};
}

uint64_t run_helper_cost(const struct run *run)
{
	uint64_t plugins = 0;
	for (size_t i = 0; i < run->setup.sources.count; i++)
		plugins += isolation_cost(run->setup.sources.items[i]->isolation);
	for (size_t i = 0; i < run->setup.sinks.count; i++)
		plugins += isolation_cost(run->setup.sinks.items[i]->isolation);
	return plugins + (run->engine ? run->functions->progress(run->engine).helper_cost : 0);
}

void run_finish(struct run *run)
{
	const struct configuration *configuration = run->configuration;
	const struct collector_thread_result *result = &run->result;
	if (run->status_line)
		log_status_line(NULL);
	collector_thread_finish(run->collector, &run->result);
	run->cost.total = own_cost_now(run_helper_cost(run)).cpu - run->cost.earlier;
	show_failures(run, run->setup.sources.items, run->setup.sources.count);
	show_failures(run, run->setup.sinks.items, run->setup.sinks.count);
	run->failed |= result->profile_missing || result->sink_stuck || result->engine.has_failed;
	show_table(run);
	/* The difference includes calls. */
	if (configuration->before_path)
		log_notice("%s %s:", run->setup.is_before ? "before," : "after,",
			   run->setup.is_before ? configuration->before_path : configuration->after_path);
	else
		show_calls(run);
	show_command(run);
	run_summary_print(run);
	run_report_messages(run, "text", result->engine.difference);
	if (!configuration->continuous)
		show_outputs(run);
	run_hint_print(run);
}

/*
 * A thread that is stuck in a plugin's callback can be neither ended nor joined, and may continue at any time: nothing
 * that it can reach is freed, and exit() is not called, since it would run the plugin's destructors concurrently.
 * The sources and the other sinks are freed, because some of them remove files.
 */
static void release_others(struct run *run)
{
	command_close(&run->command);
	for (size_t i = 0; i < run->setup.sources.count; i++)
		instance_free(run->setup.sources.items[i]);
	for (size_t i = 0; i < run->setup.sinks.count; i++)
		if (!run->setup.sinks.items[i]->is_stuck)
			instance_free(run->setup.sinks.items[i]);
}

_Noreturn void run_exit_stuck(struct run *run)
{
	if (run)
		release_others(run);
	/* The callback may hold the lock. */
	if (!ftrylockfile(stdout))
		fflush_unlocked(stdout);
	output_remove_temporary_files();
	screen_restore_at_once();
	_exit(plugin_call_failure_status());
}
