/* SPDX-License-Identifier: Apache-2.0 */
/* See missing_spans.h. */
#include "stacks/missing_spans.h"

#include <stddef.h>
#include <string.h>

static const char *metadata_find(const struct iaprof_profile *profile, const char *key)
{
	for (const char *const *pair = profile->metadata; pair && pair[0] && pair[1]; pair += 2)
		if (strcmp(pair[0], key) == 0)
			return pair[1];
	return NULL;
}

void missing_spans_report(const struct iaprof_host *host, const struct iaprof_profile *profile)
{
	if (!(profile->flags & IAPROF_PROFILE_TOTAL) || profile->flags & IAPROF_PROFILE_DIFFERENCE)
		return;
	for (uint32_t i = 0; i < profile->stack_count; i++)
		if (iaprof_profile_stack_span(profile, i))
			return;
	const char *counts = metadata_find(profile, "spans of threads");
	if (counts)
		host->log(host, IAPROF_LOG_WARNING, "spans=yes: no sample has a span (threads: %s)", counts);
	else if (metadata_find(profile, "unwind tables"))
		host->log(host, IAPROF_LOG_WARNING,
			  "spans=yes: no sample has a span: no program published thread contexts (otel_thread_ctx_v1, "
			  "see iaprof-cpu-stack(7))");
	else
		host->log(host, IAPROF_LOG_WARNING,
			  "spans=yes: no sample has a span: no source read thread contexts (cpu-stack, off-cpu and "
			  "ze-usdt do, without unwind=fp and since Linux 5.17)");
}
