/* SPDX-License-Identifier: Apache-2.0 */
/*
 * iaprof-injector PID LIBRARY FUNCTION ARGUMENT API CALLS: loads a library into a running process and calls a function
 * of it, for host->inject(), whose struct iaprof_injection has these values. Ends when the channel to iaprof does.
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "child/channel.h"
#include "child/child.h"
#include "inject/inject.h"
#include "run/injector_messages.h"

IAPROF_PRINTF(2, 0) static void send_text(uint32_t type, const char *format, va_list arguments)
{
	char text[INJECTOR_TEXT_MAX];
	vsnprintf(text, sizeof text, format, arguments);
	(void)channel_send_bytes(CHILD_CHANNEL, type, text, strlen(text), -1, NULL);
}

IAPROF_PRINTF(3, 4) static void host_log(const struct iaprof_host *host, int level, const char *format, ...)
{
	va_list arguments;
	(void)host;
	va_start(arguments, format);
	send_text((uint32_t)level, format, arguments);
	va_end(arguments);
}

/* Of failures: the source has its answer once the library can be loaded, and what fails later is logged. */
static uint32_t failure_type = INJECTOR_HAS_FAILED;

IAPROF_PRINTF(3, 4) static int host_fail(const struct iaprof_host *host, int error, const char *format, ...)
{
	va_list arguments;
	(void)host;
	va_start(arguments, format);
	send_text(failure_type, format, arguments);
	va_end(arguments);
	return error < 0 ? error : error ? -error : -EINVAL;
}

/* Returns false if the run ends before it has begun. */
static bool wait_for_begin(void)
{
	struct channel_header header;
	int descriptor = -1;
	return !channel_receive(CHILD_CHANNEL, &header, &descriptor, NULL) && header.type == INJECTOR_BEGIN;
}

static uint64_t host_clock(const struct iaprof_host *host)
{
	(void)host;
	return clock_monotonic();
}

int main(int count, char **arguments)
{
	const struct iaprof_host host = { .size = sizeof host,
					  .instance_name = INJECTOR_PROGRAM,
					  .clock = host_clock,
					  .log = host_log,
					  .fail = host_fail };
	if (count != 7)
		return EXIT_FAILURE;
	struct injection_request request = { .pid = (pid_t)strtoul(arguments[1], NULL, 10),
					     .library = arguments[2],
					     .function = *arguments[3] ? arguments[3] : NULL,
					     .argument = arguments[4],
					     .api = arguments[5] };
	struct injection *injection;
	request.calls_count = watched_calls_parse(arguments[6], request.calls);
	if (!request.calls_count) {
		host.fail(&host, EINVAL, "the functions to wait for are malformed");
		return EXIT_FAILURE;
	}
	if (injection_check(&host, &request) ||
	    channel_send_bytes(CHILD_CHANNEL, INJECTOR_IS_READY, NULL, 0, -1, NULL) || !wait_for_begin())
		return EXIT_FAILURE;
	failure_type = IAPROF_LOG_ERROR;
	if (injection_start(&host, &request, &injection))
		return EXIT_FAILURE;
	/* The other end sends nothing more: it is closed when the run ends. */
	struct pollfd end = { .fd = CHILD_CHANNEL, .events = POLLIN | POLLRDHUP };
	while (poll(&end, 1, -1) < 0 && errno == EINTR)
		;
	injection_end(injection);
	return EXIT_SUCCESS;
}
