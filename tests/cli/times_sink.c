/* SPDX-License-Identifier: Apache-2.0 */
/* A sink of intervals that has sources tell the times of samples, for another sink that writes them. */
#include <iaprof/plugin.h>

static int configure(const struct iaprof_host *host, void *instance)
{
	host->request_times(host, IAPROF_TIME_RESOLUTION_MIN);
	return 0;
}

static int profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *interval)
{
	return 0;
}

static int finish(const struct iaprof_host *host, void *instance)
{
	return 0;
}

static const struct iaprof_sink_operations operations = {
	.size = sizeof operations,
	.profile = profile,
	.finish = finish,
};

static const struct iaprof_plugin plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SINK,
	.flags = IAPROF_PLUGIN_INTERVALS | IAPROF_PLUGIN_NO_OUTPUT,
	.name = "times-sink",
	.description = "Requests times",
	.instance_size = 1,
	.sink = &operations,
	.configure = configure,
};

IAPROF_REGISTER_PLUGIN(plugin)
