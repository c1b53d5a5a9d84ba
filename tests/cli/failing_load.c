/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sink whose constructor ends the process that loads it, as the environment variable TEST_LOAD_ENDS names it, and
 * prints TEST_LOAD_PRINTS.
 */
#include <stdio.h>

#include <iaprof/plugin.h>

#include "ending.h"

__attribute__((constructor)) static void construct(void)
{
	const char *how = getenv("TEST_LOAD_ENDS"), *text = getenv("TEST_LOAD_PRINTS");
	if (text)
		printf("%s\n", text);
	for (int i = 0; how && endings[i]; i++)
		if (!strcmp(endings[i], how))
			end_process((enum ending)i);
}

static int profile(const struct iaprof_host *host, void *instance, const struct iaprof_profile *profile)
{
	(void)host, (void)instance, (void)profile;
	return 0;
}

static int finish(const struct iaprof_host *host, void *instance)
{
	(void)host, (void)instance;
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
	.flags = IAPROF_PLUGIN_NO_OUTPUT,
	.name = "failing-load",
	.description = "fails while it is loaded",
	.instance_size = 1,
	.sink = &operations,
};
IAPROF_REGISTER_PLUGIN(plugin)
