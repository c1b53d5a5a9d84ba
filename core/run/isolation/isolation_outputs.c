/* SPDX-License-Identifier: Apache-2.0 */
/* Serves the requests of an isolated sink's process: outputs, which iaprof writes, and the terminal. */
#include <errno.h>
#include <string.h>

#include "run/instance_run.h"
#include "run/isolation/isolation_state.h"
#include "run/output/screen.h"

/* Requests that are served in a turn, so that messages are also taken. */
#define REQUESTS_PER_TURN 64

static int open_output(struct isolated_sink *sink, const struct iaprof_host *host, const struct message *request)
{
	uint32_t number = 0;
	while (number < SINK_OUTPUTS_MAX && sink->outputs[number])
		number++;
	if (number == SINK_OUTPUTS_MAX)
		return host->fail(host, EMFILE, "more than %d outputs are open", SINK_OUTPUTS_MAX);
	sink->outputs[number] =
		host->output_open(host, request->head.value ? request->bytes : NULL, request->head.number);
	return sink->outputs[number] ? (int)number : -EIO;
}

/* Serves a request that refers to an open output. */
static int serve_output(struct isolated_sink *sink, const struct iaprof_host *host, const struct message *request)
{
	struct iaprof_output *output =
		request->head.number < SINK_OUTPUTS_MAX ? sink->outputs[request->head.number] : NULL;
	if (!output)
		return -EBADF;
	if (request->header.type == MESSAGE_OUTPUT_WRITE)
		return host->output_write(host, output, request->bytes, request->size);
	if (request->header.type == MESSAGE_OUTPUT_FLUSH)
		return host->output_flush(host, output);
	sink->outputs[request->head.number] = NULL;
	if (request->header.type == MESSAGE_OUTPUT_CLOSE)
		return host->output_close(host, output);
	host->output_discard(host, output);
	return 0;
}

static int serve(struct isolation *isolation, const struct message *request)
{
	const struct iaprof_host *host = &isolation->instance->host;
	switch (request->header.type) {
	case MESSAGE_OUTPUT_OPEN:
		return open_output(&isolation->sink, host, request);
	case MESSAGE_OUTPUT_WRITE:
	case MESSAGE_OUTPUT_FLUSH:
	case MESSAGE_OUTPUT_CLOSE:
	case MESSAGE_OUTPUT_DISCARD:
		return serve_output(&isolation->sink, host, request);
	case MESSAGE_OUTPUT_IS_SINGLE:
		return host->output_is_single(host);
	case MESSAGE_SCREEN_ACQUIRE:
		return host->screen_acquire(host, request->bytes);
	case MESSAGE_SCREEN_RELEASE:
		host->screen_release(host);
		return 0;
	default:
		return -EBADMSG;
	}
}

/* Takes the causes that a service has reported with host->fail(). */
static struct error take_cause(struct instance *instance)
{
	pthread_mutex_lock(&instance->lock);
	struct error cause = instance->cause;
	instance->cause = (struct error){ 0 };
	pthread_mutex_unlock(&instance->lock);
	return cause;
}

void isolation_sink_serve(struct isolation *isolation)
{
	struct isolated_sink *sink = &isolation->sink;
	for (int i = 0; i < REQUESTS_PER_TURN && !isolation->is_dead; i++) {
		/* One that ends or is malformed is noticed in the other channel, or by its time. */
		if (message_receive(sink->service, &isolation->message, NULL, CHANNEL_NOW))
			return;
		const struct message *request = &isolation->message;
		size_t written = request->header.type == MESSAGE_OUTPUT_WRITE ? request->size : 0;
		uint64_t begin = clock_monotonic();
		int result = serve(isolation, request);
		struct error cause = take_cause(isolation->instance);
		(void)message_send(sink->service, MESSAGE_ANSWER, result, 0, cause.text, strlen(cause.text),
				   CHANNEL_NOW);
		isolation_progress_note(isolation, result, written, clock_monotonic() - begin);
	}
}

void isolation_sink_discard(struct isolation *isolation)
{
	struct instance *instance = isolation->instance;
	for (uint32_t i = 0; i < SINK_OUTPUTS_MAX; i++)
		if (isolation->sink.outputs[i]) {
			instance->host.output_discard(&instance->host, isolation->sink.outputs[i]);
			isolation->sink.outputs[i] = NULL;
		}
	if (!atomic_load(&instance->has_screen))
		return;
	screen_restore_at_once();
	instance_give_back_screen(instance);
}
