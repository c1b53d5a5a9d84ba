/* SPDX-License-Identifier: Apache-2.0 */
/* What sinks ask of the run: see instance_run.h. */
#include "plugin/instance_run.h"

#include <errno.h>

#include "base/clock.h"
#include "plugin/instance.h"
#include "run/screen.h"

/* As the option --interval. */
#define INTERVAL_MINIMUM (NANOSECONDS_PER_SECOND / 1000)

void instance_request(const struct iaprof_host *host, uint32_t flags)
{
	instance_of(host)->requests |= flags;
}

void instance_default_interval(const struct iaprof_host *host, uint64_t interval)
{
	instance_of(host)->default_interval = interval < INTERVAL_MINIMUM ? INTERVAL_MINIMUM : interval;
}

void instance_end_run(const struct iaprof_host *host)
{
	const struct instance_services *services = instance_of(host)->services;
	if (services->end_run)
		services->end_run(services->context);
}

int instance_run_is_ending(const struct iaprof_host *host)
{
	const struct instance_services *services = instance_of(host)->services;
	return services->run_is_ending && services->run_is_ending(services->context);
}

int instance_screen_take(const struct iaprof_host *host, const char *restore)
{
	struct instance *instance = instance_of(host);
	int result = atomic_load(&instance->has_screen) ? -EBUSY : screen_take(restore);
	if (!result)
		atomic_store(&instance->has_screen, true);
	return result;
}

void instance_give_back_screen(struct instance *instance)
{
	if (atomic_exchange(&instance->has_screen, false))
		screen_release();
}

void instance_screen_release(const struct iaprof_host *host)
{
	instance_give_back_screen(instance_of(host));
}
