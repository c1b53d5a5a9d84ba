/* SPDX-License-Identifier: Apache-2.0 */
/* Host functions with which sinks control the run: see instance_run.h. */
#include "run/instance_run.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "run/instance.h"
#include "run/output/screen.h"

/* Minimum of --interval. */
#define INTERVAL_MINIMUM (NANOSECONDS_PER_SECOND / 1000)

static void host_request(const struct iaprof_host *host, uint32_t flags)
{
	instance_of(host)->requests |= flags;
}

static void host_default_interval(const struct iaprof_host *host, uint64_t interval)
{
	instance_of(host)->default_interval = interval < INTERVAL_MINIMUM ? INTERVAL_MINIMUM : interval;
}

static void host_end_run(const struct iaprof_host *host)
{
	const struct instance_services *services = instance_of(host)->services;
	if (services->end_run)
		services->end_run(services->context);
}

static int host_run_is_ending(const struct iaprof_host *host)
{
	return instance_run_is_ending(instance_of(host));
}

static void host_delivery(const struct iaprof_host *host, const struct iaprof_delivery *delivery)
{
	struct instance *instance = instance_of(host);
	struct iaprof_delivery known = { 0 };
	if (!delivery || !IAPROF_HAS_MEMBER(delivery, delivery->size, stored) || !instance->services->delivery)
		return;
	memcpy(&known, delivery, delivery->size < sizeof known ? delivery->size : sizeof known);
	known.size = sizeof known;
	instance->services->delivery(instance->services->context, instance, &known);
}

static int host_screen_acquire(const struct iaprof_host *host, const char *restore)
{
	struct instance *instance = instance_of(host);
	int result = atomic_load(&instance->has_screen) ? -EBUSY : screen_acquire(restore ? restore : "");
	if (!result) {
		atomic_store(&instance->has_screen, true);
		atomic_store(&instance->had_screen, true);
	}
	return result;
}

void instance_give_back_screen(struct instance *instance)
{
	if (atomic_exchange(&instance->has_screen, false))
		screen_release();
}

static void host_screen_release(const struct iaprof_host *host)
{
	instance_give_back_screen(instance_of(host));
}

void instance_run_host(struct iaprof_host *host)
{
	host->request = host_request;
	host->default_interval = host_default_interval;
	host->end_run = host_end_run;
	host->run_is_ending = host_run_is_ending;
	host->delivery = host_delivery;
	host->screen_acquire = host_screen_acquire;
	host->screen_release = host_screen_release;
}
