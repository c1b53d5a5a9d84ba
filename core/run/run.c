/* SPDX-License-Identifier: Apache-2.0 */
/* A run, from configuration to exit status: see run.h. */
#include "run/run.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/boot_id.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/priority.h"
#include "process/resident_memory.h"
#include "ring/ring_range.h"
#include "run/stop_signals.h"
#include "run/capabilities.h"
#include "run/run_state.h"
#include "run/run_target.h"

/* Interval at which process events are read and the status line is updated. */
#define TICK NANOSECONDS_PER_SECOND

/* Default interval of --continuous. */
#define CONTINUOUS_INTERVAL (60 * NANOSECONDS_PER_SECOND)
/* How often the limits on what processes name are renewed in a continuous run. */
#define CONTINUOUS_PERIOD (600 * NANOSECONDS_PER_SECOND)

static void instance_ended(void *context, struct instance *instance)
{
	struct run *run = context;
	pthread_mutex_lock(&instance->lock);
	bool is_shown = instance->error_is_shown;
	pthread_mutex_unlock(&instance->lock);
	if (is_shown) /* of an isolated source or sink */
		run->failed = true;
	loop_wake(run->services.loop);
}

static void end_run(void *context)
{
	struct run *run = context;
	atomic_store(&run->ended, true);
	loop_wake(run->services.loop);
}

bool run_is_ending(struct run *run)
{
	return stop_signal_received() || atomic_load(&run->ended);
}

static bool is_ending(void *context)
{
	return run_is_ending(context);
}

/* Sends what is profiled: see run_target.h. */
static void send_target(struct run *run)
{
	struct text text = { 0 };
	run_target_append_command(&text, run->configuration);
	if (text.size)
		run_send_metadata(run, "command", text_string(&text));
	text_free(&text);
	run_target_append(&text, run->configuration);
	run_send_metadata(run, "target", text_string(&text));
	text_free(&text);
}

static int watch_files(void *context, struct instance *instance)
{
	struct run *run = context;
	return mapped_files_watch(&run->mapped_files, instance_file_is_mapped, instance) ? 0 : -ENOMEM;
}

static int set_command_environment(void *context, const char *name, const char *value, bool prepend)
{
	return command_set_environment(&((struct run *)context)->command, name, value, prepend);
}

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
	end_run(run);
}

static void tick(void *context, uint64_t expirations)
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

static void command_ready(void *context, uint32_t events)
{
	struct run *run = context;
	(void)events;
	if (command_collect(&run->command))
		loop_pause(run->command_watch);
}

/* A process, file or command that does not exist is a usage error, reported before anything starts. */
static int check_target(struct run *run, struct error *error)
{
	const struct configuration *configuration = run->configuration;
	if (target_processes_open(&run->target_processes, configuration->pids.items, configuration->pids.count, error))
		return error->code;
	if (configuration->cgroup && target_cgroup_find(&run->cgroup, configuration->cgroup, error))
		return error->code;
	if (configuration->container && target_cgroup_find_container(&run->cgroup, configuration->container, error))
		return error->code;
	run->services.target.cgroup = run->cgroup.folder;
	run->services.target.cgroup_id = run->cgroup.id;
	run->services.target.cgroup_hierarchy = run->cgroup.hierarchy;
	const char *const inputs[] = { configuration->replay_path, configuration->before_path,
				       configuration->after_path };
	for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
		if (inputs[i] && (i || strcmp(inputs[i], "-") != 0) && !ring_range_is(inputs[i]) &&
		    access(inputs[i], R_OK))
			return error_set(error, errno, "--%s %s: %s", i ? "diff" : "replay", inputs[i],
					 strerror(errno));
	return configuration->command ? command_check(configuration->command, error) : 0;
}

static int make_services(struct run *run, struct error *error)
{
	const struct configuration *configuration = run->configuration;
	struct instance_services *services = &run->services;
	services->bus = bus_new(BUS_CAPACITY_DEFAULT);
	services->intern = services->bus ? intern_new(services->bus) : NULL;
	services->loop = loop_new();
	if (!services->loop)
		return error_set(error, errno, "cannot create the event loop: %s", strerror(errno));
	services->watch_files = watch_files;
	services->watch_unwind = unwind_tables_watch;
	services->unwind_process = unwind_tables_request;
	services->command_environment = set_command_environment;
	services->ended = instance_ended;
	services->write_by = run_write_by;
	services->end_run = end_run;
	services->run_is_ending = is_ending;
	services->sample_stride = run_budget_stride;
	services->context = run;
	services->target = (struct iaprof_target){ .size = sizeof services->target,
						   .scope = (uint32_t)configuration->scope,
						   .pids = configuration->pids.items,
						   .pid_count = (uint32_t)configuration->pids.count,
						   .interval = configuration->interval };
	if (configuration->pids.count)
		services->target.scope = IAPROF_SCOPE_PIDS;
	return services->intern ? 0 : error_set(error, ENOMEM, "out of memory");
}

static bool follows_children(const struct run *run)
{
	return run->configuration->pids.count && !run->configuration->without_children;
}

static bool needs_processes(const struct run *run)
{
	for (size_t i = 0; i < run->setup.sources.count; i++)
		if (run->setup.sources.items[i]->plugin->description.flags & IAPROF_PLUGIN_NEEDS_PROCESSES &&
		    !run->setup.sources.items[i]->offline)
			return true;
	return false;
}

/* Returns whether all sources read recorded data, which can wait for slow sinks. */
static bool is_offline(const struct run *run)
{
	for (size_t i = 0; i < run->setup.sources.count; i++)
		if (!run->setup.sources.items[i]->offline)
			return run->setup.replays;
	return true;
}

/* Returns the finest resolution that a sink requested. */
static uint64_t time_resolution(const struct run *run)
{
	uint64_t finest = run->time_resolution;
	for (size_t i = 0; i < run->setup.sinks.count; i++) {
		uint64_t resolution = run->setup.sinks.items[i]->time_resolution;
		finest = resolution && (!finest || resolution < finest) ? resolution : finest;
	}
	return finest;
}

/* Of the time in which devices have no work: waits are told apart. */
#define GAP_RESOLUTION UINT64_C(1000000) /* ns */

static uint32_t source_flags(const struct run *run)
{
	uint32_t flags = 0;
	for (size_t i = 0; i < run->setup.sources.count; i++)
		flags |= run->setup.sources.items[i]->plugin->description.flags;
	return flags;
}

/* Returns the resolution that is requested from sources. */
static uint64_t source_resolution(const struct run *run)
{
	uint64_t finest = time_resolution(run);
	uint32_t flags = source_flags(run);
	bool has_gaps = flags & IAPROF_PLUGIN_JOBS && flags & IAPROF_PLUGIN_WAITS;
	return has_gaps && (!finest || GAP_RESOLUTION < finest) ? GAP_RESOLUTION : finest;
}

/* Returns --interval, or else that of --continuous, or the shortest default of a sink for live runs. */
static uint64_t choose_interval(const struct run *run)
{
	uint64_t shortest = run->configuration->interval;
	if (shortest || is_offline(run))
		return shortest;
	if (run->configuration->continuous)
		return CONTINUOUS_INTERVAL;
	for (size_t i = 0; i < run->setup.sinks.count; i++) {
		uint64_t wanted = run->setup.sinks.items[i]->default_interval;
		if (wanted && (!shortest || wanted < shortest))
			shortest = wanted;
	}
	return shortest;
}

static bool all_are_dead(struct instance *const *instances, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!instance_is_dead(instances[i]))
			return false;
	return true;
}

/* Returns whether the processes of all sources, or those of all sinks, have ended too early. */
static bool nothing_is_left(const struct run *run)
{
	const struct setup *setup = &run->setup;
	return all_are_dead(setup->sources.items, setup->sources.count) ||
	       (setup->sinks.count && all_are_dead(setup->sinks.items, setup->sinks.count));
}

/*
 * Returns the result of a phase of a source or sink. If its process has ended, which was printed, the run continues
 * without it unless nothing else is left.
 */
static int result_of(const struct run *run, const struct instance *instance, int result)
{
	return instance_is_dead(instance) && !nothing_is_left(run) ? 0 : result;
}

/* Does everything that requires privileges. No records are sent yet. */
static int prepare(struct run *run, struct error *error)
{
	int result = 0;
	run->services.target.time_resolution = source_resolution(run);
	if (run->configuration->command) {
		result = command_hold(&run->command, run->configuration->command, error);
		run->services.target.command_pid = (uint32_t)run->command.pid;
	}
	if (!result && needs_processes(run))
		result = process_feed_open(run, error);
	for (size_t i = 0; !result && i < run->setup.sinks.count; i++)
		result = result_of(run, run->setup.sinks.items[i], instance_prepare(run->setup.sinks.items[i], error));
	for (size_t i = 0; !result && i < run->setup.sources.count; i++)
		result = result_of(run, run->setup.sources.items[i],
				   instance_prepare(run->setup.sources.items[i], error));
	run_budget_open(run);
	if (!result)
		capabilities_reduce();
	return result;
}

static void send_head(struct run *run)
{
	for (size_t i = 0; i < run->setup.sources.count; i++) {
		const struct instance *source = run->setup.sources.items[i];
		struct iaprof_record_source record = { .number = source->number,
						       .name = intern_text_id(run->services.intern, source->name) };
		run_send(run, &record.header, IAPROF_RECORD_SOURCE, sizeof record);
	}
	/* What was recorded elsewhere has neither this machine's name nor its time. */
	if (is_offline(run))
		return;
	char offset[32];
	snprintf(offset, sizeof offset, "%lu", clock_read(CLOCK_REALTIME) - clock_monotonic());
	run_send_metadata(run, METADATA_REALTIME_OFFSET, offset);
	char boot_id[BOOT_ID_SIZE];
	boot_id_read(boot_id);
	run_send_metadata(run, METADATA_BOOT_ID, boot_id);
	struct utsname system;
	if (!uname(&system)) {
		run_send_metadata(run, "kernel release", system.release);
		run_send_metadata(run, "machine", system.machine);
	}
	send_target(run);
}

static int watch(struct run *run, struct error *error)
{
	struct loop *loop = run->services.loop;
	uint64_t period = run->interval && run->interval < TICK ? run->interval : TICK;
	int result = loop_watch_timer(loop, period, tick, run, NULL);
	if (!result && run->sideband)
		result = process_feed_watch(run);
	if (!result && run->command.pid)
		result = loop_watch_descriptor(loop, run->command.descriptor, EPOLLIN, command_ready, run,
					       &run->command_watch);
	if (!result && !is_offline(run) && !run->configuration->command)
		result = target_processes_watch(&run->target_processes, loop);
	return result ? error_set(error, result, "event loop: %s", strerror(-result)) : 0;
}

/* The samples of a continuous run have a gap where its configuration changed, which its data states. */
static void report_gap(struct run *run)
{
	char text[32];
	uint64_t since = run->reload ? run->reload->stopped_at : 0, now = clock_monotonic();
	if (!since)
		return;
	snprintf(text, sizeof text, "%.3f s", (double)(now - since) / (double)NANOSECONDS_PER_SECOND);
	run_send_metadata(run, "gap before this run", text);
	log_message(IAPROF_LOG_WARNING, "the run was started anew: no samples for %s", text);
}

/* Starts the flow of records. Sources start before the scan of /proc, so that no sample is missed meanwhile. */
static int start(struct run *run, struct error *error)
{
	/* The sinks' threads start with the collector's, and call these members only afterwards. */
	for (size_t i = 0; i < run->setup.sinks.count; i++) {
		struct instance *sink = run->setup.sinks.items[i];
		int failure = result_of(run, sink, instance_start(sink, error));
		if (failure)
			return failure;
	}
	run->collector = collector_thread_start(
		&(struct collector_thread_options){ .bus = run->services.bus,
						    .intern = run->services.intern,
						    .sinks = run->setup.sinks.items,
						    .sink_count = run->setup.sinks.count,
						    .decoders = decoders_finder(&run->setup.decoders),
						    .interval = run->interval,
						    .interval_for_all = run->configuration->interval > 0 ||
									run->configuration->continuous,
						    .continuous = run->configuration->continuous,
						    .time_resolution = time_resolution(run),
						    .hold = run->configuration->hold,
						    .debuginfod = run->configuration->debuginfod,
						    .kept = &run->kept_files,
						    .finish_within = run->services.target.finish_within,
						    .replays = run->setup.replays,
						    .lossless = is_offline(run),
						    .requests = run->requests,
						    .before = run->before ? run->before->result.profile : NULL,
						    .normalization = (uint32_t)run->configuration->normalization },
		error);
	if (!run->collector)
		return error->code;
	int result = watch(run, error);
	if (!result && run->sideband)
		result = sideband_start(run->sideband, error);
	if (!run->setup.replays)
		send_head(run);
	/* The threads of the collector and of sinks, which began before, do not inherit it. */
	if (!is_offline(run))
		priority_raise_thread();
	unwind_tables_prepare(run);
	run->cost.begin = own_cost_now(run_helper_cost(run));
	for (size_t i = 0; !result && i < run->setup.sources.count; i++)
		result =
			result_of(run, run->setup.sources.items[i], instance_start(run->setup.sources.items[i], error));
	if (!result && run->sideband)
		result = sideband_scan(run->sideband, error);
	if (!result && !run->setup.replays)
		process_feed_synchronize(run);
	if (!result && run->command.pid)
		result = command_release(&run->command, error);
	run->started_at = clock_monotonic();
	if (run->reload)
		run->reload->is_started = !result;
	report_gap(run);
	uint64_t duration = run->configuration->duration;
	run->deadline = duration ? saturating_add(clock_monotonic(), duration) : UINT64_MAX;
	return result;
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
	    (follows_children(run) && run->sideband && sideband_process_count(run->sideband)))
		return false;
	log_notice("%s", run->target_processes.items.count == 1 ? "the profiled process has ended"
								: "all profiled processes have ended");
	return true;
}

/* Frees what make_services() and check_target() have made, after everything that uses it. */
static void release_services(struct run *run)
{
	loop_free(run->services.loop);
	target_processes_close(&run->target_processes);
	target_cgroup_free(&run->cgroup);
	intern_free(run->services.intern);
	bus_free(run->services.bus);
}

/* Returns whether a configuration can be run, as far as that is known without starting it. */
static int validate(const struct configuration *configuration, struct registry *registry, struct error *error)
{
	struct run run = { .configuration = configuration, .command = COMMAND_INIT, .deadline = UINT64_MAX };
	int result = make_services(&run, error);
	if (!result)
		result = setup_make(&run.setup, configuration, registry, &run.services, error);
	if (!result)
		result = check_target(&run, error);
	setup_release(&run.setup);
	release_services(&run);
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
		end_run(run);
		return;
	}
	configuration_free(&reload->next);
	log_message(IAPROF_LOG_ERROR, "SIGHUP: %s (the run continues with the earlier configuration)", error.text);
}

static void run_until_end(struct run *run)
{
	const struct setup *setup = &run->setup;
	while (!is_ending(run) && !run->command.ended && !targets_have_ended(run) &&
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

/* Drains the sources, then the process events; SYNC is sent last, so that everything before it is known. */
static void stop(struct run *run)
{
	struct error ignored = { 0 };
	if (!is_offline(run))
		run_note_end(run);
	if (run->reload)
		run->reload->stopped_at = clock_monotonic();
	for (size_t i = 0; i < run->setup.sources.count; i++)
		if (run->setup.sources.items[i]->prepared)
			instance_stop(run->setup.sources.items[i], &ignored);
	uint64_t tables = unwind_tables_finish(run);
	if (!is_offline(run) && run->collector)
		collector_thread_end_by(run->collector, run_write_by(run, 0) + tables);
	for (size_t i = 0; i < run->setup.sources.count; i++)
		if (run->setup.sources.items[i]->started)
			instance_finish(run->setup.sources.items[i], &ignored);
	for (size_t i = 0; i < run->setup.sources.count; i++)
		instance_report_refused(run->setup.sources.items[i]);
	if (!run->setup.replays)
		process_feed_synchronize(run);
	run->cost.end = own_cost_now(run_helper_cost(run));
	/* Done before the sinks write, so that a second Ctrl-C leaves no command running. */
	command_end(&run->command);
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

static enum exit_status configure(struct run *run, struct registry *registry, struct error *error)
{
	if (make_services(run, error))
		return EXIT_STATUS_FAILED;
	if (setup_make(&run->setup, run->configuration, registry, &run->services, error) || check_target(run, error))
		return EXIT_STATUS_USAGE;
	if (setup_probe(&run->setup, NULL, error))
		return EXIT_STATUS_NOTHING;
	if (nothing_is_left(run))
		return EXIT_STATUS_FAILED;
	if (setup_hold_outputs(&run->setup, error))
		return EXIT_STATUS_USAGE;
	run->interval = choose_interval(run);
	run->services.target.flags =
		(is_offline(run) ? IAPROF_TARGET_RECORDED : 0) | (follows_children(run) ? IAPROF_TARGET_CHILDREN : 0);
	run->services.target.finish_within = is_offline(run) ? 0 : run->configuration->finish_within;
	if (run->cgroup.folder)
		warn_of_whole_system(run);
	return EXIT_STATUS_COMPLETE;
}

static void release(struct run *run)
{
	command_end(&run->command);
	command_close(&run->command);
	stop_signals_uninstall();
	collector_thread_free(run->collector);
	run_budget_close(run);
	setup_release(&run->setup);
	sideband_free(run->sideband);
	mapped_files_free(&run->mapped_files);
	kept_files_free(&run->kept_files);
	unwind_tables_free(run);
	release_services(run);
	malloc_trim(0);
}

/* Runs the sources from the first record to the last and reports the result. */
static int collect(struct run *run, struct error *error)
{
	/* Only complete runs can be compared. */
	bool must_be_complete = run->configuration->before_path != NULL;
	stop_signals_install(run->services.loop, run->configuration->continuous);
	run->status_line = isatty(STDERR_FILENO) && log_level() >= IAPROF_LOG_WARNING;
	int result = prepare(run, error);
	if (!result)
		result = start(run, error);
	if (!result)
		run_until_end(run);
	stop(run);
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
	enum exit_status status = configure(before, registry, error);
	for (size_t i = 0; i < after->setup.sinks.count; i++)
		before->requests |= after->setup.sinks.items[i]->requests;
	before->time_resolution = time_resolution(after);
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
	enum exit_status status = configure(&run, registry, &error);
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
	release(&run);
	if (configuration->before_path)
		release(&before);
	/* A plugin can also crash in destroy(). */
	return status == EXIT_STATUS_COMPLETE && (run.failed || before.failed) ? EXIT_STATUS_FAILED : status;
}
