/* SPDX-License-Identifier: Apache-2.0 */
/* Configures a run: see run_state.h. */
#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "run/run_state.h"
#include "run/stop_signals.h"

/* Least time of stop() and of finish() of an isolated source, ns. */
#define STOP_WITHIN_MIN (NANOSECONDS_PER_SECOND / 10)

/*
 * One descriptor per CPU, map and probe soon exceeds the usual soft limit of 1024. The command keeps the limit of
 * before the first run.
 */
static void raise_open_files(struct command *command)
{
	static struct rlimit first;
	struct rlimit limit = first;
	if (!first.rlim_max && getrlimit(RLIMIT_NOFILE, &limit))
		return;
	first = limit;
	command->open_files = limit;
	command->has_open_files = true;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		log_message(IAPROF_LOG_DEBUG, "cannot raise the limit of open files: %s", strerror(errno));
}

void run_init(struct run *run, const struct configuration *configuration, const struct run_parts *parts)
{
	*run = (struct run){ .configuration = configuration,
			     .parts = parts,
			     .functions = parts->engine,
			     .command = COMMAND_INIT,
			     .deadline = UINT64_MAX };
	raise_open_files(&run->command);
}

void run_install(struct run *run)
{
	stop_signals_install(run->services.loop, run->configuration->continuous);
	run->status_line = isatty(STDERR_FILENO) && log_level() >= IAPROF_LOG_WARNING;
}

int run_validate(const struct configuration *configuration, const struct run_parts *parts, struct error *error)
{
	struct run run;
	run_init(&run, configuration, parts);
	int result = run_make_services(&run, error);
	if (!result)
		result = setup_make(&run.setup, configuration, parts->registry, &run.services, error);
	if (!result)
		result = run_check_target(&run, error);
	run_release(&run);
	return result;
}

/* Names the sources that do not know cgroups. */
static void warn_of_whole_system(const struct run *run)
{
	for (size_t i = 0; i < run->setup.sources.count; i++) {
		const struct instance *source = run->setup.sources.items[i];
		if (!(source->plugin->description.flags & IAPROF_PLUGIN_TARGETS) && !source->offline)
			log_message(IAPROF_LOG_WARNING,
				    "source %s cannot be restricted to a cgroup: it records all "
				    "processes",
				    source->name);
	}
}

/*
 * Returns how much of --finish-within one source may use for stop(), and for finish(): others have data whose symbols
 * are read in that time. 0: nothing waits for it.
 */
static uint64_t stop_within(const struct run *run)
{
	uint64_t part = run->services.target.finish_within / 4;
	if (!part || run->setup.sources.count < 2)
		return 0;
	return part < STOP_WITHIN_MIN ? STOP_WITHIN_MIN : part;
}

enum exit_status run_configure(struct run *run, struct error *error)
{
	if (run_make_services(run, error))
		return EXIT_STATUS_FAILED;
	if (setup_make(&run->setup, run->configuration, run->parts->registry, &run->services, error) ||
	    run_check_target(run, error))
		return EXIT_STATUS_USAGE;
	if (setup_probe(&run->setup, NULL, error))
		return EXIT_STATUS_NOTHING;
	if (run_has_nothing_left(run))
		return EXIT_STATUS_FAILED;
	if (setup_hold_outputs(&run->setup, error))
		return EXIT_STATUS_USAGE;
	run->interval = run_choose_interval(run);
	bool wants_spans = run_requests(run) & (IAPROF_REQUEST_SPANS | IAPROF_REQUEST_RECORD_SPANS);
	run->services.target.flags = (run_is_offline(run) ? IAPROF_TARGET_RECORDED : 0) |
				     (run_follows_children(run) ? IAPROF_TARGET_CHILDREN : 0) |
				     (wants_spans ? IAPROF_TARGET_SPANS : 0);
	bool has_limit = !run_is_offline(run) || run->configuration->limits_finish;
	run->services.target.finish_within = has_limit ? run->configuration->finish_within : 0;
	run->services.stop_within = stop_within(run);
	run->is_configured = true;
	if (run->cgroup.folder)
		warn_of_whole_system(run);
	return EXIT_STATUS_COMPLETE;
}
