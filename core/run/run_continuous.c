/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run with --continuous, and the runs that replace it: with the configuration that is read again on SIGHUP, or with
 * the same one when the run has grown too large. The next run is prepared while the current one continues, and starts
 * when that has stopped (run_switch.c), which then ends in a separate thread. Sinks of both may write to the same file:
 * those of the next run start when the earlier run has ended; until then, their queues hold their items.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/priority.h"
#include "base/thread.h"
#include "run/run_state.h"
#include "run/stop_signals.h"
#include "text/quantity.h"

/* Restarts because of memory that follow each other faster are a finding. */
#define RENEWAL_MIN (3600 * NANOSECONDS_PER_SECOND)

/* A file that runs write to. */
struct written_file {
	char *path;
	uint32_t runs;
};

struct series {
	const struct run_parts *parts;
	ARRAY(struct written_file) files;
	struct run *run;     /* the current one; NULL: none */
	struct run *earlier; /* the previous run, while thread ends it; NULL: none */
	pthread_t thread;
	bool has_thread;       /* false: the earlier run has ended */
	atomic_bool has_ended; /* the earlier one */
	bool is_signalled;     /* SIGHUP: the current or the next run has a reloaded configuration */
	bool has_stuck_sink;   /* in an earlier run */
	bool has_failed;       /* the profile of an earlier run is not complete */
	struct sink_totals totals;
	uint64_t renewed_at; /* CLOCK_MONOTONIC: the latest restart because of memory; 0: none */
	enum exit_status status;
	struct command_result command; /* of the last run */
};

/* own: the configuration that the run owns; NULL: the caller owns it. */
static struct run *new_run(const struct series *series, const struct configuration *configuration,
			   struct configuration *own)
{
	struct run *run = calloc(1, sizeof *run);
	if (!run)
		return NULL;
	run_init(run, configuration, series->parts);
	run->own_configuration = own;
	run->cost.earlier = own_cost_now(0).cpu;
	return run;
}

static void free_run(struct run *run)
{
	/* The thread of a stuck sink may still access the run. */
	if (!run || run->result.sink_stuck)
		return;
	if (run->own_configuration)
		configuration_free(run->own_configuration);
	free(run->own_configuration);
	free(run);
}

static struct written_file *find_file(const struct series *series, const char *path)
{
	for (size_t i = 0; i < series->files.count; i++)
		if (!strcmp(series->files.items[i].path, path))
			return &series->files.items[i];
	return NULL;
}

/* Gives files of a run another name where an earlier run of this process wrote a file of that name, which is kept. */
static void number_files(struct series *series, const struct run *run)
{
	for (size_t i = 0; i < run->setup.sinks.count; i++) {
		struct output_target *output = &run->setup.sinks.items[i]->output;
		if (!output->path || output->is_null_device || output_target_is_stream(output))
			continue;
		struct written_file *file = find_file(series, output->path);
		struct written_file added = { .path = file ? NULL : strdup(output->path) };
		if (added.path && array_push(&series->files, added))
			file = &series->files.items[series->files.count - 1];
		else
			free(added.path);
		output->run = file ? ++file->runs : 0;
	}
}

static void free_files(struct series *series)
{
	for (size_t i = 0; i < series->files.count; i++)
		free(series->files.items[i].path);
	array_free(&series->files);
}

/* Starts a run while no other is running. since: when the previous one stopped; 0: there was none. */
static enum exit_status begin(struct series *series, struct run *run, uint64_t since, struct error *error)
{
	enum exit_status status = run_configure(run, error);
	if (status == EXIT_STATUS_COMPLETE) {
		run_restore_totals(run, &series->totals);
		number_files(series, run);
		run_install(run);
		if (run_prepare(run, error) || run_start(run, error))
			status = EXIT_STATUS_FAILED;
	}
	if (status != EXIT_STATUS_COMPLETE)
		run_discard(run);
	else if (since)
		run_report_gap(run, since);
	return status;
}

/* Ends a run and frees it, unless a sink is stuck. */
static void end(struct series *series, struct run *run)
{
	run_stop(run);
	run_finish(run);
	run_save_totals(run, &series->totals);
	if (!run->result.sink_stuck)
		run_release(run);
}

static void *end_apart(void *argument)
{
	struct series *series = argument;
	priority_lower_thread();
	end(series, series->earlier);
	atomic_store(&series->has_ended, true);
	loop_wake(series->run->services.loop);
	return NULL;
}

/* Ends the earlier run in a thread, or in this one if no thread can be started. */
static void end_earlier(struct series *series)
{
	atomic_store(&series->has_ended, false);
	series->has_thread = !thread_start(&series->thread, end_apart, series);
	if (!series->has_thread)
		end_apart(series);
}

static void note_result(struct series *series, const struct run *ended)
{
	series->has_stuck_sink |= ended->result.sink_stuck;
	series->has_failed |= ended->failed;
}

/* Waits for the end of the earlier run, and returns it: its configuration may be needed again. */
static struct run *join_earlier(struct series *series)
{
	if (series->has_thread)
		pthread_join(series->thread, NULL);
	series->has_thread = false;
	struct run *earlier = STEAL_POINTER(series->earlier);
	note_result(series, earlier);
	return earlier;
}

/* Replaces a failed run by one with the configuration of the earlier run. */
static void go_back(struct series *series, struct run *failed, struct run *earlier, const struct error *error)
{
	struct error again = { 0 };
	log_message(IAPROF_LOG_ERROR, "%s", error->text[0] ? error->text : "the run cannot be started");
	series->status = EXIT_STATUS_FAILED;
	if (failed->configuration != earlier->configuration) {
		log_message(IAPROF_LOG_ERROR, "SIGHUP: cannot run the new configuration: back to the earlier one");
		log_set_level(IAPROF_LOG_WARNING + earlier->configuration->verbosity);
		series->run = new_run(series, earlier->configuration, STEAL_POINTER(earlier->own_configuration));
		if (series->run)
			series->status = begin(series, series->run, earlier->stopped_at, &again);
	}
	free_run(failed);
	free_run(earlier);
	if (series->status == EXIT_STATUS_COMPLETE)
		return;
	/* Also if it finds nothing to profile any more: the earlier run had. */
	series->status = EXIT_STATUS_FAILED;
	if (again.text[0])
		log_message(IAPROF_LOG_ERROR, "%s (neither configuration can be run: iaprof ends)", again.text);
	free_run(STEAL_POINTER(series->run));
}

/* Reports that the current run, which has started, has a reloaded configuration. */
static void report_reload(const struct series *series)
{
	if (series->is_signalled)
		log_notice("SIGHUP: reloaded the configuration");
}

/* Starts the sinks once those of the earlier run have released their files and addresses. */
static void start_sinks(struct series *series)
{
	struct error error = { 0 };
	struct run *earlier = join_earlier(series);
	run_budget_begin_anew(series->run);
	run_restore_totals(series->run, &series->totals);
	number_files(series, series->run);
	if (!run_start_sinks(series->run, &error)) {
		collector_thread_release_sinks(series->run->collector);
		free_run(earlier);
		report_reload(series);
		return;
	}
	struct run *failed = STEAL_POINTER(series->run);
	run_discard(failed);
	go_back(series, failed, earlier, &error);
}

/* Transfers ownership of the configuration to a run that uses the same one. */
static void keep_configuration(struct run *next, struct run *earlier)
{
	if (next->configuration == earlier->configuration)
		next->own_configuration = STEAL_POINTER(earlier->own_configuration);
}

/* Replaces the current run, which ends first, because either may run a command or read a file. */
static int change_in_turn(struct series *series, struct run *next, struct error *error)
{
	struct run *earlier = series->run;
	int result = run_validate(next->configuration, series->parts, error);
	if (result)
		return result;
	end(series, earlier);
	note_result(series, earlier);
	next->budget_before = earlier->budget.control;
	series->run = NULL;
	if (begin(series, next, earlier->stopped_at, error) != EXIT_STATUS_COMPLETE) {
		go_back(series, next, earlier, error);
		return 0;
	}
	series->run = next;
	keep_configuration(next, earlier);
	free_run(earlier);
	report_reload(series);
	return 0;
}

static bool must_wait(const struct run *run)
{
	return run->configuration->command || run_is_offline(run);
}

/* Replaces the current run by a new one. Returns 0 if the current one has ended. */
static int change(struct series *series, struct run *next, struct error *error)
{
	struct run *earlier = series->run;
	if (must_wait(earlier) || next->configuration->command)
		return change_in_turn(series, next, error);
	next->budget_before = earlier->budget.control;
	int result = run_prepare_beside(next, earlier, series->is_signalled, error);
	run_budget_begin_anew(result ? earlier : next);
	if (result)
		return result;
	result = run_switch(earlier, next, error);
	series->earlier = earlier;
	series->run = next;
	keep_configuration(next, earlier);
	end_earlier(series);
	if (!result)
		return 0;
	earlier = join_earlier(series);
	series->run = NULL;
	run_discard(next);
	go_back(series, next, earlier, error);
	return 0;
}

/* Handles SIGHUP. A configuration that cannot be run does not change the run. */
static void reload(struct series *series)
{
	struct error error = { 0 };
	struct configuration *configuration = calloc(1, sizeof *configuration);
	struct run *next = configuration ? new_run(series, configuration, configuration) : NULL;
	int level = log_level();
	int result = next ? series->parts->read(series->parts->context, configuration, &error)
			  : error_set(&error, ENOMEM, "out of memory");
	if (!result && (configuration->action != ACTION_RUN || !configuration->continuous))
		result = error_set(&error, EINVAL, "continuous is not set");
	if (!result)
		log_set_level(IAPROF_LOG_WARNING + configuration->verbosity);
	if (!result)
		result = change(series, next, &error);
	if (!result)
		return;
	log_set_level(level);
	if (result != -ECANCELED)
		log_message(IAPROF_LOG_ERROR, "SIGHUP: %s (the run continues with the earlier configuration)",
			    error.text);
	if (!next)
		free(configuration);
	free_run(next);
}

/* Several restarts because of memory in a short time are a finding: each one is a gap in the data. */
static void note_renewal(struct series *series)
{
	uint64_t now = clock_monotonic(), before = series->renewed_at;
	series->renewed_at = now;
	if (!series->run || !before || now - before >= RENEWAL_MIN)
		return;
	struct run *run = series->run;
	char text[200];
	snprintf(text, sizeof text,
		 "the run was restarted %s after the previous restart, because it used more than %" PRIu64
		 " MiB of memory (raise memory=)",
		 quantity_time((double)(now - before)).text, run->configuration->memory >> 20);
	struct iaprof_record_finding record = {
		.severity = IAPROF_FINDING_WARNING,
		.name = intern_text_id(run->services.intern, "frequent-restarts"),
		.text = intern_text_id(run->services.intern, text),
		.value = (double)(now - before) / (double)NANOSECONDS_PER_SECOND,
		.threshold = (double)RENEWAL_MIN / (double)NANOSECONDS_PER_SECOND,
	};
	run_send(run, &record.header, IAPROF_RECORD_FINDING, sizeof record);
}

/* Replaces a run that has grown too large. */
static void renew(struct series *series)
{
	struct error error = { 0 };
	struct run *run = series->run, *next = new_run(series, run->configuration, NULL);
	int result = next ? change(series, next, &error) : error_set(&error, ENOMEM, "out of memory");
	if (!result) {
		note_renewal(series);
		return;
	}
	if (result != -ECANCELED)
		log_message(IAPROF_LOG_ERROR, "memory: %s (the run continues)", error.text);
	run->is_too_large = false;
	run->started_at = clock_monotonic();
	free_run(next);
}

static bool is_interrupted(void *context)
{
	struct series *series = context;
	if (series->earlier)
		return atomic_load(&series->has_ended);
	series->is_signalled = stop_signals_take_reload();
	return series->is_signalled || series->run->is_too_large;
}

static void attend(struct series *series)
{
	if (series->earlier)
		start_sinks(series);
	else if (series->is_signalled)
		reload(series);
	else
		renew(series);
}

/* Deducts the time that the end of the earlier run took from the time limit for the end of this one. */
static void shorten_end(struct run *run)
{
	uint64_t limit = run->configuration->finish_within, least = limit / 8;
	uint64_t passed = clock_monotonic() - atomic_load(&run->end_time);
	if (run->services.target.finish_within)
		run->services.target.finish_within = limit > passed + least ? limit - passed : least;
}

static enum exit_status finish(struct series *series)
{
	bool has_earlier = series->earlier;
	if (has_earlier)
		run_note_end(series->run);
	/* Its sources keep sending until they are stopped. */
	while (series->earlier && !atomic_load(&series->has_ended))
		loop_turn(series->run->services.loop, UINT64_MAX);
	if (series->earlier)
		start_sinks(series);
	struct run *run = series->run;
	if (!run && series->has_stuck_sink)
		run_exit_stuck(NULL);
	if (!run)
		return series->status;
	if (has_earlier)
		shorten_end(run);
	run_stop(run);
	run_finish(run);
	if (run->result.sink_stuck || series->has_stuck_sink)
		run_exit_stuck(run);
	series->command = run_command_result(run);
	run_release(run);
	enum exit_status status = run->failed || series->has_failed ? EXIT_STATUS_FAILED : EXIT_STATUS_COMPLETE;
	free_run(run);
	return status;
}

enum exit_status run_continuous(const struct configuration *configuration, const struct run_parts *parts,
				struct command_result *command)
{
	struct error error = { 0 };
	struct series series = { .parts = parts };
	series.run = new_run(&series, configuration, NULL);
	if (!series.run)
		error_set(&error, ENOMEM, "out of memory");
	series.status = series.run ? begin(&series, series.run, 0, &error) : EXIT_STATUS_FAILED;
	if (error.text[0])
		log_message(IAPROF_LOG_ERROR, "%s", error.text);
	enum exit_status status = series.status;
	if (status != EXIT_STATUS_COMPLETE) {
		if (series.run)
			*command = run_command_result(series.run);
		free_run(series.run);
	} else {
		while (series.run && run_until_end(series.run, is_interrupted, &series))
			attend(&series);
		status = finish(&series);
		*command = series.command;
	}
	free_files(&series);
	sink_totals_free(&series.totals);
	return status;
}
