/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host services of an isolated source that need iaprof. All others are those of instance_host.c and instance_watch.c,
 * with the bus, the intern table and the loop of this process.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"
#include "plugin/plugin_call.h"
#include "run/isolation/isolated_process.h"
#include "run/isolation/message.h"

static struct isolated_process *process_of(const struct iaprof_host *host)
{
	return instance_of(host)->services->context;
}

static void send_text(const struct isolated_process *process, int level, const char *text)
{
	(void)message_send(process->channel, MESSAGE_LOG, level, 0, text, strlen(text), 0);
}

IAPROF_PRINTF(3, 4) static void host_log(const struct iaprof_host *host, int level, const char *format, ...)
{
	if (level > log_level())
		return;
	char text[2048];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	send_text(process_of(host), level, text);
}

/* Sends a request and returns its result. Only in prepare(), when iaprof sends nothing else. */
static int request(const struct isolated_process *process, uint32_t kind, int32_t value, const char *bytes, size_t size)
{
	struct message answer;
	if (process->instance->prepared || strcmp(plugin_call_callback(), "prepare") != 0)
		return -EINVAL;
	int result = message_send(process->channel, kind, value, 0, bytes, size, 0);
	if (!result)
		result = message_receive(process->channel, &answer, NULL, 0);
	return result ? result : answer.kind == MESSAGE_ANSWER ? answer.value : -EBADMSG;
}

static int host_command_environment(const struct iaprof_host *host, const char *name, const char *value, uint32_t how)
{
	char bytes[MESSAGE_BYTES_MAX];
	size_t name_size = strlen(name) + 1, value_size = strlen(value) + 1;
	if (name_size + value_size > sizeof bytes)
		return -E2BIG;
	memcpy(bytes, name, name_size);
	memcpy(bytes + name_size, value, value_size);
	return request(process_of(host), MESSAGE_ENVIRONMENT, (int32_t)how, bytes, name_size + value_size);
}

static int watch_mapped_files(const struct iaprof_host *host, iaprof_mapped_file_callback *callback,
			      iaprof_on_mapped_file *on_mapped_file)
{
	struct instance *instance = instance_of(host);
	if (instance->mapped_file_callback || instance->on_mapped_file)
		return -EINVAL;
	int result = request(process_of(host), MESSAGE_WATCH_FILES, 0, NULL, 0);
	if (result)
		return result;
	instance->mapped_file_callback = callback;
	instance->on_mapped_file = on_mapped_file;
	return 0;
}

static int host_watch_mapped_files(const struct iaprof_host *host, iaprof_mapped_file_callback *callback)
{
	return watch_mapped_files(host, callback, NULL);
}

static int host_on_mapped_file(const struct iaprof_host *host, iaprof_on_mapped_file *callback)
{
	return watch_mapped_files(host, NULL, callback);
}

static int watch_unwind(const struct iaprof_host *host, iaprof_unwind_callback *callback, iaprof_on_unwind *on_unwind)
{
	struct instance *instance = instance_of(host);
	if (instance->unwind_callback || instance->on_unwind)
		return -EINVAL;
	int result = request(process_of(host), MESSAGE_WATCH_UNWIND, 0, NULL, 0);
	if (result)
		return result;
	instance->unwind_callback = callback;
	instance->on_unwind = on_unwind;
	return 0;
}

static int host_watch_unwind(const struct iaprof_host *host, iaprof_unwind_callback *callback)
{
	return watch_unwind(host, callback, NULL);
}

static int host_on_unwind(const struct iaprof_host *host, iaprof_on_unwind *callback)
{
	return watch_unwind(host, NULL, callback);
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
	(void)message_send(process->channel, MESSAGE_UNWIND_PROCESS, 0, pid, &execution, sizeof execution, 0);
}

static void check_item(void *context, uint32_t state, const char *name, const char *text)
{
	const struct isolated_process *process = context;
	char bytes[4096];
	int length = snprintf(bytes, sizeof bytes, "%.1000s%c%.2000s", name, '\0', text);
	(void)message_send(process->channel, MESSAGE_CHECK_ITEM, (int32_t)state, 0, bytes, (size_t)length, 0);
}

static void ended(void *context, struct instance *instance)
{
	const struct isolated_process *process = context;
	pthread_mutex_lock(&instance->lock);
	struct error error = instance->error;
	pthread_mutex_unlock(&instance->lock);
	(void)message_send(process->channel, MESSAGE_ENDED, error.code, 0, error.text, strlen(error.text), 0);
}

void isolated_host_init(struct isolated_process *process)
{
	struct iaprof_host *host = &process->instance->host;
	process->services.context = process;
	process->services.check_item = check_item;
	process->services.unwind_process = unwind_process;
	process->services.ended = ended;
	host->log = host_log;
	host->command_environment = host_command_environment;
	host->watch_mapped_files = host_watch_mapped_files;
	host->on_mapped_file = host_on_mapped_file;
	host->watch_unwind = host_watch_unwind;
	host->on_unwind = host_on_unwind;
}
