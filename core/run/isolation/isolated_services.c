/* SPDX-License-Identifier: Apache-2.0 */
/* The services of a run for an isolated source: they ask iaprof, by messages. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "plugin/plugin_call.h"
#include "run/isolation/isolated_process.h"

static void send_log(void *context, const struct instance *instance, int level, const char *text)
{
	(void)message_send(ISOLATED_CHANNEL, MESSAGE_LOG, level, 0, text, strlen(text), NULL);
}

/* Sends a request and returns its result. error: set to what came with it; may be NULL. Only in prepare(), when iaprof
   sends nothing else. */
static int request_with_error(const struct isolated_process *process, uint32_t kind, int32_t value, const char *bytes,
			      size_t size, struct error *error)
{
	struct message answer = { 0 };
	if (process->instance->prepared || strcmp(plugin_call_callback(), "prepare") != 0)
		return -EINVAL;
	int result = message_send(ISOLATED_CHANNEL, kind, value, 0, bytes, size, NULL);
	if (!result)
		result = message_receive(ISOLATED_CHANNEL, &answer, NULL, NULL);
	if (!result)
		result = answer.header.type == MESSAGE_ANSWER ? answer.head.value : -EBADMSG;
	if (result && error)
		error_set(error, result, "%.2000s",
			  answer.header.type == MESSAGE_ANSWER ? answer.bytes : strerror(-result));
	return result;
}

static int request(const struct isolated_process *process, uint32_t kind, int32_t value, const char *bytes, size_t size)
{
	return request_with_error(process, kind, value, bytes, size, NULL);
}

static int inject(void *context, struct instance *instance, const char *bytes, size_t size, struct error *error)
{
	return request_with_error(context, MESSAGE_INJECT, 0, bytes, size, error);
}

static int command_environment(void *context, const char *name, const char *value, bool prepend)
{
	char bytes[MESSAGE_BYTES_MAX];
	size_t name_size = strlen(name) + 1, value_size = strlen(value) + 1;
	if (name_size + value_size > sizeof bytes)
		return -E2BIG;
	memcpy(bytes, name, name_size);
	memcpy(bytes + name_size, value, value_size);
	return request(context, MESSAGE_ENVIRONMENT, prepend ? IAPROF_ENVIRONMENT_PREPEND_PATH : IAPROF_ENVIRONMENT_SET,
		       bytes, name_size + value_size);
}

static int watch_files(void *context, struct instance *instance)
{
	return request(context, MESSAGE_WATCH_FILES, 0, NULL, 0);
}

static int watch_unwind(void *context, struct instance *instance)
{
	return request(context, MESSAGE_WATCH_UNWIND, 0, NULL, 0);
}

/* A source asks with each sample that needs the process: iaprof is asked once in a while. */
static void unwind_process(void *context, uint32_t pid, uint64_t execution)
{
	struct isolated_process *process = context;
	struct unwind_request *last = &process->unwind_requests[pid % UNWIND_REQUESTS];
	uint64_t now = clock_monotonic();
	if (last->pid == pid && last->execution == execution && now - last->time < UNWIND_REQUEST_PERIOD)
		return;
	*last = (struct unwind_request){ .pid = pid, .execution = execution, .time = now };
	(void)message_send(ISOLATED_CHANNEL, MESSAGE_REQUEST_UNWIND, 0, pid, &execution, sizeof execution, NULL);
}

static void check_item(void *context, uint32_t state, const char *name, const char *text)
{
	char bytes[4096];
	int length = snprintf(bytes, sizeof bytes, "%.1000s%c%.2000s", name, '\0', text);
	(void)message_send(ISOLATED_CHANNEL, MESSAGE_CHECK_ITEM, (int32_t)state, 0, bytes, (size_t)length, NULL);
}

static void ended(void *context, struct instance *instance)
{
	pthread_mutex_lock(&instance->lock);
	struct error error = instance->error;
	pthread_mutex_unlock(&instance->lock);
	(void)message_send(ISOLATED_CHANNEL, MESSAGE_ENDED, error.code, 0, error.text, strlen(error.text), NULL);
}

void isolated_services_init(struct isolated_process *process)
{
	struct instance_services *services = &process->services;
	services->context = process;
	services->log = send_log;
	services->watch_files = watch_files;
	services->watch_unwind = watch_unwind;
	services->unwind_process = unwind_process;
	services->command_environment = command_environment;
	services->inject = inject;
	services->check_item = check_item;
	services->ended = ended;
}
