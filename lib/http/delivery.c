/* SPDX-License-Identifier: Apache-2.0 */
/* See delivery.h. */
#include "http/delivery.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "text/plural.h"
#include "text/text.h"

/* How long a replay waits for its server at the end. */
#define REPLAY_FINISH (60 * NANOSECONDS_PER_SECOND)

/* Appends "(2 refused: HTTP status 400, 3 dropped: the spool is full)". */
static void append_fates(struct text *text, const struct sender *sender, const struct sender_counts *counts)
{
	static const char *const fates[SENDER_FATE_COUNT] = { [SENDER_REJECTED] = "rejected",
							      [SENDER_REFUSED] = "refused",
							      [SENDER_DROPPED] = "dropped",
							      [SENDER_UNSENT] = "not sent in time" };
	const uint64_t numbers[SENDER_FATE_COUNT] = { [SENDER_REJECTED] = counts->rejected,
						      [SENDER_REFUSED] = counts->refused,
						      [SENDER_DROPPED] = counts->dropped,
						      [SENDER_UNSENT] = counts->unsent };
	const char *separator = "(";
	for (uint32_t fate = 0; fate < SENDER_FATE_COUNT; fate++) {
		const char *reason = sender_reason(sender, (enum sender_fate)fate);
		if (!numbers[fate])
			continue;
		text_append_format(text, "%s%" PRIu64 " %s%s%s", separator, numbers[fate], fates[fate],
				   *reason ? ": " : "", reason);
		separator = ", ";
	}
	text_append_string(text, ")");
}

static int fail(const struct iaprof_host *host, const struct sender *sender, const struct sender_counts *counts,
		uint64_t missing, const char *what)
{
	struct text fates = { 0 };
	uint64_t all = missing + counts->sent + counts->kept;
	append_fates(&fates, sender, counts);
	int result =
		host->fail(host, EIO, "%" PRIu64 " of %" PRIu64 " %s%s %s not delivered to %s %s", missing, all, what,
			   plural(all), missing == 1 ? "was" : "were", sender_url(sender), text_string(&fates));
	text_free(&fates);
	return result;
}

static void report(const struct iaprof_host *host, const struct sender *sender, const struct sender_counts *counts,
		   const char *what)
{
	const char *error = sender_error(sender), *url = sender_url(sender);
	if (counts->kept)
		host->log(host, IAPROF_LOG_WARNING,
			  "%s: %" PRIu64 " %s%s in the spool for the next run that uses it%s%s", url, counts->kept,
			  what, counts->kept == 1 ? " waits" : "s wait", *error ? ": " : "", error);
	host->log(host, IAPROF_LOG_INFO, "sent %" PRIu64 " %s%s to %s", counts->sent, what, plural(counts->sent), url);
}

int delivery_finish(const struct iaprof_host *host, struct sender *sender, const char *what)
{
	const struct iaprof_target *target = host->target(host);
	uint64_t limit = REPLAY_FINISH;
	/* The core regards a sink as stuck after the whole time. */
	if (target->finish_within)
		limit = target->finish_within / 4 * 3;
	struct sender_counts counts = sender_finish(sender, limit);
	report(host, sender, &counts, what);
	uint64_t missing = counts.rejected + counts.refused + counts.dropped + counts.unsent;
	return missing ? fail(host, sender, &counts, missing, what) : 0;
}
