/* SPDX-License-Identifier: Apache-2.0 */
/* Unwind tables for the sources that ask for them: see engine_state.h. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "base/log.h"
#include "engine_state.h"
#include "text/plural.h"
#include "text/printable.h"

/* Limits on processes that are read before the run begins, and on the time for that. */
#define PREPARED_MAX 64u
#define PREPARED_TIME (NANOSECONDS_PER_SECOND / 2)
/* Maximum wait for tables after the last sample: copies of stacks need them, and the next run finds them cached. */
#define FINISH_TIME NANOSECONDS_PER_SECOND
/* Time between two reads of process events meanwhile, ns. */
#define FINISH_STEP (NANOSECONDS_PER_SECOND / 20)
/* Limit on messages about files, so that they do not hide the rest of the summary. */
#define REFUSALS_SHOWN 16u

static void deliver(void *context, const struct iaprof_unwind_table *table, const struct iaprof_unwind_process *process)
{
	struct engine *engine = context;
	for (size_t i = 0; i < engine->unwind_watchers.count; i++)
		engine->unwind_watchers.items[i].callback(engine->unwind_watchers.items[i].context, table, process);
}

static void feed_ready(void *context, uint32_t events)
{
	struct engine *engine = context;
	unwind_feed_deliver(engine->unwind_feed, deliver, engine);
}

int unwind_tables_watch(struct engine *engine, unwind_feed_callback *callback, void *context)
{
	struct unwind_watcher watcher = { callback, context };
	if (!array_push(&engine->unwind_watchers, watcher))
		return -ENOMEM;
	if (engine->unwind_feed)
		return 0;
	engine->unwind_feed = unwind_feed_new();
	return engine->unwind_feed
		       ? loop_watch_descriptor(engine->services.loop, unwind_feed_descriptor(engine->unwind_feed),
					       EPOLLIN, feed_ready, engine, NULL)
		       : -errno;
}

void unwind_tables_request(struct engine *engine, uint32_t pid, uint64_t execution)
{
	if (!unwind_feed_is_new(engine->unwind_feed, pid, execution))
		return;
	/* First processes the events that preceded the sample: fork, exec and mappings. */
	process_feed_drain(engine);
	process_feed_rescan_process(engine, pid, execution);
	unwind_feed_request(engine->unwind_feed, pid, execution);
}

void unwind_tables_take(struct engine *engine, const struct iaprof_record *record)
{
	if (!engine->unwind_feed)
		return;
	const struct iaprof_record_mapping *mapping = (const void *)record;
	const char *path =
		record->type == IAPROF_RECORD_MAPPING ? intern_text(engine->services.intern, mapping->path) : "";
	unwind_feed_take(engine->unwind_feed, record, path);
	engine->unwind_changes = true;
}

void unwind_tables_prepare(struct engine *engine)
{
	const struct iaprof_target *target = engine->services.target;
	if (!engine->unwind_feed || !target->pid_count)
		return;
	for (uint32_t i = 0; i < target->pid_count && i < PREPARED_MAX; i++)
		unwind_feed_prepare(engine->unwind_feed, target->pids[i]);
	(void)unwind_feed_wait(engine->unwind_feed, clock_monotonic() + PREPARED_TIME, deliver, engine);
}

/* Short-lived processes take their files, mount namespaces and map_files along. */
static bool is_gone(const struct refusal *refusal)
{
	return !strcmp(refusal->reason, strerror(ENOENT)) || !strcmp(refusal->reason, strerror(ESTALE));
}

static void report_files(const struct unwind_feed_summary *summary)
{
	uint64_t more = summary->refused_more, gone = 0, shown = 0;
	for (size_t i = 0; i < summary->refusal_count; i++) {
		const struct refusal *refusal = &summary->refusals[i];
		if (log_level() >= IAPROF_LOG_INFO || (!is_gone(refusal) && shown < REFUSALS_SHOWN))
			log_message(IAPROF_LOG_WARNING, "no unwind table of %s: %s", path_end(refusal->path).text,
				    refusal->reason);
		else
			*(is_gone(refusal) ? &gone : &more) += 1;
		shown += !is_gone(refusal);
	}
	if (gone)
		log_message(IAPROF_LOG_WARNING,
			    "no unwind table of %" PRIu64
			    " file%s that had been removed, or whose processes had ended (-v "
			    "lists them)",
			    gone, plural(gone));
	if (more)
		log_message(IAPROF_LOG_WARNING, "no unwind table of %" PRIu64 " more file%s (-v lists them)", more,
			    plural(more));
}

void unwind_tables_report(const struct engine *engine)
{
	if (!engine->unwind_feed)
		return;
	struct unwind_feed_summary summary = unwind_feed_summarize(engine->unwind_feed);
	report_files(&summary);
	for (size_t i = 0; i < summary.users->count; i++)
		if (summary.users->items[i].refused)
			log_message(IAPROF_LOG_WARNING,
				    "no unwind tables for %" PRIu64 " process%s of user %" PRIu32
				    ": limit per user exceeded (mappings, or time to read them)",
				    summary.users->items[i].refused, summary.users->items[i].refused == 1 ? "" : "es",
				    summary.users->items[i].user);
	if (summary.truncated)
		log_message(IAPROF_LOG_WARNING,
			    "unwind tables for only %" PRIu32 " mappings of each of %" PRIu64
			    " processes (limit reached)",
			    summary.mappings_max, summary.truncated);
	if (summary.dropped)
		log_message(IAPROF_LOG_WARNING, "unwind tables: dropped %" PRIu64 " process event%s (too many at once)",
			    summary.dropped, plural(summary.dropped));
	log_message(IAPROF_LOG_INFO,
		    "unwind tables: %" PRIu64 " row%s of %" PRIu64 " file%s; %" PRIu64 " file%s without one, %" PRIu64
		    " function%s left out; %" PRIu64 " file%s from the cache",
		    summary.rows, plural(summary.rows), summary.tables, plural(summary.tables),
		    summary.files - summary.tables, plural(summary.files - summary.tables), summary.skipped,
		    plural(summary.skipped), summary.cached, plural(summary.cached));
}

void unwind_tables_finish(struct engine *engine, uint64_t limit)
{
	if (!engine->unwind_feed)
		return;
	uint64_t begin = clock_monotonic(), end = begin + (limit < FINISH_TIME ? limit : FINISH_TIME);
	for (uint64_t now = begin; now < end; now = clock_monotonic()) {
		uint64_t next = now + FINISH_STEP < end ? now + FINISH_STEP : end;
		if (unwind_feed_wait(engine->unwind_feed, next, deliver, engine))
			break;
		process_feed_drain(engine); /* the ring buffers would overflow */
	}
	/* Leaves memory and CPU time to the symbolizer. */
	unwind_feed_end(engine->unwind_feed);
}

void unwind_tables_free(struct engine *engine)
{
	unwind_feed_free(engine->unwind_feed);
	array_free(&engine->unwind_watchers);
}
