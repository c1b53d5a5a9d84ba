/* SPDX-License-Identifier: Apache-2.0 */
/* Host functions for a sink's outputs: see instance_output.h. */
#include "run/instance_output.h"

#include <errno.h>

/* Returns the result of an output function; a failure is recorded for the calling callback. */
static int output_result(const struct iaprof_host *host, int result, const struct error *error)
{
	return result ? host->fail(host, result, "%s", error->text) : 0;
}

static struct iaprof_output *host_open(const struct iaprof_host *host, const char *variant, uint32_t flags)
{
	struct instance *instance = instance_of(host);
	struct error error = { 0 };
	instance->has_opened = true;
	struct iaprof_output *output = output_open(&instance->output, variant, flags, &error);
	if (output && array_push(&instance->outputs, output))
		return output;
	if (output) {
		output_discard(output);
		error_set(&error, ENOMEM, "out of memory");
	}
	output_result(host, error.code, &error);
	return NULL;
}

static int host_is_single(const struct iaprof_host *host)
{
	return output_target_is_stream(&instance_of(host)->output);
}

static int host_write(const struct iaprof_host *host, struct iaprof_output *output, const void *data, size_t size)
{
	struct error error = { 0 };
	return output_result(host, output_write(output, data, size, &error), &error);
}

static int host_flush(const struct iaprof_host *host, struct iaprof_output *output)
{
	struct error error = { 0 };
	return output_result(host, output_flush(output, &error), &error);
}

/* Returns whether a profile contains Linux kernel addresses, which reveal its address space randomization. */
static bool has_kernel_addresses(const struct iaprof_profile *profile)
{
	for (size_t i = 0; i < profile->frame_count; i++) {
		const struct iaprof_frame *frame = iaprof_profile_frame(profile, (uint32_t)i);
		if (frame->kind == IAPROF_FRAME_LINUX_KERNEL && frame->address)
			return true;
	}
	return false;
}

int instance_outputs_protect(struct instance *instance, const struct iaprof_profile *profile)
{
	struct error error = { 0 };
	if (instance->output.is_private || !has_kernel_addresses(profile))
		return 0;
	instance->output.is_private = true;
	for (size_t i = 0; i < instance->outputs.count; i++)
		if (output_make_private(instance->outputs.items[i], &error))
			return output_result(&instance->host, error.code, &error);
	return 0;
}

int instance_outputs_check(struct instance *instance)
{
	const struct iaprof_host *host = &instance->host;
	if (instance->outputs.count)
		host->fail(host, EIO, "output %s was not finished: the plugin left it open",
			   output_name_shown(instance->outputs.items[0]));
	else if (!instance->has_opened && !atomic_load(&instance->had_screen) &&
		 !(instance->plugin->description.flags & IAPROF_PLUGIN_NO_OUTPUT))
		host->fail(host, EIO, "output %s was not written: the plugin never opened it",
			   output_path_shown(instance->output.path));
	else
		return 0;
	return instance_fail(instance, -EIO, "finish", NULL);
}

static void forget_output(struct instance *instance, const struct iaprof_output *output)
{
	for (size_t i = 0; i < instance->outputs.count; i++)
		if (instance->outputs.items[i] == output)
			instance->outputs.items[i] = instance->outputs.items[--instance->outputs.count];
}

static int host_close(const struct iaprof_host *host, struct iaprof_output *output)
{
	struct error error = { 0 };
	forget_output(instance_of(host), output);
	return output_result(host, output_close(output, &error), &error);
}

static void host_discard(const struct iaprof_host *host, struct iaprof_output *output)
{
	forget_output(instance_of(host), output);
	output_discard(output);
}

void instance_output_host(struct iaprof_host *host)
{
	host->output_open = host_open;
	host->output_write = host_write;
	host->output_flush = host_flush;
	host->output_close = host_close;
	host->output_discard = host_discard;
	host->output_is_single = host_is_single;
}
