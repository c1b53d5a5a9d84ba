/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of an isolated sink, in its own process: see isolated_process.h. */
#include <errno.h>

#include "run/isolation/isolated_process.h"

static void end_run(void *context)
{
	struct isolated_process *process = context;
	if (!atomic_exchange(&process->memory->run_is_ending, 1))
		(void)message_send(ISOLATED_CHANNEL, MESSAGE_END_RUN, 0, 0, NULL, 0, NULL);
}

static bool run_is_ending(void *context)
{
	const struct isolated_process *process = context;
	return atomic_load(&process->memory->run_is_ending);
}

static void send_delivery(void *context, struct instance *instance, const struct iaprof_delivery *delivery)
{
	(void)message_send(ISOLATED_CHANNEL, MESSAGE_DELIVERY, 0, 0, delivery, sizeof *delivery, NULL);
}

void isolated_sink_init(struct isolated_process *process)
{
	pthread_mutex_init(&process->asking, NULL);
	process->services.end_run = end_run;
	process->services.run_is_ending = run_is_ending;
	process->services.delivery = send_delivery;
	isolated_outputs_host(&process->instance->host);
}

/* Returns the result of a callback, with the error that the instance has stored. */
static int result_of(const struct isolated_process *process, int result, struct error *error)
{
	if (result)
		*error = process->instance->error;
	return result;
}

int isolated_sink_configure(struct isolated_process *process, struct error *error)
{
	const struct instance *instance = process->instance;
	int result = instance_configure(process->instance, error);
	const struct sink_requests requests = { .requests = instance->requests,
						.time_resolution = instance->time_resolution,
						.default_interval = instance->default_interval };
	(void)message_send(ISOLATED_CHANNEL, MESSAGE_REQUESTS, 0, 0, &requests, sizeof requests, NULL);
	return result;
}

int isolated_sink_records(struct isolated_process *process, const struct sink_batch *batch, struct error *error)
{
	const struct iaprof_batch records = { .records = process->memory->records,
					      .size = (size_t)batch->size,
					      .count = (uint32_t)batch->count };
	return result_of(process, instance_records(process->instance, &records), error);
}

int isolated_sink_profile(struct isolated_process *process, struct error *error)
{
	if (!process->profile.copy)
		return error_set(error, ENOMEM, "out of memory: cannot map a profile");
	int result = instance_profile(process->instance, process->profile.copy);
	unpacked_free(&process->profile);
	return result_of(process, result, error);
}
