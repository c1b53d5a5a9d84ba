/* SPDX-License-Identifier: Apache-2.0 */
/* See listening_host.h. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "records/listening_host.h"

IAPROF_PRINTF(3, 4) static int record_failure(const struct iaprof_host *host, int error, const char *format, ...)
{
	struct listening_host *listening = (struct listening_host *)(uintptr_t)host;
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(listening->text, sizeof listening->text, format, arguments);
	va_end(arguments);
	return -abs(error);
}

void listening_host_init(struct listening_host *listening, const struct iaprof_host *host)
{
	*listening = (struct listening_host){ .host = { .size = sizeof listening->host } };
	memcpy(&listening->host, host, host->size < sizeof listening->host ? host->size : sizeof listening->host);
	listening->host.fail = record_failure;
}
