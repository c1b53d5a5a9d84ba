/* SPDX-License-Identifier: Apache-2.0 */
/* See warning_limit.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include "warning_limit.h"

#include "text/printable.h"

#define PERIOD UINT64_C(10000000000) /* ns */
#define LINES_PER_PERIOD 5u

void warning_limit_log(struct warning_limit *warnings, const char *format, ...)
{
	const struct iaprof_host *host = warnings->host;
	uint64_t now = host->clock(host);

	if (now - warnings->begin > PERIOD) {
		warnings->begin = now;
		warnings->printed = 0;
	}
	if (warnings->printed == LINES_PER_PERIOD) {
		warnings->left_out++;
		return;
	}
	warnings->printed++;
	char text[1536];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	text_make_printable(text);
	host->log(host, IAPROF_LOG_WARNING, "%s", text);
}

void warning_limit_report(struct warning_limit *warnings)
{
	if (warnings->left_out)
		warnings->host->log(warnings->host, IAPROF_LOG_WARNING, "messages suppressed: %" PRIu64,
				    warnings->left_out);
	warnings->left_out = 0;
}
