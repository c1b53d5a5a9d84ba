/* SPDX-License-Identifier: Apache-2.0 */
/* A run, from configuration to exit status: see run.h. */
#include "run/run.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "run/run_state.h"
#include "run/stop_signals.h"

/* Runs the sources from the first record to the last and reports the result. */
static int collect(struct run *run, struct error *error)
{
	/* Only complete runs can be compared. */
	bool must_be_complete = run->configuration->before_path != NULL;
	stop_signals_install(run->services.loop, run->configuration->continuous);
	run->status_line = isatty(STDERR_FILENO) && log_level() >= IAPROF_LOG_WARNING;
	int result = run_prepare(run, error);
	if (!result)
		result = run_start(run, error);
	if (!result)
		run_until_end(run);
	run_stop(run);
	if (!result && must_be_complete && stop_signal_received())
		result = error_set(error, ECANCELED,
				   "--diff: interrupted before both files were read (no output written)");
	if (!result)
		run_finish(run);
	else if (run->collector)
		collector_thread_abandon(run->collector);
	return result;
}

/* Replays the baseline of --diff. */
static enum exit_status run_before(struct run *before, const struct run *after, struct registry *registry,
				   struct error *error)
{
	before->setup.is_before = true;
	enum exit_status status = run_configure(before, registry, error);
	for (size_t i = 0; i < after->setup.sinks.count; i++)
		before->requests |= after->setup.sinks.items[i]->requests;
	before->time_resolution = run_time_resolution(after);
	if (status == EXIT_STATUS_COMPLETE && (collect(before, error) || !before->result.profile))
		status = EXIT_STATUS_FAILED;
	return status;
}

/* One descriptor per CPU, map and probe soon exceeds the usual soft limit of 1024. The command keeps its own limit. */
static void raise_open_files(struct command *command)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	command->open_files = limit;
	command->has_open_files = true;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		log_message(IAPROF_LOG_DEBUG, "cannot raise the limit of open files: %s", strerror(errno));
}

enum exit_status run(const struct configuration *configuration, struct registry *registry, struct run_reload *reload)
{
	struct run run = { .configuration = configuration, .command = COMMAND_INIT, .deadline = UINT64_MAX };
	raise_open_files(&run.command);
	struct run before = run;
	run.reload = reload;
	kept_files_init(&run.kept_files);
	run.mapped_files.kept = &run.kept_files;
	struct error error = { 0 };
	enum exit_status status = run_configure(&run, registry, &error);
	if (status == EXIT_STATUS_COMPLETE && configuration->before_path) {
		status = run_before(&before, &run, registry, &error);
		run.before = &before;
		run.failed = before.failed;
	}
	if (status == EXIT_STATUS_COMPLETE) {
		int result = collect(&run, &error);
		status = run.failed || result ? EXIT_STATUS_FAILED : EXIT_STATUS_COMPLETE;
	}
	if (error.text[0])
		log_message(IAPROF_LOG_ERROR, "%s", error.text);
	if (run.result.sink_stuck)
		run_leave(&run);
	run_release(&run);
	if (configuration->before_path)
		run_release(&before);
	/* A plugin can also crash in destroy(). */
	return status == EXIT_STATUS_COMPLETE && (run.failed || before.failed) ? EXIT_STATUS_FAILED : status;
}
