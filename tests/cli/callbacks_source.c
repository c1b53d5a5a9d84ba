/* SPDX-License-Identifier: Apache-2.0 */
/* A source that reports which of its callbacks are called. */
#include <iaprof/plugin.h>

struct source {
	uint64_t number;
};

static const struct iaprof_option options[] = {
	IAPROF_OPTION(struct source, number, UINT, "number", NULL, "what it calls itself"),
};

static int say(const struct iaprof_host *host, const void *instance, const char *callback)
{
	const struct source *source = instance;
	host->log(host, IAPROF_LOG_WARNING, "number %d: %s", (int)source->number, callback);
	return 0;
}

static int prepare(const struct iaprof_host *host, void *instance)
{
	return say(host, instance, "prepare");
}

static int start(const struct iaprof_host *host, void *instance)
{
	return say(host, instance, "start");
}

static int stop(const struct iaprof_host *host, void *instance)
{
	return say(host, instance, "stop");
}

static void destroy(const struct iaprof_host *host, void *instance)
{
	say(host, instance, "destroy");
}

static const struct iaprof_source_operations operations = {
	.size = sizeof operations,
	.prepare = prepare,
	.start = start,
	.stop = stop,
};

static const struct iaprof_plugin plugin = {
	IAPROF_PLUGIN_VERSIONS,
	.kind = IAPROF_PLUGIN_SOURCE,
	.flags = IAPROF_PLUGIN_ONLY_BY_NAME,
	.name = "callbacks-source",
	.description = "reports its callbacks",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct source),
	.source = &operations,
	.destroy = destroy,
};
IAPROF_REGISTER_PLUGIN(plugin)
