/* SPDX-License-Identifier: Apache-2.0 */
/* The collector thread: see collector_thread.h. */
#include "run/collector_thread.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "stacks/difference.h"
#include "text/plural.h"
#include "text/quantity.h"

/* Seconds after which progress is reported while a run ends. */
#define PROGRESS_AFTER 1

/* SYNC records arrive at least every second, and intervals end with them. */
#define JITTER_MAX (NANOSECONDS_PER_SECOND / 2)
#define SYNC_PERIOD_MAX NANOSECONDS_PER_SECOND

struct collector_thread {
	struct collector_thread_options options;
	struct collector *collector;
	struct sink_queue **queues; /* one for each sink */
	pthread_t thread;
	bool has_thread;
	atomic_uint_least64_t samples, lost;
	atomic_uint intervals;
	atomic_bool abandoned;
	pthread_mutex_t calls_lock;
	struct call_families calls;

	/* Used only by the collector thread. */
	uint64_t begin; /* time of the first SYNC, 0 not yet */
	uint64_t interval_begin;
	uint64_t last_sync;
	uint32_t interval_number;
	struct snapshot *profile;
	struct difference *difference; /* NULL: there is no earlier run */
	struct snapshot compared;      /* of difference, whose memory it refers to */
	bool profile_missing;          /* a profile of the run or of an interval could not be created */
};

static const struct iaprof_plugin *description_of(const struct collector_thread *thread, size_t sink)
{
	return &thread->options.sinks[sink]->plugin->description;
}

static bool has_intervals(const struct collector_thread *thread, size_t sink)
{
	const struct collector_thread_options *options = &thread->options;
	return options->interval && description_of(thread, sink)->flags & IAPROF_PLUGIN_INTERVALS &&
	       (options->interval_for_all || options->sinks[sink]->default_interval);
}

/* Queues a profile for the sinks with profiles of intervals, or for those with one profile of the run. */
static void hand_out(struct collector_thread *thread, struct snapshot *snapshot, bool to_interval_sinks)
{
	for (size_t i = 0; snapshot && i < thread->options.sink_count; i++) {
		const struct iaprof_plugin *sink = description_of(thread, i);
		if (sink->profile && has_intervals(thread, i) == to_interval_sinks)
			sink_queue_push_profile(thread->queues[i], snapshot);
	}
}

static struct snapshot *take_snapshot(struct collector_thread *thread, bool total, uint64_t begin, uint64_t end,
				      bool final)
{
	struct snapshot *snapshot = collector_snapshot(thread->collector, total);
	if (!snapshot) {
		thread->profile_missing = true;
		log_message(IAPROF_LOG_ERROR, "out of memory: dropped a profile of %s",
			    quantity_time((double)(end - begin)).text);
		return NULL;
	}
	snapshot->profile.flags |= final ? IAPROF_PROFILE_FINAL : 0;
	snapshot->profile.flags |= thread->options.continuous ? IAPROF_PROFILE_CONTINUOUS : 0;
	snapshot->profile.begin = begin;
	snapshot->profile.end = end;
	/* Imported text has no date. */
	uint64_t offset = collector_realtime_offset(thread->collector);
	snapshot->profile.begin_realtime = offset ? begin + offset : 0;
	const struct histograms *histograms = collector_histograms(thread->collector);
	snapshot->profile.jobs_done = histograms->jobs_done;
	snapshot->profile.jobs_aborted = histograms->jobs_aborted;
	return snapshot;
}

/* Ends the interval and queues its profile. */
static void end_interval(struct collector_thread *thread, uint64_t time, bool final)
{
	struct snapshot *snapshot = take_snapshot(thread, false, thread->interval_begin, time, final);
	if (snapshot)
		snapshot->profile.interval = thread->interval_number;
	hand_out(thread, snapshot, true);
	snapshot_release(snapshot);
	collector_begin_interval(thread->collector);
	thread->interval_number++;
	atomic_store_explicit(&thread->intervals, thread->interval_number, memory_order_relaxed);
	thread->interval_begin = time;
}

/* Returns the time between SYNC records. */
static uint64_t sync_period(uint64_t interval)
{
	return interval < SYNC_PERIOD_MAX ? interval : SYNC_PERIOD_MAX;
}

static void on_sync(void *context, uint64_t time)
{
	struct collector_thread *thread = context;
	thread->last_sync = time;
	struct call_families calls = call_tree_families(collector_calls(thread->collector));
	pthread_mutex_lock(&thread->calls_lock);
	thread->calls = calls;
	pthread_mutex_unlock(&thread->calls_lock);
	if (!thread->begin)
		thread->begin = thread->interval_begin = time;
	/* Tolerates timer jitter of up to 5 % and half a second, so that an interval is not skipped. */
	uint64_t interval = thread->options.interval;
	uint64_t jitter = interval / 20 < JITTER_MAX ? interval / 20 : JITTER_MAX;
	uint64_t elapsed = time - thread->interval_begin;
	bool is_due = interval && elapsed >= interval - jitter;
	/* The first interval begins between two SYNC records: it ends with the one after which it would be too long. */
	if (thread->options.continuous && !thread->interval_number && elapsed)
		is_due |= elapsed + sync_period(interval) > interval + jitter;
	/* Memory is bounded whatever runs. */
	if (is_due || (interval && time > thread->interval_begin && collector_is_full(thread->collector))) {
		collector_resolve(thread->collector);
		end_interval(thread, time, false);
	}
}

static void hand_out_block(struct collector_thread *thread, struct block *block)
{
	struct block *compact = NULL;
	for (size_t i = 0; i < thread->options.sink_count; i++) {
		/* Of a difference, records are only instructions and source texts of the later run. */
		bool wants = !thread->options.before || thread->options.sinks[i]->requests & IAPROF_REQUEST_LISTINGS;
		if (!description_of(thread, i)->records || !wants)
			continue;
		if (!compact)
			compact = block_compact(block);
		sink_queue_push_block(thread->queues[i], compact);
	}
	block_release(compact);
}

static void note_progress(struct collector_thread *thread)
{
	struct collector_statistics statistics = collector_statistics(thread->collector);
	atomic_store_explicit(&thread->samples, statistics.samples, memory_order_relaxed);
	atomic_store_explicit(&thread->lost, collector_lost_count(thread->collector), memory_order_relaxed);
}

/* Queues the results derived from the blocks so far. */
static void hand_out_results(struct collector_thread *thread)
{
	for (struct block *block = collector_take_results(thread->collector), *next; block; block = next) {
		next = block->next;
		block->next = NULL;
		hand_out_block(thread, block);
		block_release(block);
	}
}

static void take_blocks(struct collector_thread *thread, struct block *blocks)
{
	for (struct block *block = blocks, *next; block; block = next) {
		next = block->next;
		block->next = NULL;
		struct iaprof_batch batch = block_batch(block);
		collector_take(thread->collector, &batch, on_sync, thread);
		hand_out_block(thread, block);
		hand_out_results(thread);
		bus_recycle(thread->options.bus, block);
	}
	note_progress(thread);
}

/* Creates the final profile for the sinks. Returns NULL after an error message. */
static struct snapshot *make_result(struct collector_thread *thread)
{
	const struct collector_thread_options *options = &thread->options;
	struct error error = { 0 };
	thread->profile = take_snapshot(thread, true, thread->begin, thread->last_sync, true);
	if (!thread->profile || !options->before)
		return thread->profile;
	struct difference_input input = { .before = options->before,
					  .after = &thread->profile->profile,
					  .normalization = options->normalization,
					  .lines = options->requests & IAPROF_REQUEST_LINES,
					  .device_lines = options->requests & IAPROF_REQUEST_LISTINGS };
	thread->difference = difference_new(&input, &error);
	if (!thread->difference) {
		thread->profile_missing = true;
		log_message(IAPROF_LOG_ERROR, "difference: %s", error.text);
		return NULL;
	}
	/* Its first reference is never released. */
	atomic_init(&thread->compared.references, 1);
	thread->compared.size = sizeof thread->compared;
	thread->compared.profile = *difference_profile(thread->difference);
	return &thread->compared;
}

static void *run(void *argument)
{
	struct collector_thread *thread = argument;
	struct block *blocks;
	while ((blocks = bus_take(thread->options.bus, UINT64_MAX)))
		take_blocks(thread, blocks);
	if (atomic_load(&thread->abandoned))
		return NULL;
	/* Resolves the remaining stacks. */
	collector_finish(thread->collector);
	hand_out_results(thread);
	note_progress(thread);
	struct snapshot *result = make_result(thread);
	hand_out(thread, result, false);
	if (thread->options.interval)
		end_interval(thread, thread->last_sync, true);
	return NULL;
}

/* Waits until each sink has finished or is stuck. A run that is interrupted does not wait for slow sinks. */
static void wait_for_sinks(const struct collector_thread *thread)
{
	const struct collector_thread_options *options = &thread->options;
	for (size_t i = 0; i < options->sink_count; i++)
		while (!sink_queue_wait(thread->queues[i]))
			for (size_t j = i; j < options->sink_count; j++)
				sink_queue_check(thread->queues[j], options->finish_within,
						 instance_run_is_ending(options->sinks[j]));
}

static void report_stuck(struct instance *sink, const char *callback, struct collector_thread_result *result)
{
	log_message(IAPROF_LOG_ERROR, "sink %s: callback %s does not return (output incomplete)", sink->name, callback);
	sink->is_stuck = true;
	result->sink_stuck = true;
}

static void report_dropped(const char *name, const struct sink_queue_dropped *dropped)
{
	const char *reason = dropped->callback ? "did not return" : "was too slow";
	if (dropped->records)
		log_message(IAPROF_LOG_WARNING, "sink %s %s: dropped %" PRIu64 " record%s", name, reason,
			    dropped->records, plural(dropped->records));
	if (dropped->profiles)
		log_message(IAPROF_LOG_WARNING, "sink %s %s: dropped %" PRIu64 " %sprofile%s", name, reason,
			    dropped->profiles, dropped->callback ? "" : "interval ", plural(dropped->profiles));
}

static void finish_queues(struct collector_thread *thread, struct collector_thread_result *result)
{
	const struct collector_thread_options *options = &thread->options;
	for (size_t i = 0; i < options->sink_count; i++)
		sink_queue_close(thread->queues[i]);
	if (options->finish_within)
		wait_for_sinks(thread);
	for (size_t i = 0; i < options->sink_count; i++) {
		struct sink_queue_dropped dropped = { 0 };
		if (sink_queue_finish(thread->queues[i], &dropped))
			result->sink_failed = true;
		if (dropped.callback)
			report_stuck(options->sinks[i], dropped.callback, result);
		report_dropped(options->sinks[i]->name, &dropped);
		result->profile_missing |= dropped.profiles > 0;
	}
}

static void join(struct collector_thread *thread)
{
	if (!thread->has_thread)
		return;
	bus_close(thread->options.bus);
	struct timespec soon;
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_sec += PROGRESS_AFTER;
	if (!pthread_timedjoin_np(thread->thread, NULL, &soon))
		return;
	const char *path = thread->collector ? collector_reading(thread->collector) : NULL;
	if (!thread->options.lossless)
		log_notice("finishing: %s%s", path ? "reading symbols of " : "resolving stacks", path ? path : "");
	pthread_join(thread->thread, NULL);
}

void collector_thread_finish(struct collector_thread *thread, struct collector_thread_result *result)
{
	*result = (struct collector_thread_result){ 0 };
	join(thread);
	if (thread->queues)
		finish_queues(thread, result);
	result->collector = thread->collector;
	if (thread->collector)
		result->statistics = collector_statistics(thread->collector);
	result->continuous = thread->options.continuous;
	result->profile_missing |= thread->profile_missing;
	result->profile = thread->profile ? &thread->profile->profile : NULL;
	result->difference = thread->difference ? difference_profile(thread->difference) : NULL;
}

void collector_thread_abandon(struct collector_thread *thread)
{
	atomic_store(&thread->abandoned, true);
	join(thread);
	for (size_t i = 0; thread->queues && i < thread->options.sink_count; i++)
		sink_queue_abandon(thread->queues[i]);
}

void collector_thread_free(struct collector_thread *thread)
{
	if (!thread)
		return;
	difference_free(thread->difference);
	snapshot_release(thread->profile);
	collector_free(thread->collector);
	free(thread->queues);
	pthread_mutex_destroy(&thread->calls_lock);
	free(thread);
}

static struct collector *make_collector(const struct collector_thread_options *options)
{
	uint32_t requests = options->requests;
	bool wants_records = false;
	for (size_t i = 0; i < options->sink_count; i++)
		wants_records |= options->sinks[i]->plugin->description.records != NULL;
	return collector_new(
		&(struct collector_options){ .intern = options->intern,
					     /*
					      * A replay contains them already, and its string ids are
					      * those of the capture.
					      */
					     .records = wants_records && !options->replays,
					     .decoders = options->decoders,
					     .lines = requests & IAPROF_REQUEST_LINES,
					     .time_resolution = options->time_resolution,
					     .hold = options->hold,
					     .pids = requests & (IAPROF_REQUEST_PIDS | IAPROF_REQUEST_THREADS),
					     .threads = requests & IAPROF_REQUEST_THREADS,
					     .spans = requests & IAPROF_REQUEST_SPANS,
					     .listings = requests & IAPROF_REQUEST_LISTINGS,
					     .activity = requests & IAPROF_REQUEST_ACTIVITY,
					     .debuginfod = options->debuginfod,
					     .continuous = options->continuous && !options->replays,
					     .kept = options->kept,
					     .live = !options->replays });
}

static int start(struct collector_thread *thread, struct error *error)
{
	const struct collector_thread_options *options = &thread->options;
	if (options->replays)
		bus_set_capacity(options->bus, BUS_CAPACITY_REPLAY);
	thread->collector = make_collector(options);
	thread->queues = calloc(options->sink_count + 1, sizeof(struct sink_queue *));
	if (!thread->collector || !thread->queues)
		return error_set(error, ENOMEM, "out of memory");
	for (size_t i = 0; i < options->sink_count; i++) {
		thread->queues[i] = sink_queue_new(options->sinks[i],
						   options->replays && options->lossless ? SINK_QUEUE_CAPACITY_REPLAY
											 : SINK_QUEUE_CAPACITY,
						   options->lossless, error);
		if (!thread->queues[i])
			return error->code;
		sink_queue_hold(thread->queues[i], options->holds_sinks);
	}
	int result = thread_start(&thread->thread, run, thread);
	if (result)
		return error_set(error, result, "cannot start the collector's thread: %s", strerror(result));
	thread->has_thread = true;
	return 0;
}

struct collector_thread *collector_thread_start(const struct collector_thread_options *options, struct error *error)
{
	struct collector_thread *thread = calloc(1, sizeof *thread);
	if (!thread) {
		error_set(error, ENOMEM, "out of memory");
		return NULL;
	}
	thread->options = *options;
	pthread_mutex_init(&thread->calls_lock, NULL);
	if (start(thread, error)) {
		collector_thread_abandon(thread);
		collector_thread_free(thread);
		return NULL;
	}
	return thread;
}

void collector_thread_release_sinks(struct collector_thread *thread)
{
	for (size_t i = 0; i < thread->options.sink_count; i++)
		sink_queue_hold(thread->queues[i], false);
}

void collector_thread_end_by(struct collector_thread *thread, uint64_t end)
{
	collector_end_by(thread->collector, end);
}

uint64_t collector_thread_helper_cost(const struct collector_thread *thread)
{
	return collector_helper_cost(thread->collector);
}

struct collector_thread_progress collector_thread_progress(struct collector_thread *thread)
{
	struct collector_thread_progress progress = {
		.samples = atomic_load_explicit(&thread->samples, memory_order_relaxed),
		.lost = atomic_load_explicit(&thread->lost, memory_order_relaxed),
		.intervals = atomic_load_explicit(&thread->intervals, memory_order_relaxed),
	};
	pthread_mutex_lock(&thread->calls_lock);
	progress.calls = thread->calls;
	pthread_mutex_unlock(&thread->calls_lock);
	return progress;
}
