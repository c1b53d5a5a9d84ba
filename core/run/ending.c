/* SPDX-License-Identifier: Apache-2.0 */
/* What a run says when it is over: see run_state.h. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/log.h"
#include "run/call_report.h"
#include "run/difference_table.h"
#include "run/output.h"
#include "run/run.h"
#include "run/run_state.h"
#include "run/screen.h"
#include "run/top_table.h"

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
	/* Who interrupts the run waits no longer; otherwise a reader that is only slow gets everything. */
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
		if (instances[i]->error.text[0])
			run_show(run, &instances[i]->error);
}

static void show_command(const struct run *run)
{
	char text[256];
	command_describe(&run->command, text, sizeof text);
	if (text[0])
		log_message(IAPROF_LOG_WARNING, "%s", text);
}

static int terminal_width(void)
{
	struct winsize size;
	return !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : 80;
}

static void show_calls(const struct collecting_result *result)
{
	const struct iaprof_profile *profile = result->profile;
	if (!result->calls || log_level() < IAPROF_LOG_WARNING)
		return;
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);
	if (!file)
		return;
	call_report_print(result->calls, profile ? profile->end - profile->begin : 0, file);
	call_report_histograms(result->histograms, file);
	fclose(file);
	log_text(text, size);
	free(text);
}

static void show_table(const struct run *run)
{
	const struct collecting_result *result = &run->result;
	if (!run->setup.has_table || !result->profile)
		return;
	if (result->difference)
		difference_table_print(result->difference, terminal_width(), stdout);
	else if (!run->before)
		top_table_print(result->profile, terminal_width(), stdout);
	fprintf(stdout, "\n");
}

void run_finish(struct run *run)
{
	const struct configuration *configuration = run->configuration;
	const struct collecting_result *result = &run->result;
	if (run->status_line)
		log_status_line(NULL);
	collecting_finish(run->collecting, &run->result);
	show_failures(run, run->setup.sources.items, run->setup.sources.count);
	show_failures(run, run->setup.sinks.items, run->setup.sinks.count);
	run->failed |= result->profile_missing || result->sink_stuck;
	show_table(run);
	/* What was called is part of the difference; tables of each side would hide it. */
	if (configuration->before_path)
		log_notice("%s %s:", run->setup.is_before ? "before," : "after,",
			   run->setup.is_before ? configuration->before_path : configuration->after_path);
	else
		show_calls(result);
	show_command(run);
	report_summary(result, run->begin, run->end, run->setup.replays);
	if (result->difference)
		difference_report(result->difference);
	if (run->setup.tells_output && !result->sink_failed)
		log_notice("wrote %s", run->setup.sinks.items[0]->output.path);
}

/*
 * A thread in a plugin's callback can be neither ended nor waited for, and it may go on at any time with what belongs
 * to the run: nothing that it can reach is freed, and exit(), which would run the plugin's destructors beside it, is
 * not called. The sources and the other sinks are freed: some remove files.
 */
_Noreturn void run_leave(struct run *run)
{
	command_close(&run->command);
	for (size_t i = 0; i < run->setup.sources.count; i++)
		instance_free(run->setup.sources.items[i]);
	for (size_t i = 0; i < run->setup.sinks.count; i++)
		if (!run->setup.sinks.items[i]->is_stuck)
			instance_free(run->setup.sinks.items[i]);
	/* The callback may hold the lock. */
	if (!ftrylockfile(stdout))
		fflush_unlocked(stdout);
	output_remove_temporary_files();
	screen_restore_at_once();
	_exit(EXIT_STATUS_FAILED);
}
