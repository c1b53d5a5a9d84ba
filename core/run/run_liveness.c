/* SPDX-License-Identifier: Apache-2.0 */
/* Whether sinks keep up, as counters of the core and as messages: see run_state.h. */
#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "run/run_state.h"
#include "text/plural.h"
#include "text/quantity.h"

/* The first counters of a sink are those of run_delivery.c. */
enum { COUNTER_PROFILE_END = 5, COUNTER_BUSY, COUNTER_QUEUED };

/* A callback of a sink that runs for longer is reported. */
#define BLOCKED_TIME (5 * NANOSECONDS_PER_SECOND)
/* The newest delivered profile is reported when it is older than this many intervals and this time. */
#define LATE_INTERVALS 3
#define LATE_TIME (10 * NANOSECONDS_PER_SECOND)
/* Shortest time between messages about what a sink dropped. */
#define DROPPED_PAUSE (60 * NANOSECONDS_PER_SECOND)

static uint32_t counter_id(const struct instance *sink, uint32_t counter)
{
	return SINK_COUNTERS_BEGIN + sink->number * SINK_COUNTERS_EACH + counter;
}

static void declare(struct run *run, const struct instance *sink, uint32_t counter, const char *name, const char *unit,
		    enum iaprof_counter_kind kind)
{
	char labels[256];
	snprintf(labels, sizeof labels, "sink=%s", sink->name);
	struct iaprof_record_counter record = { .id = counter_id(sink, counter),
						.name = intern_text_id(run->services.intern, name),
						.unit = intern_text_id(run->services.intern, unit),
						.kind = kind,
						.labels = intern_text_id(run->services.intern, labels) };
	run_send(run, &record.header, IAPROF_RECORD_COUNTER, sizeof record);
}

static void send_value(struct run *run, const struct instance *sink, uint32_t counter, double value)
{
	struct iaprof_record_counter_value record = { .counter = counter_id(sink, counter), .value = value };
	run_send(run, &record.header, IAPROF_RECORD_COUNTER_VALUE, sizeof record);
}

/* Returns whether a sink receives profiles of intervals: see collector_thread.c. */
static bool has_profiles(const struct run *run, const struct instance *sink)
{
	const struct configuration *configuration = run->configuration;
	return sink->plugin->operations.profile && sink->plugin->description.flags & IAPROF_PLUGIN_INTERVALS &&
	       (configuration->interval || configuration->continuous || sink->default_interval);
}

/* What a sink does at one time. */
struct observation {
	uint64_t now, called_at, busy;
	uint64_t profile_end; /* of the newest delivered profile, or the begin of the run */
	const char *callback;
};

static struct observation observe(const struct run *run, struct instance *sink)
{
	struct sink_activity *activity = &sink->activity;
	struct observation seen = { .now = clock_monotonic(), .called_at = atomic_load(&activity->called_at) };
	seen.callback = atomic_load(&activity->callback);
	seen.busy = atomic_load(&activity->busy);
	if (seen.called_at && seen.now > seen.called_at)
		seen.busy += seen.now - seen.called_at;
	pthread_mutex_lock(&sink->lock);
	seen.profile_end = sink->marks.newest;
	pthread_mutex_unlock(&sink->lock);
	if (!seen.profile_end)
		seen.profile_end = run->started_at;
	return seen;
}

static void send_counters(struct run *run, struct instance *sink, const struct observation *seen)
{
	struct sink_liveness *sent = &sink->liveness;
	uint64_t queued = atomic_load(&sink->activity.queued);
	bool is_new = !sent->has_sent;
	if (is_new) {
		sent->has_sent = true;
		declare(run, sink, COUNTER_BUSY, "sink-busy", "nanoseconds", IAPROF_COUNTER_CUMULATIVE);
		declare(run, sink, COUNTER_QUEUED, "sink-queued", "bytes", IAPROF_COUNTER_GAUGE);
		if (has_profiles(run, sink))
			declare(run, sink, COUNTER_PROFILE_END, "sink-profile-end", "nanoseconds",
				IAPROF_COUNTER_GAUGE);
	}
	if (has_profiles(run, sink) && (is_new || seen->profile_end != sent->profile_end)) {
		uint64_t realtime = clock_read(CLOCK_REALTIME) - (seen->now - seen->profile_end);
		send_value(run, sink, COUNTER_PROFILE_END, (double)realtime);
	}
	/* The end of a callback may be seen before its time is added. */
	if (is_new || seen->busy > sent->busy)
		send_value(run, sink, COUNTER_BUSY, (double)seen->busy);
	if (is_new || queued != sent->queued)
		send_value(run, sink, COUNTER_QUEUED, (double)queued);
	sent->profile_end = seen->profile_end;
	sent->busy = seen->busy > sent->busy ? seen->busy : sent->busy;
	sent->queued = queued;
}

static void report_blocked(struct instance *sink, const struct observation *seen)
{
	struct sink_liveness *sent = &sink->liveness;
	if (sent->blocked_at && sent->blocked_at != seen->called_at) {
		log_message(IAPROF_LOG_WARNING, "sink %s: accepts data again after %s", sink->name,
			    quantity_time((double)(seen->now - sent->blocked_at)).text);
		sent->blocked_at = 0;
	}
	if (!seen->called_at || sent->blocked_at || seen->now < seen->called_at + BLOCKED_TIME)
		return;
	sent->blocked_at = seen->called_at;
	log_message(IAPROF_LOG_WARNING,
		    "sink %s: callback %s has not returned for %s: its output does not accept data, or it computes "
		    "(up to %zu MiB of data wait, then data is dropped)",
		    sink->name, seen->callback ? seen->callback : "",
		    quantity_time((double)(seen->now - seen->called_at)).text, SINK_QUEUE_CAPACITY >> 20);
}

static void report_late(const struct run *run, struct instance *sink, const struct observation *seen)
{
	uint64_t age = seen->now - seen->profile_end;
	bool is_late = age > LATE_INTERVALS * run->interval + LATE_TIME;
	if (is_late == sink->liveness.is_late)
		return;
	sink->liveness.is_late = is_late;
	if (is_late)
		log_message(IAPROF_LOG_WARNING, "sink %s: no profile delivered for %s", sink->name,
			    quantity_time((double)age).text);
	else
		log_message(IAPROF_LOG_WARNING, "sink %s: delivers profiles again", sink->name);
}

static void report_dropped(struct instance *sink, uint64_t now)
{
	struct sink_liveness *sent = &sink->liveness;
	uint64_t records = atomic_load(&sink->activity.dropped_records) - sent->dropped_records;
	uint64_t profiles = atomic_load(&sink->dropped_profiles) - sent->dropped_profiles;
	if ((!records && !profiles) || (sent->dropped_at && now < sent->dropped_at + DROPPED_PAUSE))
		return;
	sent->dropped_at = now;
	sent->dropped_records += records;
	sent->dropped_profiles += profiles;
	log_message(IAPROF_LOG_WARNING,
		    "sink %s is too slow: dropped %" PRIu64 " record%s and %" PRIu64 " interval profile%s", sink->name,
		    records, plural(records), profiles, plural(profiles));
}

void run_update_liveness(struct run *run)
{
	for (size_t i = 0; i < run->setup.sinks.count; i++) {
		struct instance *sink = run->setup.sinks.items[i];
		struct observation seen = observe(run, sink);
		if (atomic_load(&sink->finished) || !sink->started)
			continue;
		report_blocked(sink, &seen);
		report_dropped(sink, seen.now);
		if (!run->interval)
			continue;
		send_counters(run, sink, &seen);
		if (has_profiles(run, sink) && run->configuration->continuous)
			report_late(run, sink, &seen);
	}
}
