/* SPDX-License-Identifier: Apache-2.0 */
/* Services that a run provides to its instances, and its targets: see run_state.h. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "run/run_state.h"
#include "run/stop_signals.h"

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

/* The engine is freed before the sources, whose processes may still send requests. */
static int watch_files(void *context, struct instance *instance)
{
	struct run *run = context;
	return run->engine ? run->functions->watch_files(run->engine, instance_file_is_mapped, instance) : -EINVAL;
}

static int watch_unwind(void *context, struct instance *instance)
{
	struct run *run = context;
	return run->engine ? run->functions->watch_unwind(run->engine, instance_unwind, instance) : -ENOTSUP;
}

static void unwind_process(void *context, uint32_t pid, uint64_t execution)
{
	struct run *run = context;
	if (run->engine)
		run->functions->unwind_process(run->engine, pid, execution);
}

static int set_command_environment(void *context, const char *name, const char *value, bool prepend)
{
	return command_set_environment(&((struct run *)context)->command, name, value, prepend);
}

static int inject(void *context, struct instance *instance, const char *request, size_t size, struct error *error)
{
	return injectors_add(&((struct run *)context)->injectors, instance, request, size, error);
}

int run_make_services(struct run *run, struct error *error)
{
	const struct configuration *configuration = run->configuration;
	struct instance_services *services = &run->services;
	services->bus = bus_new(BUS_CAPACITY_DEFAULT);
	services->intern = services->bus ? intern_new(services->bus) : NULL;
	services->loop = loop_new();
	if (!services->loop)
		return error_set(error, errno, "cannot create the event loop: %s", strerror(errno));
	if (run->functions) {
		run->engine = run->functions->make(&(struct engine_services){ .bus = services->bus,
									      .intern = services->intern,
									      .loop = services->loop,
									      .target = &services->target });
		if (!run->engine)
			return error_set(error, ENOMEM, "out of memory");
	}
	services->watch_files = watch_files;
	services->watch_unwind = watch_unwind;
	services->unwind_process = unwind_process;
	services->command_environment = set_command_environment;
	services->inject = inject;
	services->ended = instance_ended;
	services->write_by = run_write_by;
	services->attend = run_attend;
	services->end_run = end_run;
	services->run_is_ending = is_ending;
	services->sample_stride = run_budget_stride;
	services->delivery = run_send_delivery;
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

void run_send(struct run *run, struct iaprof_record *record, uint16_t type, size_t size)
{
	record->type = type;
	record->size = (uint32_t)size;
	record->time = clock_monotonic();
	bus_send(run->services.bus, record);
}

void run_send_metadata(struct run *run, const char *key, const char *value)
{
	struct iaprof_record_metadata record = { .key = intern_text_id(run->services.intern, key),
						 .value = intern_text_id(run->services.intern, value) };
	run_send(run, &record.header, IAPROF_RECORD_METADATA, sizeof record);
}

void run_synchronize(struct run *run)
{
	struct iaprof_record_sync record = { 0 };
	if (run->engine)
		run->functions->drain(run->engine);
	run_send(run, &record.header, IAPROF_RECORD_SYNC, sizeof record);
}

void run_end_events(struct run *run)
{
	run_synchronize(run);
	if (run->engine)
		run->functions->close(run->engine);
	run->has_last_sync = true;
}

int run_check_target(struct run *run, struct error *error)
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
	if (!configuration->command || !command_check(configuration->command, error))
		return 0;
	run->command.failure = command_failure(error);
	return error->code;
}

void run_release_services(struct run *run)
{
	loop_free(run->services.loop);
	target_processes_close(&run->target_processes);
	target_cgroup_free(&run->cgroup);
	intern_free(run->services.intern);
	bus_free(run->services.bus);
}
