/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iaprof-code-worker [PLUGIN [KEY=VALUE...]]: reads images of device code for iaprof and decodes their instructions
 * with a decoder plugin, which is loaded and configured before all privileges are dropped.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "child/channel.h"
#include "plugin/plugin_call.h"
#include "run/instance.h"
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
	struct instance *instance = plugin ? instance_new(plugin, &wanted, UINT16_MAX, &services, &error) : NULL;
	return instance && !instance_configure(instance, &error) ? instance : NULL;
}

/* Socket of the child, used by the signal handler. */
static int child_socket = -1;

static void report_failure(int failure, const char *callback)
{
	const struct channel_failure message = { (uint32_t)failure, decoder_callback_find(callback) };
	(void)channel_send_bytes(child_socket, CHANNEL_FAILED, &message, sizeof message, -1, NULL);
}

static int serve(void *context, int socket)
{
	child_socket = socket;
	return code_service_serve(context, socket);
}

int main(int argc, char **argv)
{
	struct instance *instance = argc > 1 ? load(argv + 1) : NULL;
	/* Informs iaprof that the requested decoder is not available. */
	if (argc > 1 && !instance)
		return EXIT_FAILURE;
	struct decoder decoder = instance ? instance_decoder(instance) : (struct decoder){ 0 };
	plugin_call_report_failures(report_failure);
	zygote_run(serve, instance ? &decoder : NULL);
}
