/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of intervals and of the run, from the records on the bus: see engine_state.h. */
#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "engine_state.h"
#include "stacks/difference.h"
#include "text/quantity.h"

/* SYNC records arrive at least every second, and intervals end with them. */
#define JITTER_MAX (NANOSECONDS_PER_SECOND / 2)
#define SYNC_PERIOD_MAX NANOSECONDS_PER_SECOND

static void hand_out(const struct engine *engine, struct snapshot *snapshot, bool is_interval)
{
	if (snapshot)
		engine->options.profile(engine->options.context, snapshot, is_interval);
}

static struct snapshot *take_snapshot(struct engine *engine, bool total, uint64_t begin, uint64_t end, bool final)
{
	struct snapshot *snapshot = collector_snapshot(engine->collector, total);
	if (!snapshot) {
		engine->profile_missing = true;
		log_message(IAPROF_LOG_ERROR, "out of memory: dropped a profile of %s",
			    quantity_time((double)(end - begin)).text);
		return NULL;
	}
	snapshot->profile.flags |= final ? IAPROF_PROFILE_FINAL : 0;
	snapshot->profile.flags |= engine->options.continuous ? IAPROF_PROFILE_CONTINUOUS : 0;
	snapshot->profile.begin = begin;
	snapshot->profile.end = end;
	/* Imported text has no date. */
	uint64_t offset = collector_realtime_offset(engine->collector);
	snapshot->profile.begin_realtime = offset ? begin + offset : 0;
	const struct histograms *histograms = collector_histograms(engine->collector);
	snapshot->profile.jobs_done = histograms->jobs_done;
	snapshot->profile.jobs_aborted = histograms->jobs_aborted;
	return snapshot;
}

/* Ends the interval and queues its profile. */
static void end_interval(struct engine *engine, uint64_t time, bool final)
{
	uint64_t cost = clock_read(CLOCK_THREAD_CPUTIME_ID);
	struct snapshot *snapshot = take_snapshot(engine, false, engine->interval_begin, time, final);
	if (snapshot)
		snapshot->profile.interval = engine->progress.intervals;
	hand_out(engine, snapshot, true);
	snapshot_release(snapshot);
	collector_begin_interval(engine->collector);
	pthread_mutex_lock(&engine->progress_lock);
	engine->progress.intervals++;
	pthread_mutex_unlock(&engine->progress_lock);
	engine->interval_begin = time;
	engine->interval_cost += clock_read(CLOCK_THREAD_CPUTIME_ID) - cost;
}

/* Returns the time between SYNC records. */
static uint64_t sync_period(uint64_t interval)
{
	return interval < SYNC_PERIOD_MAX ? interval : SYNC_PERIOD_MAX;
}

static void on_sync(void *context, uint64_t time)
{
	struct engine *engine = context;
	engine->last_sync = time;
	struct call_families calls = call_tree_families(collector_calls(engine->collector));
	pthread_mutex_lock(&engine->progress_lock);
	engine->progress.calls = calls;
	pthread_mutex_unlock(&engine->progress_lock);
	if (!engine->begin)
		engine->begin = engine->interval_begin = time;
	/* Tolerates timer jitter of up to 5 % and half a second, so that an interval is not skipped. */
	uint64_t interval = engine->options.interval;
	uint64_t jitter = interval / 20 < JITTER_MAX ? interval / 20 : JITTER_MAX;
	uint64_t elapsed = time - engine->interval_begin;
	bool is_due = interval && elapsed >= interval - jitter;
	/* The first interval begins between two SYNC records: it ends with the one after which it would be too long. */
	if (engine->options.continuous && !engine->progress.intervals && elapsed)
		is_due |= elapsed + sync_period(interval) > interval + jitter;
	/* Memory is bounded whatever runs. */
	if (is_due || (interval && time > engine->interval_begin && collector_is_full(engine->collector))) {
		collector_resolve(engine->collector);
		end_interval(engine, time, false);
	}
}

/* Makes the final profile. Returns NULL after an error message. */
static struct snapshot *make_result(struct engine *engine)
{
	const struct engine_options *options = &engine->options;
	struct error error = { 0 };
	engine->profile = take_snapshot(engine, true, engine->begin, engine->last_sync, true);
	if (!engine->profile || !options->before)
		return engine->profile;
	struct difference_input input = { .before = options->before,
					  .after = &engine->profile->profile,
					  .normalization = options->normalization,
					  .lines = options->requests & IAPROF_REQUEST_LINES,
					  .device_lines = options->requests & IAPROF_REQUEST_LISTINGS };
	engine->difference = difference_new(&input, &error);
	if (!engine->difference) {
		engine->profile_missing = true;
		log_message(IAPROF_LOG_ERROR, "difference: %s", error.text);
		return NULL;
	}
	/* Its first reference is never released. */
	atomic_init(&engine->compared.references, 1);
	engine->compared.size = sizeof engine->compared;
	engine->compared.profile = *difference_profile(engine->difference);
	return &engine->compared;
}

int profiles_configure(struct engine *engine, const struct engine_options *options, struct error *error)
{
	uint32_t requests = options->requests;
	engine->options = *options;
	engine->collector = collector_new(&(struct collector_options){
		.intern = engine->services.intern,
		/* A replay contains them already, and its string ids are those of the capture. */
		.records = options->records && !options->replays,
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
		.rules = options->rules,
		.continuous = options->continuous && !options->replays,
		.kept = &engine->kept_files,
		.live = !options->replays });
	return engine->collector ? 0 : error_set(error, ENOMEM, "out of memory");
}

static void note_progress(struct engine *engine)
{
	uint64_t samples = collector_statistics(engine->collector).samples;
	uint64_t lost = collector_lost_count(engine->collector);
	pthread_mutex_lock(&engine->progress_lock);
	engine->progress.samples = samples;
	engine->progress.lost = lost;
	pthread_mutex_unlock(&engine->progress_lock);
}

/* Attributes a part of the CPU time of a batch to process events: theirs of its records. */
static void note_cost(struct engine *engine, const struct iaprof_batch *batch, uint64_t cost)
{
	uint64_t all = 0, events = 0;
	for (const struct iaprof_record *record = NULL; (record = iaprof_batch_next(batch, record)); all++)
		events += record->type == IAPROF_RECORD_PROCESS || record->type == IAPROF_RECORD_MAPPING;
	uint64_t share = all ? (uint64_t)((double)cost * (double)events / (double)all) : 0;
	pthread_mutex_lock(&engine->progress_lock);
	engine->progress.events_cost += share;
	pthread_mutex_unlock(&engine->progress_lock);
}

/* Returns the CPU time of this thread, without profiles of intervals; 0 if no budget needs it. */
static uint64_t reading_time(const struct engine *engine)
{
	return engine->options.continuous ? clock_read(CLOCK_THREAD_CPUTIME_ID) - engine->interval_cost : 0;
}

struct block *profiles_read(struct engine *engine, const struct block *block)
{
	struct iaprof_batch batch = block_batch(block);
	uint64_t begin = reading_time(engine);
	collector_take(engine->collector, &batch, on_sync, engine);
	note_progress(engine);
	if (engine->options.continuous)
		note_cost(engine, &batch, reading_time(engine) - begin);
	return collector_take_results(engine->collector);
}

struct block *profiles_finish(struct engine *engine)
{
	collector_finish(engine->collector);
	note_progress(engine);
	return collector_take_results(engine->collector);
}

void profiles_conclude(struct engine *engine)
{
	hand_out(engine, make_result(engine), false);
	if (engine->options.interval)
		end_interval(engine, engine->last_sync, true);
}

struct engine_progress profiles_progress(struct engine *engine)
{
	pthread_mutex_lock(&engine->progress_lock);
	struct engine_progress progress = engine->progress;
	pthread_mutex_unlock(&engine->progress_lock);
	progress.tables_cost = unwind_feed_cost(engine->unwind_feed);
	progress.events_cost += unwind_feed_thread_cost(engine->unwind_feed);
	progress.helper_cost = progress.tables_cost;
	if (engine->collector) {
		progress.helper_cost += collector_helper_cost(engine->collector);
		progress.reading = collector_reading(engine->collector);
	}
	return progress;
}

struct engine_result profiles_result(const struct engine *engine)
{
	if (!engine->collector)
		return (struct engine_result){ 0 };
	const struct collector_statistics statistics = collector_statistics(engine->collector);
	return (struct engine_result){ .profile = engine->profile ? &engine->profile->profile : NULL,
				       .difference = engine->difference ? difference_profile(engine->difference) : NULL,
				       .samples = statistics.samples,
				       .kernel_side_time = statistics.kernel_side_time,
				       .has_failed = engine->profile_missing || statistics.decoder_failed };
}

void profiles_free(struct engine *engine)
{
	difference_free(engine->difference);
	snapshot_release(engine->profile);
	collector_free(engine->collector);
}
