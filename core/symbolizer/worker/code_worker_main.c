/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iaprof-code-worker [PLUGIN [KEY=VALUE...]]: reads images of device code for iaprof, and names their instructions
 * with a decoder plugin, which is loaded and configured before all rights are given up.
 */
#include <stdlib.h>
#include <string.h>

#include "plugin/decoder.h"
#include "symbolizer/worker/code_service.h"
#include "symbolizer/worker/zygote.h"

static struct instance *load(char **arguments)
{
	static struct instance_services services;
	struct error error = { 0 };
	struct instance_configuration wanted = { .plugin = arguments[0] };
	struct plugin *plugin = plugin_load(arguments[0], &error);
	for (char **argument = arguments + 1; plugin && *argument; argument++) {
		char *equals = strchr(*argument, '=');
		if (!equals)
			return NULL;
		*equals = '\0';
		struct setting setting = { .key = *argument, .value = equals + 1, .origin = "command line" };
		if (!array_push(&wanted.settings, setting))
			return NULL;
	}
	struct instance *decoder = plugin ? instance_new(plugin, &wanted, UINT16_MAX, &services, &error) : NULL;
	return decoder && !instance_configure(decoder, &error) ? decoder : NULL;
}

int main(int argc, char **argv)
{
	struct instance *decoder = argc > 1 ? load(argv + 1) : NULL;
	/* Without its decoder it is not what was asked for: iaprof learns that from its end. */
	if (argc > 1 && !decoder)
		return EXIT_FAILURE;
	zygote_run(code_service_serve, decoder);
}
