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

static int watch_files(void *context, struct instance *instance)
{
	struct run *run = context;
	return mapped_files_watch(&run->mapped_files, instance_file_is_mapped, instance) ? 0 : -ENOMEM;
}

static int set_command_environment(void *context, const char *name, const char *value, bool prepend)
{
	return command_set_environment(&((struct run *)context)->command, name, value, prepend);
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
	services->watch_files = watch_files;
	services->watch_unwind = unwind_tables_watch;
	services->unwind_process = unwind_tables_request;
	services->command_environment = set_command_environment;
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
	return configuration->command ? command_check(configuration->command, error) : 0;
}

void run_release_services(struct run *run)
{
	loop_free(run->services.loop);
	target_processes_close(&run->target_processes);
	target_cgroup_free(&run->cgroup);
	intern_free(run->services.intern);
	bus_free(run->services.bus);
}
