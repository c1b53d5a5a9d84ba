/* SPDX-License-Identifier: Apache-2.0 */
/* See injectors.h. */
#include "run/injectors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "child/channel.h"
#include "child/child.h"
#include "child/helper.h"
#include "run/injector_messages.h"

/* Reading the process's files may wait for a server. Less than a callback of an isolated source may take. */
#define BEGIN_WITHIN (3 * NANOSECONDS_PER_SECOND)
/* A message that has begun is complete: the program sends each at once. */
#define MESSAGE_WITHIN (NANOSECONDS_PER_SECOND / 10)
#define END_WITHIN (2 * NANOSECONDS_PER_SECOND)
#define ARGUMENTS_MAX 8

struct injector {
	struct instance *instance;
	struct child child;
	struct loop_watch *watch; /* of the channel; NULL: it is closed */
};

/* Receives a message. Returns 0, -EPIPE at the end, or another negative errno. */
static int receive(struct injector *injector, struct channel_header *header, char text[INJECTOR_TEXT_MAX + 1],
		   const struct deadline *deadline)
{
	int descriptor = -1;
	int result = channel_receive(injector->child.channel, header, &descriptor, deadline);
	if (descriptor >= 0)
		close(descriptor);
	if (result)
		return result;
	if (header->size > INJECTOR_TEXT_MAX)
		return -EBADMSG;
	text[header->size] = '\0';
	const struct deadline rest = deadline_make(NULL, MESSAGE_WITHIN);
	return channel_read(injector->child.channel, text, header->size, &rest);
}

static void take_text(const struct injector *injector, uint32_t level, const char *text)
{
	const struct iaprof_host *host = &injector->instance->host;
	host->log(host, (int)level, "%s", text);
}

static void close_channel(struct injector *injector)
{
	if (injector->watch)
		loop_unwatch(injector->instance->services->loop, STEAL_POINTER(injector->watch));
}

static void take_message(void *context, uint32_t events)
{
	struct injector *injector = context;
	char text[INJECTOR_TEXT_MAX + 1];
	struct channel_header header;
	const struct deadline deadline = deadline_make(NULL, MESSAGE_WITHIN);
	(void)events;
	if (receive(injector, &header, text, &deadline))
		close_channel(injector);
	else
		take_text(injector, header.type, text);
}

/* Waits until the program has examined the process: 0, or sets error. */
static int wait_until_ready(struct injector *injector, struct error *error)
{
	const struct deadline deadline = deadline_make(NULL, BEGIN_WITHIN);
	char text[INJECTOR_TEXT_MAX + 1], cause[CHILD_CAUSE_SIZE];
	struct channel_header header;
	int result;
	while (!(result = receive(injector, &header, text, &deadline))) {
		if (header.type == INJECTOR_IS_READY)
			return 0;
		if (header.type == INJECTOR_HAS_FAILED)
			return error_set(error, ENOTSUP, "%s", text);
		take_text(injector, header.type, text);
	}
	if (result == -ETIMEDOUT)
		return error_set(error, ETIMEDOUT, "reading the process took more than %d s",
				 (int)(BEGIN_WITHIN / NANOSECONDS_PER_SECOND));
	child_kill(&injector->child, CHILD_KILL_TIME);
	return error_set(error, ECHILD, "%s %s", INJECTOR_PROGRAM, child_cause(injector->child.status, cause));
}

static void free_injector(struct injector *injector)
{
	close_channel(injector);
	child_close(&injector->child);
	free(injector);
}

/* Makes the command line, which points into the request. */
static bool split(char *request, size_t size, char *arguments[ARGUMENTS_MAX])
{
	size_t count = 0;
	arguments[count++] = INJECTOR_PROGRAM;
	for (char *text = request; text < request + size; text += strlen(text) + 1) {
		if (count == ARGUMENTS_MAX - 1)
			return false;
		arguments[count++] = text;
	}
	arguments[count] = NULL;
	return count == ARGUMENTS_MAX - 1;
}

/* A source in a process of its own may ask for anything. */
static bool is_target(const struct instance *instance, const char *pid)
{
	const struct iaprof_target *target = &instance->services->target;
	for (uint32_t i = 0; i < target->pid_count; i++)
		if (strtoul(pid, NULL, 10) == target->pids[i])
			return true;
	return false;
}

int injectors_add(struct injectors *injectors, struct instance *instance, const char *request, size_t size,
		  struct error *error)
{
	char *arguments[ARGUMENTS_MAX];
	char copy[INJECTION_REQUEST_MAX];
	if (!size || size > sizeof copy || request[size - 1])
		return error_set(error, EINVAL, "malformed request");
	memcpy(copy, request, size);
	if (!split(copy, size, arguments))
		return error_set(error, EINVAL, "malformed request");
	if (!is_target(instance, arguments[1]))
		return error_set(error, EPERM, "process %s is not profiled in this run", arguments[1]);
	struct injector *injector = calloc(1, sizeof *injector);
	if (!injector || !array_push(&injectors->items, injector)) {
		free(injector);
		return error_set(error, ENOMEM, "out of memory");
	}
	*injector = (struct injector){ .instance = instance, .child = CHILD_NONE };
	int result = helper_start(&injector->child, arguments);
	if (result == -ENOENT)
		error_set(error, ENOENT, "%s is not installed", INJECTOR_PROGRAM);
	else if (result)
		error_set(error, result, "cannot start %s: %s", INJECTOR_PROGRAM, strerror(-result));
	else
		result = wait_until_ready(injector, error);
	if (!result)
		result = loop_watch_descriptor(instance->services->loop, injector->child.channel, EPOLLIN, take_message,
					       injector, &injector->watch);
	if (result) {
		injectors->items.count--;
		free_injector(injector);
	}
	return result;
}

void injectors_begin(struct injectors *injectors)
{
	for (size_t i = 0; i < injectors->items.count; i++)
		(void)channel_send_bytes(injectors->items.items[i]->child.channel, INJECTOR_BEGIN, NULL, 0, -1,
					 CHANNEL_NOW);
}

void injectors_end(struct injectors *injectors)
{
	for (size_t i = 0; i < injectors->items.count; i++)
		if (injectors->items.items[i]->watch)
			shutdown(injectors->items.items[i]->child.channel, SHUT_WR);
	const struct deadline deadline = deadline_make(NULL, END_WITHIN);
	for (size_t i = 0; i < injectors->items.count; i++) {
		struct injector *injector = injectors->items.items[i];
		char text[INJECTOR_TEXT_MAX + 1];
		struct channel_header header;
		while (injector->watch && !receive(injector, &header, text, &deadline))
			take_text(injector, header.type, text);
		free_injector(injector);
	}
	array_free(&injectors->items);
}

size_t injection_pack(const struct iaprof_injection *injection, char bytes[INJECTION_REQUEST_MAX])
{
	const char *const texts[] = { injection->library, injection->function ? injection->function : "",
				      injection->argument ? injection->argument : "", injection->api,
				      injection->calls };
	size_t used = (size_t)snprintf(bytes, INJECTION_REQUEST_MAX, "%u", injection->pid) + 1;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		size_t length = texts[i] ? strlen(texts[i]) + 1 : 0;
		if (!length || length > INJECTION_REQUEST_MAX - used)
			return 0;
		memcpy(bytes + used, texts[i], length);
		used += length;
	}
	return used;
}
