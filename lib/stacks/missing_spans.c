/* SPDX-License-Identifier: Apache-2.0 */
/* See missing_spans.h. */
#include "stacks/missing_spans.h"

#include <string.h>

#include "text/text.h"

/* Appends the values of a key: the first source's, and those of others, which are named ("KEY (NAME)"). */
static void append_values(struct text *text, const struct iaprof_profile *profile, const char *key)
{
	size_t length = strlen(key);
	for (const char *const *pair = profile->metadata; pair && pair[0] && pair[1]; pair += 2)
		if (strncmp(pair[0], key, length) == 0 && (!pair[0][length] || pair[0][length] == ' '))
			text_append_format(text, "%s%s%s", text->size ? "; " : "", pair[1], pair[0] + length);
}

void missing_spans_report(const struct iaprof_host *host, const struct iaprof_profile *profile)
{
	if (!(profile->flags & IAPROF_PROFILE_TOTAL) || profile->flags & IAPROF_PROFILE_DIFFERENCE)
		return;
	for (uint32_t i = 0; i < profile->stack_count; i++)
		if (iaprof_profile_stack_span(profile, i))
			return;
	struct text counts = { 0 }, tables = { 0 };
	append_values(&counts, profile, "spans of threads");
	append_values(&tables, profile, "unwind tables");
	if (counts.size)
		host->log(host, IAPROF_LOG_WARNING, "spans=yes: no sample has a span (threads: %s)",
			  text_string(&counts));
	else if (tables.size)
		host->log(host, IAPROF_LOG_WARNING,
			  "spans=yes: no sample has a span: no program published thread contexts (otel_thread_ctx_v1, "
			  "see iaprof-cpu-stack(7))");
	else
		host->log(host, IAPROF_LOG_WARNING,
			  "spans=yes: no sample has a span: no source read thread contexts (cpu-stack, off-cpu and "
			  "ze-usdt do, without unwind=fp and since Linux 5.17)");
	text_free(&counts);
	text_free(&tables);
}
