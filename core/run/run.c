/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a run, from the configuration to the exit status: see run.h. */
#include "run/run.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/boot_id.h"
#include "base/clock.h"
#include "base/log.h"
#include "process/mapped_files.h"
#include "process/sideband.h"
#include "run/collecting.h"
#include "run/call_report.h"
#include "run/command.h"
#include "run/interrupt.h"
#include "run/report.h"
#include "run/setup.h"
#include "run/top_table.h"

/* How often process events are read and the status line is written. */
#define TICK NANOSECONDS_PER_SECOND
/* The same where a source waits for files to be mapped, to attach to them before much of their code has run. */
#define MAPPED_FILES_TICK (NANOSECONDS_PER_SECOND / 10)

struct run {
	const struct configuration *configuration;
	struct instance_services services;
	struct setup setup;
	struct command command;
	struct sideband *sideband;
	struct mapped_files mapped_files;
	struct loop_watch *sideband_watch, *command_watch, *tick, *mapped_files_tick;
	struct collecting *collecting;
	struct own_cost begin, end;
	struct status status;
	uint64_t deadline; /* CLOCK_MONOTONIC, UINT64_MAX none */
	bool failed;       /* something did; it has been shown */
	bool status_line;
};

static void show(struct run *run, const struct error *error)
{
	run->failed = true;
	log_message(IAPROF_LOG_ERROR, "%s", error->text);
}

static void instance_ended(void *context, struct instance *instance)
{
	struct run *run = context;
	(void)instance;
	loop_wake(run->services.loop);
}

/* Puts one of the core's own records on the bus. */
static void send(struct run *run, struct iaprof_record *record, uint16_t type, size_t size)
{
	record->type = type;
	record->size = (uint32_t)size;
	record->time = clock_monotonic();
	bus_send(run->services.bus, record);
}

static void send_metadata(struct run *run, const char *key, const char *value)
{
	struct iaprof_record_metadata record = { .key = intern_text_id(run->services.intern, key),
						 .value = intern_text_id(run->services.intern, value) };
	send(run, &record.header, IAPROF_RECORD_METADATA, sizeof record);
}

static uint32_t sideband_intern(void *context, const char *text, size_t length)
{
	return intern_string(((struct run *)context)->services.intern, text, length);
}

static int sideband_emit(void *context, const struct iaprof_batch *batch)
{
	struct run *run = context;
	int result = bus_emit(run->services.bus, 0, batch, BUS_ALWAYS, NULL);
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(batch, record));)
		if (record->type == IAPROF_RECORD_MAPPING) {
			const struct iaprof_record_mapping *mapping = (const void *)record;
			mapped_files_take(&run->mapped_files, mapping,
					  intern_text(run->services.intern, mapping->path));
		}
	return result;
}

static void sideband_lost(void *context, const char *reason, uint64_t begin, uint64_t count)
{
	struct run *run = context;
	struct iaprof_record_lost record = { .begin = begin,
					     .count = count,
					     .reason = intern_text_id(run->services.intern, reason) };
	send(run, &record.header, IAPROF_RECORD_LOST, sizeof record);
}

static void drain_sideband(struct run *run)
{
	if (!run->sideband)
		return;
	int result = sideband_drain(run->sideband);
	if (result)
		log_message(IAPROF_LOG_WARNING, "process events: %s", strerror(-result));
}

static void sideband_ready(void *context, uint32_t events)
{
	(void)events;
	drain_sideband(context);
}

/* Tells the collector that it knows all processes up to now. */
static void synchronize(struct run *run)
{
	struct iaprof_record_sync record = { 0 };
	drain_sideband(run);
	send(run, &record.header, IAPROF_RECORD_SYNC, sizeof record);
}

static void mapped_files_tick(void *context, uint64_t expirations)
{
	(void)expirations;
	drain_sideband(context);
}

static int set_command_environment(void *context, const char *name, const char *value, bool prepend)
{
	return command_set_environment(&((struct run *)context)->command, name, value, prepend);
}

static void show_status(struct run *run)
{
	struct collecting_progress progress = collecting_progress(run->collecting);
	report_status(&run->status, clock_monotonic() - run->begin.clock, &progress);
}

static void tick(void *context, uint64_t expirations)
{
	struct run *run = context;
	(void)expirations;
	for (size_t i = 0; i < run->setup.sources.count; i++)
		instance_report_refused(run->setup.sources.items[i]);
	if (!run->setup.replays)
		synchronize(run);
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

/* A target that cannot be is wrong usage, found before anything starts. */
static int check_target(const struct configuration *configuration, struct error *error)
{
	for (size_t i = 0; i < configuration->pids.count; i++)
		if (kill((pid_t)configuration->pids.items[i], 0) && errno == ESRCH)
			return error_set(error, ESRCH, "-p %u: there is no such process", configuration->pids.items[i]);
	if (configuration->replay_path && access(configuration->replay_path, R_OK))
		return error_set(error, errno, "--replay %s: %s", configuration->replay_path, strerror(errno));
	return configuration->command ? command_check(configuration->command, error) : 0;
}

static int make_services(struct run *run, struct error *error)
{
	const struct configuration *configuration = run->configuration;
	struct instance_services *services = &run->services;
	services->bus = bus_new(BUS_CAPACITY_DEFAULT);
	services->intern = services->bus ? intern_new(services->bus) : NULL;
	services->loop = loop_new();
	services->mapped_files = &run->mapped_files;
	services->command_environment = set_command_environment;
	services->ended = instance_ended;
	services->context = run;
	services->target = (struct iaprof_target){ .size = sizeof services->target,
						   .scope = (uint32_t)configuration->scope,
						   .pids = configuration->pids.items,
						   .pid_count = (uint32_t)configuration->pids.count,
						   .interval = configuration->interval };
	if (configuration->pids.count)
		services->target.scope = IAPROF_SCOPE_PIDS;
	return services->intern && services->loop ? 0 : error_set(error, ENOMEM, "out of memory");
}

static bool needs_processes(const struct run *run)
{
	for (size_t i = 0; i < run->setup.sources.count; i++)
		if (run->setup.sources.items[i]->plugin->description.flags & IAPROF_PLUGIN_NEEDS_PROCESSES &&
		    !run->setup.sources.items[i]->offline)
			return true;
	return false;
}

/* Nothing of what the sources have can be missed: sinks may take their time. */
static bool is_offline(const struct run *run)
{
	for (size_t i = 0; i < run->setup.sources.count; i++)
		if (!run->setup.sources.items[i]->offline)
			return run->setup.replays;
	return true;
}

/* What needs privileges: nothing flows yet. */
static int prepare(struct run *run, struct error *error)
{
	const struct iaprof_target *target = &run->services.target;
	int result = 0;
	if (run->configuration->command) {
		result = command_hold(&run->command, run->configuration->command, error);
		run->services.target.command_pid = (uint32_t)run->command.pid;
	}
	if (!result && needs_processes(run)) {
		struct sideband_output output = {
			.context = run, .intern = sideband_intern, .emit = sideband_emit, .lost = sideband_lost
		};
		run->sideband = sideband_new(&output, target->pids, target->pid_count, 0, error);
		if (!run->sideband)
			result = error_wrap(error, "process events");
	}
	for (size_t i = 0; !result && i < run->setup.sinks.count; i++)
		result = instance_prepare(run->setup.sinks.items[i], error);
	for (size_t i = 0; !result && i < run->setup.sources.count; i++)
		result = instance_prepare(run->setup.sources.items[i], error);
	return result;
}

static void send_head(struct run *run)
{
	for (size_t i = 0; i < run->setup.sources.count; i++) {
		const struct instance *source = run->setup.sources.items[i];
		struct iaprof_record_source record = { .number = source->number,
						       .name = intern_text_id(run->services.intern, source->name) };
		send(run, &record.header, IAPROF_RECORD_SOURCE, sizeof record);
	}
	char offset[32];
	snprintf(offset, sizeof offset, "%lu", clock_read(CLOCK_REALTIME) - clock_monotonic());
	send_metadata(run, METADATA_REALTIME_OFFSET, offset);
	char boot_id[BOOT_ID_SIZE];
	boot_id_read(boot_id);
	send_metadata(run, METADATA_BOOT_ID, boot_id);
	struct utsname system;
	if (!uname(&system)) {
		send_metadata(run, "kernel release", system.release);
		send_metadata(run, "machine", system.machine);
	}
}

static int watch(struct run *run, struct error *error)
{
	struct loop *loop = run->services.loop;
	uint64_t period = run->configuration->interval && run->configuration->interval < TICK
				  ? run->configuration->interval
				  : TICK;
	int result = loop_watch_timer(loop, period, tick, run, &run->tick);
	if (!result && run->sideband)
		result = loop_watch_descriptor(loop, sideband_descriptor(run->sideband), EPOLLIN, sideband_ready, run,
					       &run->sideband_watch);
	if (!result && run->sideband && run->mapped_files.watches.count)
		result = loop_watch_timer(loop, MAPPED_FILES_TICK, mapped_files_tick, run, &run->mapped_files_tick);
	if (!result && run->command.pid)
		result = loop_watch_descriptor(loop, run->command.descriptor, EPOLLIN, command_ready, run,
					       &run->command_watch);
	return result ? error_set(error, result, "event loop: %s", strerror(-result)) : 0;
}

/* From here on records flow. The sources start before the look through /proc, so that no sample waits for it. */
static int start(struct run *run, struct error *error)
{
	/* Their own threads come with the collector's, and call them only after this. */
	for (size_t i = 0; i < run->setup.sinks.count; i++)
		if (instance_start(run->setup.sinks.items[i], error))
			return error->code;
	run->collecting = collecting_start(&(struct collecting_options){ .bus = run->services.bus,
									 .intern = run->services.intern,
									 .sinks = run->setup.sinks.items,
									 .sink_count = run->setup.sinks.count,
									 .decoders = &run->setup.decoders,
									 .interval = run->configuration->interval,
									 .hold = run->configuration->hold,
									 .replays = run->setup.replays,
									 .lossless = is_offline(run) },
					   error);
	if (!run->collecting)
		return error->code;
	int result = watch(run, error);
	if (!result && run->sideband)
		result = sideband_start(run->sideband, error);
	if (!run->setup.replays)
		send_head(run);
	run->begin = own_cost_now();
	for (size_t i = 0; !result && i < run->setup.sources.count; i++)
		result = instance_start(run->setup.sources.items[i], error);
	if (!result && run->sideband)
		result = sideband_scan(run->sideband, error);
	if (!result && !run->setup.replays)
		synchronize(run);
	if (!result && run->command.pid)
		result = command_release(&run->command, error);
	uint64_t duration = run->configuration->duration;
	run->deadline = duration ? saturating_add(clock_monotonic(), duration) : UINT64_MAX;
	return result;
}

/* Whether any instance of them can go on. */
static bool any_going_on(struct instance *const *instances, size_t count)
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

static void go_on(struct run *run)
{
	const struct setup *setup = &run->setup;
	while (!interrupt_signal() && !run->command.ended && any_going_on(setup->sources.items, setup->sources.count) &&
	       any_going_on(setup->sinks.items, setup->sinks.count)) {
		uint64_t now = clock_monotonic();
		if (now >= run->deadline)
			break;
		loop_turn(run->services.loop, run->deadline == UINT64_MAX ? UINT64_MAX : run->deadline - now);
	}
}

/* The sources drain; then the last word on the processes; then what is known only afterwards. */
static void stop(struct run *run)
{
	struct error ignored = { 0 };
	for (size_t i = 0; i < run->setup.sources.count; i++)
		if (run->setup.sources.items[i]->prepared)
			instance_stop(run->setup.sources.items[i], &ignored);
	for (size_t i = 0; i < run->setup.sources.count; i++)
		if (run->setup.sources.items[i]->started)
			instance_finish(run->setup.sources.items[i], &ignored);
	for (size_t i = 0; i < run->setup.sources.count; i++)
		instance_report_refused(run->setup.sources.items[i]);
	if (!run->setup.replays)
		synchronize(run);
	run->end = own_cost_now();
	/* Before the sinks write: a second Ctrl-C while they do leaves no command behind. */
	command_end(&run->command);
}

static void show_failures(struct run *run, struct instance *const *instances, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (instances[i]->error.text[0])
			show(run, &instances[i]->error);
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
	call_report_print(result->calls, profile ? profile->end - profile->begin : 0, stderr);
	call_report_histograms(result->histograms, stderr);
}

/* Everything after the last record: profile, sinks, summary. */
static void finish(struct run *run)
{
	struct collecting_result result;
	if (run->status_line)
		log_status_line(NULL);
	collecting_finish(run->collecting, &result);
	show_failures(run, run->setup.sources.items, run->setup.sources.count);
	show_failures(run, run->setup.sinks.items, run->setup.sinks.count);
	run->failed |= result.profile_missing;
	if (result.profile && run->setup.has_table) {
		top_table_print(result.profile, terminal_width(), stdout);
		fprintf(stdout, "\n");
	}
	show_calls(&result);
	show_command(run);
	report_summary(&result, run->begin, run->end, run->setup.replays);
	if (run->setup.has_table && !result.sink_failed)
		log_notice("wrote %s", run->setup.sinks.items[0]->output.path);
}

static enum exit_status configure(struct run *run, struct registry *registry, struct error *error)
{
	if (make_services(run, error))
		return EXIT_STATUS_FAILED;
	if (setup_make(&run->setup, run->configuration, registry, &run->services, error) ||
	    check_target(run->configuration, error))
		return EXIT_STATUS_USAGE;
	if (setup_probe(&run->setup, NULL, error))
		return EXIT_STATUS_NOTHING;
	return EXIT_STATUS_COMPLETE;
}

static void release(struct run *run)
{
	command_end(&run->command);
	command_close(&run->command);
	interrupt_uninstall();
	collecting_free(run->collecting);
	setup_release(&run->setup);
	sideband_free(run->sideband);
	mapped_files_free(&run->mapped_files);
	loop_free(run->services.loop);
	intern_free(run->services.intern);
	bus_free(run->services.bus);
}

enum exit_status run(const struct configuration *configuration, struct registry *registry)
{
	struct run run = { .configuration = configuration, .command = COMMAND_INIT, .deadline = UINT64_MAX };
	struct error error = { 0 };
	enum exit_status status = configure(&run, registry, &error);
	if (status == EXIT_STATUS_COMPLETE) {
		interrupt_install(run.services.loop);
		run.status_line = isatty(STDERR_FILENO) && log_level() >= IAPROF_LOG_WARNING;
		int result = prepare(&run, &error);
		if (!result)
			result = start(&run, &error);
		if (!result)
			go_on(&run);
		stop(&run);
		if (!result)
			finish(&run);
		else if (run.collecting)
			collecting_abandon(run.collecting);
		status = run.failed || result ? EXIT_STATUS_FAILED : EXIT_STATUS_COMPLETE;
	}
	if (error.text[0])
		log_message(IAPROF_LOG_ERROR, "%s", error.text);
	release(&run);
	return status;
}
