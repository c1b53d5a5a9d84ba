/* SPDX-License-Identifier: Apache-2.0 */
/* Has a run take the place of another one that goes on until then: see run_state.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/priority.h"
#include "base/thread.h"
#include "run/run_state.h"
#include "run/stop_signals.h"
#include "text/text.h"

/* Shorter gaps are not stated, and those that are shorter than this are no warning. */
#define GAP_STATED (NANOSECONDS_PER_SECOND / 1000)
#define GAP_WARNED (NANOSECONDS_PER_SECOND / 10)

/* How far in the future the time is up to which one source samples, and from which another one does. */
#define LIMIT_AHEAD (NANOSECONDS_PER_SECOND / 4)

static const char gap_key[] = "gap before this run";

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

static int prepare(struct run *next, const struct run *earlier, struct registry *registry, struct error *error)
{
	if (run_configure(next, registry, error))
		return error->text[0] ? error->code : error_set(error, EIO, "it cannot be started");
	int result = run_prepare(next, earlier, error);
	if (!result)
		result = run_begin(next, true, error);
	/* Its events since then are in rings. */
	if (!result && next->sideband)
		result = sideband_scan(next->sideband, error);
	/* By a signal, which ends both. */
	return result || !run_is_ending(next) ? result : error_set(error, ECANCELED, "interrupted");
}

int run_prepare_beside(struct run *next, struct run *earlier, struct registry *registry, struct error *error)
{
	struct turning turning = { .run = earlier };
	int result = thread_start(&turning.thread, turn, &turning);
	if (result)
		return error_set(error, result, "cannot start a thread: %s", strerror(result));
	priority_lower_thread();
	result = prepare(next, earlier, registry, error);
	if (result)
		run_discard(next);
	end_turning(&turning);
	priority_raise_thread();
	return result;
}

static bool is_exclusive(const struct instance *source)
{
	return source->plugin->description.flags & IAPROF_PLUGIN_EXCLUSIVE;
}

struct gaps {
	struct text text; /* "0.004 s (cpu-stack), 0.310 s (ze-usdt)" */
	uint64_t longest;
};

static void add_gap(struct gaps *gaps, const struct instance *source, uint64_t since)
{
	uint64_t gap = clock_monotonic() - since;
	if (gap < GAP_STATED)
		return;
	gaps->longest = gap > gaps->longest ? gap : gaps->longest;
	text_append_format(&gaps->text, "%s%.3f s (%s)", gaps->text.size ? ", " : "",
			   (double)gap / (double)NANOSECONDS_PER_SECOND, source->name);
}

static int start(const struct run *next, struct instance *source, struct error *error)
{
	int result = source->prepared ? 0 : run_result_of(next, source, instance_prepare(source, error));
	return result ? result : run_result_of(next, source, instance_start(source, error));
}

/* The source of the earlier run that samples up to the time from which this one does; NULL: it is not so. */
static struct instance *neighbour(const struct run *earlier, const struct instance *source)
{
	struct instance *before = instance_can_limit(source) ? run_find_source(earlier, source) : NULL;
	return before && before->started && instance_can_limit(before) ? before : NULL;
}

/* Starts the sources with a neighbour. They take nothing yet. Returns how many these are, or a negative errno. */
static int start_limited(const struct run *earlier, const struct run *next, struct error *error)
{
	int result = 0, count = 0;
	for (size_t i = 0; !result && i < next->setup.sources.count; i++) {
		struct instance *source = next->setup.sources.items[i];
		if (!neighbour(earlier, source))
			continue;
		result = instance_limit(source, UINT64_MAX, UINT64_MAX, error);
		if (!result)
			result = start(next, source, error);
		count++;
	}
	return result ? result : count;
}

/*
 * Has sources sample up to a time in the near future, and their neighbours from then on. If this thread is not run
 * until then, there is a gap, but never a sample in both.
 */
static int limit(const struct run *earlier, const struct run *next, uint64_t time, struct gaps *gaps,
		 struct error *error)
{
	int result = 0;
	for (size_t i = 0; !result && i < next->setup.sources.count; i++) {
		struct instance *source = next->setup.sources.items[i], *before = neighbour(earlier, source);
		if (before)
			result = instance_limit(before, 0, time, error);
		if (before && !result)
			result = instance_limit(source, time, UINT64_MAX, error);
		if (before && clock_monotonic() > time)
			add_gap(gaps, source, time);
	}
	return result;
}

/* Stops each source just before the one that takes its place starts: no sample is in both runs. */
static int replace(struct run *earlier, const struct run *next, struct gaps *gaps, struct error *error)
{
	struct error ignored = { 0 };
	int result = 0;
	for (size_t i = 0; !result && i < next->setup.sources.count; i++) {
		struct instance *source = next->setup.sources.items[i], *before;
		if (is_exclusive(source) || source->started)
			continue;
		uint64_t since = clock_monotonic();
		before = run_find_source(earlier, source);
		if (before && before->prepared)
			instance_stop(before, &ignored);
		result = start(next, source, error);
		if (before)
			add_gap(gaps, source, since);
	}
	return result;
}

static bool has_neighbour(const struct run *next, const struct instance *source)
{
	const struct instance *after = run_find_source(next, source);
	return after && after->started && !strcmp(after->name, source->name);
}

/* The same for sources of which there can be only one, unless they have a neighbour: they are prepared only now. */
static int replace_exclusive(const struct run *earlier, const struct run *next, struct gaps *gaps, struct error *error)
{
	struct error ignored = { 0 };
	uint64_t since = clock_monotonic();
	int result = 0;
	for (size_t i = 0; i < earlier->setup.sources.count; i++) {
		struct instance *source = earlier->setup.sources.items[i];
		if (is_exclusive(source) && has_neighbour(next, source))
			instance_stop(source, &ignored);
		else if (is_exclusive(source))
			instance_close(source);
	}
	for (size_t i = 0; !result && i < next->setup.sources.count; i++) {
		struct instance *source = next->setup.sources.items[i];
		if (!is_exclusive(source) || source->started)
			continue;
		bool has_gap = !source->prepared;
		result = start(next, source, error);
		if (has_gap)
			add_gap(gaps, source, since);
	}
	return result;
}

static void stop_others(const struct run *earlier)
{
	struct error ignored = { 0 };
	for (size_t i = 0; i < earlier->setup.sources.count; i++)
		if (earlier->setup.sources.items[i]->prepared)
			instance_stop(earlier->setup.sources.items[i], &ignored);
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

int run_hand_over(struct run *earlier, struct run *next, struct error *error)
{
	struct gaps gaps = { 0 };
	int result = start_limited(earlier, next, error);
	if (result < 0)
		return result;
	stop_signals_install(next->services.loop, true);
	next->status_line = earlier->status_line;
	earlier->status_line = false;
	uint64_t time = clock_monotonic() + (result > 0 ? LIMIT_AHEAD : 0);
	if (result > 0)
		result = limit(earlier, next, time, &gaps, error);
	for (uint64_t now; !result && (now = clock_monotonic()) < time;)
		loop_turn(earlier->services.loop, time - now);
	/* Its first interval begins. */
	process_feed_synchronize(next);
	earlier->stopped_at = clock_monotonic();
	if (!result)
		result = replace(earlier, next, &gaps, error);
	if (!result)
		result = replace_exclusive(earlier, next, &gaps, error);
	stop_others(earlier);
	process_feed_end(earlier);
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
	log_message(IAPROF_LOG_WARNING, "the run was restarted: no samples for %s", text);
}
