/* SPDX-License-Identifier: Apache-2.0 */
/* See delivery.h. */
#include "http/delivery.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "text/plural.h"

/* How long a replay waits for its server at the end. */
#define REPLAY_FINISH (60 * NANOSECONDS_PER_SECOND)

static void report(const struct iaprof_host *host, const struct sender_counts *counts, const char *url,
		   const char *what, const char *error)
{
	static const char *const fates[] = { "the receiver rejected", "the receiver refused", "dropped" };
	const uint64_t numbers[] = { counts->rejected, counts->refused, counts->dropped };
	for (size_t i = 0; i < sizeof fates / sizeof *fates; i++)
		if (numbers[i])
			host->log(host, IAPROF_LOG_WARNING, "%s %" PRIu64 " %s%s%s%s", fates[i], numbers[i], what,
				  plural(numbers[i]), *error ? ": " : "", error);
	if (counts->kept)
		host->log(host, IAPROF_LOG_WARNING, "%" PRIu64 " %s%s in the spool for the next run%s%s", counts->kept,
			  what, counts->kept == 1 ? " waits" : "s wait", *error ? ": " : "", error);
	host->log(host, IAPROF_LOG_INFO, "sent %" PRIu64 " %s%s to %s", counts->sent, what, plural(counts->sent), url);
}

int delivery_finish(const struct iaprof_host *host, struct sender *sender, const char *url, const char *what)
{
	const struct iaprof_target *target = host->target(host);
	const char *error;
	uint64_t limit = REPLAY_FINISH;
	/* The core regards a sink as stuck after the whole time. */
	if (target->size >= offsetof(struct iaprof_target, finish_within) + sizeof target->finish_within &&
	    target->finish_within)
		limit = target->finish_within / 4 * 3;
	struct sender_counts counts = sender_finish(sender, limit, &error);
	report(host, &counts, url, what, error);
	uint64_t missing = counts.rejected + counts.refused + counts.dropped;
	uint64_t all = missing + counts.sent + counts.kept;
	return missing ? host->fail(host, EIO, "%" PRIu64 " of %" PRIu64 " %s%s %s not delivered to %s%s%s", missing,
				    all, what, plural(all), missing == 1 ? "was" : "were", url, *error ? ": " : "",
				    error)
		       : 0;
}

bool delivery_is_url(const char *url)
{
	return strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
}
