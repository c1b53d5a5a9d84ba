/* SPDX-License-Identifier: Apache-2.0 */
/* See complaints.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include "complaints.h"

#define PERIOD UINT64_C(10000000000) /* ns */
#define LINES_PER_PERIOD 5u

/* Control characters of other people's paths must not reach a terminal. */
static void text_clean(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

void complain(struct complaints *complaints, const char *format, ...)
{
	const struct iaprof_host *host = complaints->host;
	uint64_t now = host->clock(host);

	if (now - complaints->begin > PERIOD) {
		complaints->begin = now;
		complaints->printed = 0;
	}
	if (complaints->printed == LINES_PER_PERIOD) {
		complaints->left_out++;
		return;
	}
	complaints->printed++;
	char text[1536];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	text_clean(text);
	host->log(host, IAPROF_LOG_WARNING, "%s", text);
}

void complaints_finish(struct complaints *complaints)
{
	if (complaints->left_out)
		complaints->host->log(complaints->host, IAPROF_LOG_WARNING, "%" PRIu64 " more messages were left out",
				      complaints->left_out);
	complaints->left_out = 0;
}
