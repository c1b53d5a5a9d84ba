/* SPDX-License-Identifier: Apache-2.0 */
/* A source that ends the program in one of its callbacks: at= selects it, how= selects a signal or exit(). */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <iaprof/plugin.h>

struct ending {
	const struct iaprof_host *host;
	const char *at, *how;
};

static const struct iaprof_option options[] = {
	{
		.name = "at",
		.type = IAPROF_OPTION_STRING,
		.offset = offsetof(struct ending, at),
		.default_value = "start",
		.help = "Callback.",
	},
	{
		.name = "how",
		.type = IAPROF_OPTION_STRING,
		.offset = offsetof(struct ending, how),
		.default_value = "crash",
		.help = "crash or exit.",
	},
};

static int end_at(const struct ending *ending, const char *callback)
{
	if (strcmp(ending->at, callback) != 0)
		return 0;
	if (strcmp(ending->how, "exit") == 0)
		exit(0);
	raise(SIGSEGV);
	return -EFAULT;
}

static int configure(const struct iaprof_host *host, void *instance)
{
	struct ending *ending = instance;
	ending->host = host;
	return 0;
}

static int prepare(const struct iaprof_host *host, void *instance)
{
	return end_at(instance, "prepare");
}

static int start(const struct iaprof_host *host, void *instance)
{
	return end_at(instance, "start");
}

static int stop(const struct iaprof_host *host, void *instance)
{
	return end_at(instance, "stop");
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
	.name = "ending-source",
	.description = "a source that ends the program",
	IAPROF_PLUGIN_OPTIONS(options),
	.instance_size = sizeof(struct ending),
	.source = &operations,
	.configure = configure,
};
IAPROF_REGISTER_PLUGIN(plugin)
