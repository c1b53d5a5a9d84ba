/* SPDX-License-Identifier: Apache-2.0 */
/* Host functions of an isolated sink for its outputs and the terminal: requests to iaprof, which writes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "run/isolation/isolated_process.h"

/* Represents a struct iaprof_output of iaprof. */
struct remote_output {
	uint32_t number; /* in iaprof */
	size_t used;
	char buffer[MESSAGE_BYTES_MAX];
};

struct request {
	uint32_t kind; /* enum message_kind */
	int32_t value;
	uint32_t number;
	const void *bytes;
	size_t size;
};

/* Sends a request. Returns its result; a failure is recorded for the calling callback. Any thread. */
static int send_request(const struct iaprof_host *host, const struct request *request)
{
	struct isolated_process *process = isolated_process_of(host);
	struct message *answer = malloc(sizeof *answer);
	if (!answer)
		return host->fail(host, ENOMEM, "out of memory");
	pthread_mutex_lock(&process->asking);
	int result = message_send(ISOLATED_SERVICE, request->kind, request->value, request->number, request->bytes,
				  request->size, NULL);
	if (!result)
		result = message_receive(ISOLATED_SERVICE, answer, NULL, NULL);
	pthread_mutex_unlock(&process->asking);
	if (result) /* iaprof has ended, or ends this process */
		result = host->fail(host, result, "cannot reach iaprof: %s", strerror(-result));
	else if (answer->size)
		result = host->fail(host, answer->head.value, "%s", answer->bytes);
	else
		result = answer->head.value;
	free(answer);
	return result;
}

static int send_output_request(const struct iaprof_host *host, uint32_t kind, const struct iaprof_output *output)
{
	const struct remote_output *remote = (const void *)output;
	return send_request(host, &(struct request){ .kind = kind, .number = remote->number });
}

static struct iaprof_output *host_open(const struct iaprof_host *host, const char *variant, uint32_t flags)
{
	struct remote_output *remote = malloc(sizeof *remote);
	if (!remote) {
		host->fail(host, ENOMEM, "out of memory");
		return NULL;
	}
	int number = send_request(host, &(struct request){ .kind = MESSAGE_OUTPUT_OPEN,
							   .value = variant != NULL,
							   .number = flags,
							   .bytes = variant,
							   .size = variant ? strlen(variant) : 0 });
	remote->number = (uint32_t)number;
	remote->used = 0;
	if (number >= 0)
		return (struct iaprof_output *)remote;
	free(remote);
	return NULL;
}

static int send_bytes(const struct iaprof_host *host, const struct remote_output *remote, const char *bytes,
		      size_t size)
{
	return send_request(
		host, &(struct request){
			      .kind = MESSAGE_OUTPUT_WRITE, .number = remote->number, .bytes = bytes, .size = size });
}

static int send_rest(const struct iaprof_host *host, struct remote_output *remote)
{
	size_t used = remote->used;
	remote->used = 0;
	return used ? send_bytes(host, remote, remote->buffer, used) : 0;
}

static int host_write(const struct iaprof_host *host, struct iaprof_output *output, const void *data, size_t size)
{
	struct remote_output *remote = (void *)output;
	const char *bytes = data;
	int result = 0;
	while (size && !result) {
		size_t room = sizeof remote->buffer - remote->used, part = size < room ? size : room;
		memcpy(remote->buffer + remote->used, bytes, part);
		remote->used += part;
		bytes += part;
		size -= part;
		if (remote->used == sizeof remote->buffer)
			result = send_rest(host, remote);
	}
	return result;
}

static int host_flush(const struct iaprof_host *host, struct iaprof_output *output)
{
	int result = send_rest(host, (void *)output);
	return result ? result : send_output_request(host, MESSAGE_OUTPUT_FLUSH, output);
}

static void host_discard(const struct iaprof_host *host, struct iaprof_output *output)
{
	(void)send_output_request(host, MESSAGE_OUTPUT_DISCARD, output);
	free(output);
}

static int host_close(const struct iaprof_host *host, struct iaprof_output *output)
{
	int result = send_rest(host, (void *)output);
	if (result) {
		host_discard(host, output);
		return result;
	}
	result = send_output_request(host, MESSAGE_OUTPUT_CLOSE, output);
	free(output);
	return result;
}

static int host_is_single(const struct iaprof_host *host)
{
	return send_request(host, &(struct request){ .kind = MESSAGE_OUTPUT_IS_SINGLE });
}

static int host_screen_acquire(const struct iaprof_host *host, const char *restore)
{
	return send_request(host, &(struct request){ .kind = MESSAGE_SCREEN_ACQUIRE,
						     .bytes = restore ? restore : "",
						     .size = restore ? strlen(restore) : 0 });
}

static void host_screen_release(const struct iaprof_host *host)
{
	(void)send_request(host, &(struct request){ .kind = MESSAGE_SCREEN_RELEASE });
}

void isolated_outputs_host(struct iaprof_host *host)
{
	host->output_open = host_open;
	host->output_write = host_write;
	host->output_flush = host_flush;
	host->output_close = host_close;
	host->output_discard = host_discard;
	host->output_is_single = host_is_single;
	host->screen_acquire = host_screen_acquire;
	host->screen_release = host_screen_release;
}
