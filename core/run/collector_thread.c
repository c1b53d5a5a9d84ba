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
#include "run/loss_report.h"
#include "text/plural.h"

/* Seconds after which progress is reported while a run ends. */
#define PROGRESS_AFTER 1

struct collector_thread {
	struct collector_thread_options options;
	struct sink_queue **queues; /* one for each sink */
	pthread_t thread;
	bool has_thread;
	atomic_bool abandoned;
	struct loss_report losses; /* used by the thread only */
};

static const struct plugin *plugin_of(const struct collector_thread *thread, size_t sink)
{
	return thread->options.sinks[sink]->plugin;
}

static bool has_intervals(const struct collector_thread *thread, size_t sink)
{
	const struct collector_thread_options *options = &thread->options;
	return options->wanted.interval && plugin_of(thread, sink)->description.flags & IAPROF_PLUGIN_INTERVALS &&
	       (options->interval_for_all || options->sinks[sink]->default_interval);
}

/* Queues a profile for the sinks with profiles of intervals, or for those with one profile of the run. */
static void hand_out_profile(void *context, struct snapshot *snapshot, bool is_interval)
{
	struct collector_thread *thread = context;
	if (is_interval && thread->options.wanted.continuous)
		loss_report_add(&thread->losses, &snapshot->profile, clock_monotonic());
	for (size_t i = 0; i < thread->options.sink_count; i++)
		if (plugin_of(thread, i)->operations.profile && has_intervals(thread, i) == is_interval)
			sink_queue_push_profile(thread->queues[i], snapshot);
}

static void hand_out_block(struct collector_thread *thread, struct block *block)
{
	struct block *compact = NULL;
	for (size_t i = 0; i < thread->options.sink_count; i++) {
		/* Of a difference, records are only instructions and source texts of the later run. */
		bool wants =
			!thread->options.wanted.before || thread->options.sinks[i]->requests & IAPROF_REQUEST_LISTINGS;
		if (!plugin_of(thread, i)->operations.records || !wants)
			continue;
		if (!compact)
			compact = block_compact(block);
		sink_queue_push_block(thread->queues[i], compact);
	}
	block_release(compact);
}

/* Queues a list of blocks with derived records, and releases it. */
static void hand_out_results(struct collector_thread *thread, struct block *results)
{
	for (struct block *block = results, *next; block; block = next) {
		next = block->next;
		block->next = NULL;
		hand_out_block(thread, block);
		block_release(block);
	}
}

static void take_blocks(struct collector_thread *thread, struct block *blocks)
{
	const struct collector_thread_options *options = &thread->options;
	for (struct block *block = blocks, *next; block; block = next) {
		next = block->next;
		block->next = NULL;
		struct block *results = options->engine ? options->functions->read(options->engine, block) : NULL;
		hand_out_block(thread, block);
		hand_out_results(thread, results);
		bus_recycle(options->bus, block);
	}
}

static void *run(void *argument)
{
	struct collector_thread *thread = argument;
	const struct collector_thread_options *options = &thread->options;
	struct block *blocks;
	while ((blocks = bus_take(options->bus, UINT64_MAX)))
		take_blocks(thread, blocks);
	if (atomic_load(&thread->abandoned) || !options->engine)
		return NULL;
	/* Resolves the remaining stacks. */
	hand_out_results(thread, options->functions->finish(options->engine));
	options->functions->conclude(options->engine);
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
	const struct collector_thread_options *options = &thread->options;
	bus_close(options->bus);
	struct timespec soon;
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_sec += PROGRESS_AFTER;
	if (!pthread_timedjoin_np(thread->thread, NULL, &soon))
		return;
	const char *path = options->engine ? options->functions->progress(options->engine).reading : NULL;
	if (!options->lossless)
		log_notice("finishing: %s%s", path ? "reading symbols of " : "resolving stacks", path ? path : "");
	pthread_join(thread->thread, NULL);
}

void collector_thread_finish(struct collector_thread *thread, struct collector_thread_result *result)
{
	*result = (struct collector_thread_result){ 0 };
	join(thread);
	if (thread->queues)
		finish_queues(thread, result);
	if (thread->options.engine)
		result->engine = thread->options.functions->result(thread->options.engine);
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
	free(thread->queues);
	loss_report_free(&thread->losses);
	free(thread);
}

static int configure_engine(struct collector_thread *thread, struct error *error)
{
	const struct collector_thread_options *options = &thread->options;
	struct engine_options wanted = options->wanted;
	if (!options->engine)
		return 0;
	for (size_t i = 0; i < options->sink_count; i++)
		wanted.records |= plugin_of(thread, i)->operations.records != NULL;
	wanted.profile = hand_out_profile;
	wanted.context = thread;
	return options->functions->configure(options->engine, &wanted, error);
}

static int start(struct collector_thread *thread, struct error *error)
{
	const struct collector_thread_options *options = &thread->options;
	if (options->wanted.replays)
		bus_set_capacity(options->bus, BUS_CAPACITY_REPLAY);
	thread->queues = calloc(options->sink_count + 1, sizeof(struct sink_queue *));
	if (!thread->queues)
		return error_set(error, ENOMEM, "out of memory");
	if (configure_engine(thread, error))
		return error->code;
	for (size_t i = 0; i < options->sink_count; i++) {
		thread->queues[i] = sink_queue_new(
			options->sinks[i],
			options->wanted.replays && options->lossless ? SINK_QUEUE_CAPACITY_REPLAY : SINK_QUEUE_CAPACITY,
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
