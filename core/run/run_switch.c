/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has a run take the place of another one: prepares it while that one continues, stops the sources of that one, and
 * starts its own. See run_state.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/priority.h"
#include "base/thread.h"
#include "run/run_state.h"
#include "run/stop_signals.h"
#include "text/text.h"

/* Gaps that are shorter than this are no warning. */
#define GAP_WARNED (NANOSECONDS_PER_SECOND / 2)

static const char gap_key[] = "gap before this run";
static const char lost_reason[] = "samples: the run was restarted";

/* A thread that turns the loop of a run while this one prepares the next. */
struct turning {
	struct run *run;
	pthread_t thread;
	atomic_bool is_over;
};

/* Whether the run is to end is seen afterwards: its sources are not left alone. */
static void *turn(void *argument)
{
	struct turning *turning = argument;
	while (!atomic_load(&turning->is_over))
		loop_turn(turning->run->services.loop, UINT64_MAX);
	return NULL;
}

static void end_turning(struct turning *turning)
{
	atomic_store(&turning->is_over, true);
	loop_wake(turning->run->services.loop);
	pthread_join(turning->thread, NULL);
}

/* Returns an error if one of them, in a process of its own, has failed already. */
static int refuse_failed(struct instance *const *instances, size_t count, struct error *error)
{
	for (size_t i = 0; i < count; i++)
		if (instance_is_dead(instances[i]))
			return error_set(error, EIO, "%s failed while it was prepared", instances[i]->name);
	return 0;
}

static int prepare(struct run *next, bool wants_all, struct error *error)
{
	if (run_configure(next, error))
		return error->text[0] ? error->code : error_set(error, EIO, "it cannot be started");
	int result = run_prepare(next, error);
	if (!result)
		result = run_begin(next, true, error);
	/* Its events since then are in rings. */
	if (!result && next->engine)
		result = next->functions->scan(next->engine, error);
	if (!result && wants_all)
		result = refuse_failed(next->setup.sources.items, next->setup.sources.count, error);
	if (!result && wants_all)
		result = refuse_failed(next->setup.sinks.items, next->setup.sinks.count, error);
	/* By a signal, which ends both. */
	return result || !run_is_ending(next) ? result : error_set(error, ECANCELED, "interrupted");
}

int run_prepare_beside(struct run *next, struct run *earlier, bool wants_all, struct error *error)
{
	struct turning turning = { .run = earlier };
	int result = thread_start(&turning.thread, turn, &turning);
	if (result)
		return error_set(error, result, "cannot start a thread: %s", strerror(result));
	priority_lower_thread();
	result = prepare(next, wants_all, error);
	if (result)
		run_discard(next);
	end_turning(&turning);
	priority_raise_thread();
	return result;
}

struct gaps {
	struct text text; /* "0.0004 s (cpu-stack), 0.3101 s (ze-usdt)" */
	uint64_t longest;
};

/* States in the data that a source took no samples since a time. */
static void report_lost(struct instance *source, uint64_t since)
{
	source->host.lost(&source->host, lost_reason, since, IAPROF_COUNT_UNKNOWN, 0, 0);
}

static void add_gap(struct gaps *gaps, struct instance *source, uint64_t since)
{
	uint64_t gap = clock_monotonic() - since;
	report_lost(source, since);
	gaps->longest = gap > gaps->longest ? gap : gaps->longest;
	text_append_format(&gaps->text, "%s%.4f s (%s)", gaps->text.size ? ", " : "",
			   (double)gap / (double)NANOSECONDS_PER_SECOND, source->name);
}

/* Returns the source of the earlier run whose place another one takes: of the same plugin, preferably of its name. */
static const struct instance *find_predecessor(const struct run *earlier, const struct instance *source)
{
	const struct instance *of_plugin = NULL;
	for (size_t i = 0; i < earlier->setup.sources.count; i++) {
		const struct instance *before = earlier->setup.sources.items[i];
		if (before->plugin != source->plugin || !before->started)
			continue;
		if (!strcmp(before->name, source->name))
			return before;
		of_plugin = of_plugin ? of_plugin : before;
	}
	return of_plugin;
}

static int start_sources(const struct run *earlier, struct run *next, struct gaps *gaps, struct error *error)
{
	int result = 0;
	for (size_t i = 0; !result && i < next->setup.sources.count; i++) {
		struct instance *source = next->setup.sources.items[i];
		const struct instance *before = find_predecessor(earlier, source);
		if (!source->is_missing)
			result = run_source_result(next, source, instance_start(source, error), error);
		if (before && source->started)
			add_gap(gaps, source, before->stopped_at);
	}
	return result;
}

static void report(struct run *next, struct gaps *gaps)
{
	if (!gaps->text.size)
		return;
	const char *text = text_string(&gaps->text);
	run_send_metadata(next, gap_key, text);
	log_message(gaps->longest >= GAP_WARNED ? IAPROF_LOG_WARNING : IAPROF_LOG_INFO,
		    "the run was restarted: no samples for %s", text);
}

int run_switch(struct run *earlier, struct run *next, struct error *error)
{
	struct gaps gaps = { 0 };
	stop_signals_install(next->services.loop, true);
	next->status_line = earlier->status_line;
	earlier->status_line = false;
	earlier->stopped_at = clock_monotonic();
	run_stop_sources(earlier);
	/* Its first interval begins. */
	run_synchronize(next);
	int result = start_sources(earlier, next, &gaps, error);
	run_end_events(earlier);
	run_has_begun(next);
	if (!result)
		report(next, &gaps);
	text_free(&gaps.text);
	return result;
}

void run_report_gap(struct run *run, uint64_t since)
{
	char text[32];
	snprintf(text, sizeof text, "%.3f s", (double)(run->started_at - since) / (double)NANOSECONDS_PER_SECOND);
	run_send_metadata(run, gap_key, text);
	for (size_t i = 0; !run_is_offline(run) && i < run->setup.sources.count; i++)
		report_lost(run->setup.sources.items[i], since);
	log_message(IAPROF_LOG_WARNING, "the run was restarted: no samples for %s", text);
}
