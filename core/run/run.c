/* SPDX-License-Identifier: Apache-2.0 */
/* A run, from configuration to exit status: see run.h. */
#include "run/run.h"

#include <errno.h>

#include "base/log.h"
#include "run/run_state.h"
#include "run/stop_signals.h"

/* Runs the sources from the first record to the last and reports the result. */
static int collect(struct run *run, struct error *error)
{
	/* Only complete runs can be compared. */
	bool must_be_complete = run->configuration->before_path != NULL;
	run_install(run);
	int result = run_prepare(run, error);
	if (!result)
		result = run_start(run, error);
	if (!result)
		(void)run_until_end(run, NULL, NULL);
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
static enum exit_status run_before(struct run *before, const struct run *after, struct error *error)
{
	before->setup.is_before = true;
	enum exit_status status = run_configure(before, error);
	before->requests = run_requests(after);
	before->time_resolution = run_time_resolution(after);
	if (status == EXIT_STATUS_COMPLETE && (collect(before, error) || !before->result.engine.profile))
		status = EXIT_STATUS_FAILED;
	return status;
}

static enum exit_status run_once(const struct configuration *configuration, const struct run_parts *parts,
				 struct command_result *command)
{
	struct run run, before;
	run_init(&run, configuration, parts);
	run_init(&before, configuration, parts);
	struct error error = { 0 };
	enum exit_status status = run_configure(&run, &error);
	if (status == EXIT_STATUS_COMPLETE && configuration->before_path) {
		status = run_before(&before, &run, &error);
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
		run_exit_stuck(&run);
	*command = run_command_result(&run);
	run_release(&run);
	if (configuration->before_path)
		run_release(&before);
	/* A plugin can also crash in destroy(). */
	return status == EXIT_STATUS_COMPLETE && (run.failed || before.failed) ? EXIT_STATUS_FAILED : status;
}

struct command_result run_command_result(const struct run *run)
{
	const struct command *command = &run->command;
	if (command->failure)
		return (struct command_result){ .status = command->failure, .was_not_executed = true };
	/* A signal that also reached the command may end it before or after iaprof notices its own. */
	int signal = stop_signal_received();
	return (struct command_result){ .status = signal ? 128 + signal : command_exit_status(command) };
}

enum exit_status run(const struct configuration *configuration, const struct run_parts *parts,
		     struct command_result *command)
{
	*command = (struct command_result){ 0 };
	return (configuration->continuous ? run_continuous : run_once)(configuration, parts, command);
}
