/* SPDX-License-Identifier: Apache-2.0 */
/* The collector's thread: see collecting.h. */
#include "run/collecting.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "profile/difference.h"

/* Seconds after which the end of a run reports its progress. */
#define PROGRESS_AFTER 1

struct collecting {
	struct collecting_options options;
	struct collector *collector;
	struct sink_queue **queues; /* one for each sink */
	pthread_t thread;
	bool has_thread;
	atomic_uint_least64_t samples, lost;
	atomic_bool abandoned;
	pthread_mutex_t calls_lock;
	struct call_families calls;

	/* The thread's own. */
	uint64_t begin; /* time of the first SYNC, 0 not yet */
	uint64_t interval_begin;
	uint64_t last_sync;
	uint32_t interval_number;
	struct snapshot *profile;
	struct difference *difference; /* NULL: there is no earlier run */
	bool profile_missing;          /* it could not be made, or one of an interval */
};

static const struct iaprof_plugin *description_of(const struct collecting *collecting, size_t sink)
{
	return &collecting->options.sinks[sink]->plugin->description;
}

static bool has_intervals(const struct collecting *collecting, size_t sink)
{
	const struct collecting_options *options = &collecting->options;
	return options->interval && description_of(collecting, sink)->flags & IAPROF_PLUGIN_INTERVALS &&
	       (options->interval_for_all || options->sinks[sink]->default_interval);
}

/* Gives a profile to the sinks that want those of intervals, or to those that want one of the run. */
static void hand_out(struct collecting *collecting, struct snapshot *snapshot, bool to_interval_sinks)
{
	for (size_t i = 0; snapshot && i < collecting->options.sink_count; i++) {
		const struct iaprof_plugin *sink = description_of(collecting, i);
		if (sink->profile && has_intervals(collecting, i) == to_interval_sinks)
			sink_queue_push_profile(collecting->queues[i], snapshot);
	}
}

static struct snapshot *take_snapshot(struct collecting *collecting, bool total, uint64_t begin, uint64_t end,
				      bool final)
{
	struct snapshot *snapshot = collector_snapshot(collecting->collector, total);
	if (!snapshot) {
		collecting->profile_missing = true;
		log_message(IAPROF_LOG_ERROR, "out of memory: a profile of %.1f s is missing",
			    (double)(end - begin) / (double)NANOSECONDS_PER_SECOND);
		return NULL;
	}
	snapshot->profile.flags |= final ? IAPROF_PROFILE_FINAL : 0;
	snapshot->profile.begin = begin;
	snapshot->profile.end = end;
	/* Of text from elsewhere nobody knows the date. */
	uint64_t offset = collector_realtime_offset(collecting->collector);
	snapshot->profile.begin_realtime = offset ? begin + offset : 0;
	const struct histograms *histograms = collector_histograms(collecting->collector);
	snapshot->profile.jobs_done = histograms->jobs_done;
	snapshot->profile.jobs_aborted = histograms->jobs_aborted;
	return snapshot;
}

/* The profile of the interval that ends at a time. */
static void end_interval(struct collecting *collecting, uint64_t time, bool final)
{
	struct snapshot *snapshot = take_snapshot(collecting, false, collecting->interval_begin, time, final);
	if (snapshot)
		snapshot->profile.interval = collecting->interval_number;
	hand_out(collecting, snapshot, true);
	snapshot_release(snapshot);
	collector_begin_interval(collecting->collector);
	collecting->interval_number++;
	collecting->interval_begin = time;
}

static void on_sync(void *context, uint64_t time)
{
	struct collecting *collecting = context;
	collecting->last_sync = time;
	struct call_families calls = call_families_sum(collector_calls(collecting->collector));
	pthread_mutex_lock(&collecting->calls_lock);
	collecting->calls = calls;
	pthread_mutex_unlock(&collecting->calls_lock);
	if (!collecting->begin)
		collecting->begin = collecting->interval_begin = time;
	/* A timer comes a little late at times, never a whole twentieth: the next interval is not made shorter for it.
	 */
	uint64_t interval = collecting->options.interval;
	if (interval && time - collecting->interval_begin >= interval - interval / 20) {
		collector_resolve(collecting->collector);
		end_interval(collecting, time, false);
	}
}

static void hand_out_block(struct collecting *collecting, struct block *block)
{
	struct block *compact = NULL;
	for (size_t i = 0; i < collecting->options.sink_count; i++) {
		if (!description_of(collecting, i)->records || collecting->options.before)
			continue;
		if (!compact)
			compact = block_compact(block);
		sink_queue_push_block(collecting->queues[i], compact);
	}
	block_release(compact);
}

static void take_blocks(struct collecting *collecting, struct block *blocks)
{
	for (struct block *block = blocks, *next; block; block = next) {
		next = block->next;
		block->next = NULL;
		struct iaprof_batch batch = block_batch(block);
		collector_take(collecting->collector, &batch, on_sync, collecting);
		hand_out_block(collecting, block);
		bus_recycle(collecting->options.bus, block);
	}
	struct collector_statistics statistics = collector_statistics(collecting->collector);
	atomic_store_explicit(&collecting->samples, statistics.samples, memory_order_relaxed);
	atomic_store_explicit(&collecting->lost, collector_lost_count(collecting->collector), memory_order_relaxed);
}

static uint32_t requests_of_sinks(const struct collecting_options *options)
{
	uint32_t requests = options->requests;
	for (size_t i = 0; i < options->sink_count; i++)
		requests |= options->sinks[i]->requests;
	return requests;
}

/* What the sinks get at the end of the run; NULL after a message. */
static struct snapshot *make_result(struct collecting *collecting)
{
	const struct collecting_options *options = &collecting->options;
	struct error error = { 0 };
	collecting->profile = take_snapshot(collecting, true, collecting->begin, collecting->last_sync, true);
	if (!collecting->profile || !options->before)
		return collecting->profile;
	struct difference_input input = { .before = options->before,
					  .after = &collecting->profile->profile,
					  .normalization = options->normalization,
					  .lines = requests_of_sinks(options) & IAPROF_REQUEST_LINES };
	collecting->difference = difference_new(&input, &error);
	if (collecting->difference)
		return difference_snapshot(collecting->difference);
	collecting->profile_missing = true;
	log_message(IAPROF_LOG_ERROR, "difference: %s", error.text);
	return NULL;
}

static void *run(void *argument)
{
	struct collecting *collecting = argument;
	struct block *blocks;
	while ((blocks = bus_take(collecting->options.bus, UINT64_MAX)))
		take_blocks(collecting, blocks);
	if (atomic_load(&collecting->abandoned))
		return NULL;
	/* The last names are found now; what the symbolizer says goes over the bus as well, and on to a capture. */
	collector_finish(collecting->collector);
	while ((blocks = bus_take(collecting->options.bus, 0)))
		take_blocks(collecting, blocks);
	struct snapshot *result = make_result(collecting);
	hand_out(collecting, result, false);
	if (collecting->options.interval)
		end_interval(collecting, collecting->last_sync, true);
	return NULL;
}

/* Waits until each sink has finished or stands still. */
static void wait_for_sinks(const struct collecting *collecting)
{
	size_t count = collecting->options.sink_count;
	for (size_t i = 0; i < count; i++)
		while (!sink_queue_wait(collecting->queues[i]))
			for (size_t j = i; j < count; j++)
				sink_queue_check(collecting->queues[j], collecting->options.finish_within);
}

static void report_stuck(struct instance *sink, const char *callback, struct collecting_result *result)
{
	log_message(IAPROF_LOG_ERROR, "sink %s: callback %s does not return: its output is incomplete", sink->name,
		    callback);
	sink->is_stuck = true;
	result->sink_stuck = true;
}

static void report_dropped(const char *name, const struct sink_queue_dropped *dropped)
{
	const char *reason = dropped->callback ? "did not return" : "was too slow";
	if (dropped->records)
		log_message(IAPROF_LOG_WARNING, "sink %s %s: %" PRIu64 " records are missing in it", name, reason,
			    dropped->records);
	if (dropped->profiles)
		log_message(IAPROF_LOG_WARNING, "sink %s %s: %" PRIu64 " profiles%s are missing in it", name, reason,
			    dropped->profiles, dropped->callback ? "" : " of intervals");
}

static void finish_queues(struct collecting *collecting, struct collecting_result *result)
{
	const struct collecting_options *options = &collecting->options;
	for (size_t i = 0; i < options->sink_count; i++)
		sink_queue_close(collecting->queues[i]);
	if (options->finish_within)
		wait_for_sinks(collecting);
	for (size_t i = 0; i < options->sink_count; i++) {
		struct sink_queue_dropped dropped = { 0 };
		if (sink_queue_finish(collecting->queues[i], &dropped))
			result->sink_failed = true;
		if (dropped.callback)
			report_stuck(options->sinks[i], dropped.callback, result);
		report_dropped(options->sinks[i]->name, &dropped);
	}
}

static void join(struct collecting *collecting)
{
	if (!collecting->has_thread)
		return;
	bus_close(collecting->options.bus);
	struct timespec soon;
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_sec += PROGRESS_AFTER;
	if (!pthread_timedjoin_np(collecting->thread, NULL, &soon))
		return;
	const char *path = collecting->collector ? collector_reading(collecting->collector) : NULL;
	if (!collecting->options.lossless)
		log_notice("finishing: %s%s", path ? "reading symbols of " : "resolving stacks", path ? path : "");
	pthread_join(collecting->thread, NULL);
}

void collecting_finish(struct collecting *collecting, struct collecting_result *result)
{
	*result = (struct collecting_result){ 0 };
	join(collecting);
	if (collecting->queues)
		finish_queues(collecting, result);
	if (collecting->collector) {
		result->statistics = collector_statistics(collecting->collector);
		result->devices = collector_devices(collecting->collector, &result->device_count);
		result->calls = collector_calls(collecting->collector);
		result->histograms = collector_histograms(collecting->collector);
		result->findings = collector_findings(collecting->collector);
	}
	result->profile_missing = collecting->profile_missing;
	result->profile = collecting->profile ? &collecting->profile->profile : NULL;
	if (collecting->difference)
		result->difference = &difference_snapshot(collecting->difference)->profile;
}

void collecting_abandon(struct collecting *collecting)
{
	atomic_store(&collecting->abandoned, true);
	join(collecting);
	for (size_t i = 0; collecting->queues && i < collecting->options.sink_count; i++)
		sink_queue_abandon(collecting->queues[i]);
}

void collecting_free(struct collecting *collecting)
{
	if (!collecting)
		return;
	difference_free(collecting->difference);
	snapshot_release(collecting->profile);
	collector_free(collecting->collector);
	free(collecting->queues);
	pthread_mutex_destroy(&collecting->calls_lock);
	free(collecting);
}

static struct collector *make_collector(const struct collecting_options *options)
{
	uint32_t requests = requests_of_sinks(options);
	bool wants_records = false;
	for (size_t i = 0; i < options->sink_count; i++)
		wants_records |= options->sinks[i]->plugin->description.records != NULL;
	return collector_new(
		&(struct collector_options){ .intern = options->intern,
					     /* In a replay the ids of strings are the capture's own. */
					     .frames_bus = wants_records && !options->replays ? options->bus : NULL,
					     .decoders = options->decoders,
					     .lines = requests & IAPROF_REQUEST_LINES,
					     .time_resolution = options->time_resolution,
					     .hold = options->hold,
					     .pids = requests & IAPROF_REQUEST_PIDS,
					     .producers = requests & IAPROF_REQUEST_PRODUCERS,
					     .listings = requests & IAPROF_REQUEST_LISTINGS,
					     .live = !options->replays });
}

static int start(struct collecting *collecting, struct error *error)
{
	const struct collecting_options *options = &collecting->options;
	if (options->replays)
		bus_set_capacity(options->bus, BUS_CAPACITY_REPLAY);
	collecting->collector = make_collector(options);
	collecting->queues = calloc(options->sink_count + 1, sizeof(struct sink_queue *));
	if (!collecting->collector || !collecting->queues)
		return error_set(error, ENOMEM, "out of memory");
	for (size_t i = 0; i < options->sink_count; i++) {
		collecting->queues[i] = sink_queue_new(
			options->sinks[i],
			options->replays && options->lossless ? SINK_QUEUE_CAPACITY_REPLAY : SINK_QUEUE_CAPACITY,
			options->lossless, error);
		if (!collecting->queues[i])
			return error->code;
	}
	int result = thread_start(&collecting->thread, run, collecting);
	if (result)
		return error_set(error, result, "start the collector's thread: %s", strerror(result));
	collecting->has_thread = true;
	return 0;
}

struct collecting *collecting_start(const struct collecting_options *options, struct error *error)
{
	struct collecting *collecting = calloc(1, sizeof *collecting);
	if (!collecting) {
		error_set(error, ENOMEM, "out of memory");
		return NULL;
	}
	collecting->options = *options;
	pthread_mutex_init(&collecting->calls_lock, NULL);
	if (start(collecting, error)) {
		collecting_abandon(collecting);
		collecting_free(collecting);
		return NULL;
	}
	return collecting;
}

void collecting_end_by(struct collecting *collecting, uint64_t end)
{
	collector_end_by(collecting->collector, end);
}

uint64_t collecting_helper_cost(const struct collecting *collecting)
{
	return collector_helper_cost(collecting->collector);
}

struct collecting_progress collecting_progress(struct collecting *collecting)
{
	struct collecting_progress progress = {
		.samples = atomic_load_explicit(&collecting->samples, memory_order_relaxed),
		.lost = atomic_load_explicit(&collecting->lost, memory_order_relaxed),
	};
	pthread_mutex_lock(&collecting->calls_lock);
	progress.calls = collecting->calls;
	pthread_mutex_unlock(&collecting->calls_lock);
	return progress;
}
