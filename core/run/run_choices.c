/* SPDX-License-Identifier: Apache-2.0 */
/* What follows from the configuration of a run and from its instances: see run_state.h. */
#include <string.h>

#include "base/log.h"
#include "run/run_state.h"

/* Default interval of --continuous. */
#define CONTINUOUS_INTERVAL (60 * NANOSECONDS_PER_SECOND)
/* Time resolution of runs with idle gaps of devices: fine enough to separate waits. */
#define GAP_RESOLUTION UINT64_C(1000000) /* ns */

bool run_follows_children(const struct run *run)
{
	return run->configuration->pids.count && !run->configuration->without_children;
}

bool run_needs_processes(const struct run *run)
{
	for (size_t i = 0; i < run->setup.sources.count; i++)
		if (run->setup.sources.items[i]->plugin->description.flags & IAPROF_PLUGIN_NEEDS_PROCESSES &&
		    !run->setup.sources.items[i]->offline)
			return true;
	return false;
}

bool run_is_offline(const struct run *run)
{
	for (size_t i = 0; i < run->setup.sources.count; i++)
		if (!run->setup.sources.items[i]->offline)
			return run->setup.replays;
	return true;
}

uint64_t run_time_resolution(const struct run *run)
{
	uint64_t finest = run->time_resolution;
	for (size_t i = 0; i < run->setup.sinks.count; i++) {
		uint64_t resolution = run->setup.sinks.items[i]->time_resolution;
		finest = resolution && (!finest || resolution < finest) ? resolution : finest;
	}
	return finest;
}

uint32_t run_requests(const struct run *run)
{
	uint32_t requests = run->requests;
	for (size_t i = 0; i < run->setup.sinks.count; i++)
		requests |= run->setup.sinks.items[i]->requests;
	return requests;
}

static uint32_t source_flags(const struct run *run)
{
	uint32_t flags = 0;
	for (size_t i = 0; i < run->setup.sources.count; i++)
		flags |= run->setup.sources.items[i]->plugin->description.flags;
	return flags;
}

uint64_t run_source_resolution(const struct run *run)
{
	uint64_t finest = run_time_resolution(run);
	uint32_t flags = source_flags(run);
	bool has_gaps = flags & IAPROF_PLUGIN_JOBS && flags & IAPROF_PLUGIN_WAITS;
	return has_gaps && (!finest || GAP_RESOLUTION < finest) ? GAP_RESOLUTION : finest;
}

uint64_t run_choose_interval(const struct run *run)
{
	uint64_t shortest = run->configuration->interval;
	if (shortest || run_is_offline(run))
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
		if (!instance_is_dead(instances[i]) && !instances[i]->is_missing)
			return false;
	return true;
}

bool run_has_nothing_left(const struct run *run)
{
	const struct setup *setup = &run->setup;
	return all_are_dead(setup->sources.items, setup->sources.count) ||
	       (setup->sinks.count && all_are_dead(setup->sinks.items, setup->sinks.count));
}

/* Returns whether the user relies on a source: it was named, and not as optional. */
static bool is_required(const struct run *run, const struct instance *source)
{
	return !source->is_optional && !source->brought_by && !run->setup.sources_by_probe;
}

int run_source_result(struct run *run, struct instance *source, int result, struct error *error)
{
	if (!result || instance_is_dead(source))
		return run_result_of(run, source, result);
	if (is_required(run, source))
		return result;
	source->is_missing = true;
	if (run_has_nothing_left(run))
		return result;
	if (source->is_optional)
		log_message(IAPROF_LOG_WARNING, "%s (the run continues without this optional source)", error->text);
	else
		run_show(run, error);
	/* It was shown. */
	pthread_mutex_lock(&source->lock);
	source->error = (struct error){ 0 };
	pthread_mutex_unlock(&source->lock);
	*error = (struct error){ 0 };
	instance_end_early(source);
	return 0;
}

int run_result_of(const struct run *run, const struct instance *instance, int result)
{
	return instance_is_dead(instance) && !run_has_nothing_left(run) ? 0 : result;
}
