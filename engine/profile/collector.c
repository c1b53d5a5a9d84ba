/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a collector: its parts, the progress of time, and the end of the run. See collector.h. */
#include "profile/collector.h"

#include <stdlib.h>

#include "base/clock.h"
#include "profile/collector_state.h"

/* Process events of other CPUs may arrive up to this long after an exit was reported. */
#define RETIRE_AFTER (2 * NANOSECONDS_PER_SECOND)

/*
 * Device samples that waited get their program's name at the next SYNC, which may be this much later than their wait.
 */
#define RETIRE_AFTER_HOLD NANOSECONDS_PER_SECOND

/*
 * Continuous runs: size of the strings of sources, and epochs for which passing strings are kept, which the delay of
 * the bus must not exceed.
 */
#define STRINGS_MAX ((uint64_t)24 << 20)
#define STRING_EPOCHS 120

/* Time per second for prefetching between two SYNC records; the rest is continued after the next one. */
#define PREFETCH_TIME (NANOSECONDS_PER_SECOND / 4)

/* Number of stacks above which stacks that were not used recently are dropped. */
#define STACK_COUNT 65536

/* A stack id may be used for 5 s (iaprof/host.h); twice that is safe even if the bus lags behind. */
#define STACK_EPOCH NANOSECONDS_PER_SECOND
#define STACK_EPOCHS 10
/*
 * A replay does not see when its sources interned a stack again, only the samples, which follow at most 5 s and the
 * delay of the bus later.
 */
#define STACK_EPOCHS_OF_REPLAY (3 * STACK_EPOCHS)

/* How often a run that may be recorded sends names: a truncated capture has the names of everything before its end. */
#define NAMES_PERIOD NANOSECONDS_PER_SECOND

static void take_share(void *context, const struct iaprof_record_job *job, uint64_t share)
{
	struct collector *collector = context;
	/* In a replay, PROFILE_VALUE records have it. */
	if (collector->options.live && iaprof_record_job_has_kernel(job))
		correlator_take_execution(collector->correlator, job, share);
}

static void take_idle(void *context, const struct iaprof_record_job *job, uint64_t begin, uint64_t idle)
{
	struct collector *collector = context;
	device_gaps_take_idle(&collector->gaps, job, begin, idle);
}

struct collector *collector_new(const struct collector_options *options)
{
	struct collector *collector = calloc(1, sizeof *collector);
	if (!collector)
		return NULL;
	collector->options = *options;
	if (!collector->options.hold)
		collector->options.hold = CORRELATOR_HOLD;
	if (options->continuous)
		intern_limit_strings(options->intern, STRINGS_MAX);
	collector_subscribe(collector);
	collector->order =
		(struct record_order){ .hold = collector->options.hold, .pass = collector_pass, .context = collector };
	collector->results = (struct result_stream){ .intern = options->intern, .is_read = options->records };
	collector->facts.intern = collector->devices.intern = options->intern;
	collector->frames.rules = options->rules;
	collector->times.resolution = options->time_resolution;
	collector->processes = process_table_new();
	/* The paths in a capture are untrusted, so a replay has no symbolizer, which would open them. */
	if (options->live)
		collector->symbolizer = symbolizer_new(&(struct symbolizer_options){ .lines = options->lines,
										     .live = true,
										     .kept = options->kept,
										     .debuginfod = options->debuginfod,
										     .kallsyms = options->kallsyms });
	struct thread_table *threads = options->threads ? &collector->threads : NULL;
	collector->resolver = resolver_new(&(struct resolver_options){ .processes = collector->processes,
								       .symbolizer = collector->symbolizer,
								       .frames = &collector->frames,
								       .intern = options->intern,
								       .results = &collector->results,
								       .lines = options->lines });
	struct budget *budget = NULL;
	if (options->live) {
		budget = collector->symbolizer ? symbolizer_budget(collector->symbolizer) : NULL;
		collector->code_workers = code_workers_new(options->decoders, budget ? &budget->delay : NULL);
	}
	collector->device_code = device_code_new(&(struct device_code_options){ .intern = options->intern,
										.processes = collector->processes,
										.devices = &collector->devices,
										.workers = collector->code_workers,
										.budget = budget,
										.results = &collector->results,
										.live = options->live });
	collector->device_values = (struct device_values){ .values = &collector->values,
							   .times = &collector->times,
							   .facts = &collector->facts,
							   .results = &collector->results };
	collector->correlator =
		correlator_new(&(struct correlator_options){ .intern = options->intern,
							     .processes = collector->processes,
							     .devices = &collector->devices,
							     .resolver = collector->resolver,
							     .device_code = collector->device_code,
							     .frames = &collector->frames,
							     .threads = threads,
							     .spans = options->spans || options->records,
							     .output = device_values_output(&collector->device_values),
							     .time_resolution = options->time_resolution,
							     .results = &collector->results,
							     .hold = collector->options.hold,
							     .listings = options->listings });
	collector->calls.intern = options->intern;
	collector->findings.intern = options->intern;
	collector->histograms.intern = options->intern;
	collector->activity = (struct run_activity){ .intern = options->intern,
						     .processes = collector->processes,
						     .devices = &collector->devices,
						     .calls = &collector->calls,
						     .histograms = &collector->histograms,
						     .findings = &collector->findings,
						     .metadata = &collector->facts };
	collector->cpu_samples = (struct cpu_samples){ .stack_context = { .processes = collector->processes,
									  .resolver = collector->resolver,
									  .frames = &collector->frames,
									  .intern = options->intern,
									  .pids = options->pids,
									  .spans = options->spans,
									  .threads = threads },
						       .calls = &collector->calls,
						       .facts = &collector->facts,
						       .values = &collector->values,
						       .times = &collector->times,
						       .table.times.resolution = options->time_resolution };
	hash_key_make(&collector->cpu_samples.table.hash_key);
	collector->cpu_samples.waiting.hash_key = collector->cpu_samples.table.hash_key;
	collector->gaps = (struct device_gaps){ .samples = &collector->cpu_samples,
						.intern = options->intern,
						.facts = &collector->facts,
						.devices = &collector->devices };
	collector->device_time =
		(struct device_time){ .take = take_share, .take_idle = take_idle, .context = collector };
	collector->replayed_stacks = (struct replayed_stacks){ .intern = options->intern,
							       .frames = &collector->frames,
							       .devices = threads ? &collector->devices : NULL,
							       .spans = options->spans };
	collector->event_stacks.context = collector->cpu_samples.stack_context;
	collector->event_stacks.results = &collector->results;
	if (!collector->processes || (options->live && (!collector->symbolizer || !collector->code_workers)) ||
	    !collector->resolver || !collector->device_code || !collector->correlator) {
		collector_free(collector);
		return NULL;
	}
	return collector;
}

void collector_free(struct collector *collector)
{
	if (!collector)
		return;
	record_order_free(&collector->order);
	event_stacks_free(&collector->event_stacks);
	run_activity_free(&collector->activity);
	replayed_stacks_free(&collector->replayed_stacks);
	correlator_free(collector->correlator);
	device_code_free(collector->device_code);
	sampled_devices_free(&collector->devices);
	code_workers_free(collector->code_workers);
	resolver_free(collector->resolver);
	symbolizer_free(collector->symbolizer);
	process_table_free(collector->processes);
	result_stream_free(&collector->results);
	frame_table_free(&collector->frames);
	thread_table_free(&collector->threads);
	value_table_free(&collector->values);
	time_table_free(&collector->times);
	cpu_samples_free(&collector->cpu_samples);
	device_time_free(&collector->device_time);
	device_gaps_free(&collector->gaps);
	call_tree_free(&collector->calls);
	findings_free(&collector->findings);
	histograms_free(&collector->histograms);
	loss_free(&collector->loss);
	run_metadata_free(&collector->facts);
	free(collector);
}

/* Adds the idle gaps of devices whose samples have arrived. */
static void settle_gaps(struct collector *collector)
{
	uint64_t synced = collector->is_finished ? UINT64_MAX : collector->cpu_samples.synced;
	uint64_t delay = collector->is_finished || synced < DEVICE_GAPS_DELAY ? 0 : DEVICE_GAPS_DELAY;
	if (collector->gaps.is_used && device_gaps_settle(&collector->gaps, synced - delay))
		cpu_samples_place(&collector->cpu_samples, synced);
}

void collector_resolve(struct collector *collector)
{
	device_time_divide(&collector->device_time, UINT64_MAX);
	settle_gaps(collector);
	correlator_flush(collector->correlator);
	cpu_samples_resolve(&collector->cpu_samples);
}

/* Programs that ended before this are removed: nothing older still has to be resolved. */
static uint64_t retired_before(const struct collector *collector, uint64_t time)
{
	uint64_t after = collector->options.hold + RETIRE_AFTER_HOLD;
	if (after < RETIRE_AFTER)
		after = RETIRE_AFTER;
	return time > after ? time - after : 0;
}

/* Passes the records that have waited for all up to a time. */
static void release_records(struct collector *collector, uint64_t time)
{
	record_order_release(&collector->order, WAIT_PROCESSES, time);
	run_activity_update_names(&collector->activity);
	if (!collector->options.live)
		return;
	correlator_begin_sync(collector->correlator, time);
	record_order_release(&collector->order, WAIT_DEVICES, time);
}

/* Attributes samples up to a time to processes. */
static void place_samples(struct collector *collector, uint64_t until)
{
	cpu_samples_place(&collector->cpu_samples, until);
	uint64_t unreadable = collector->cpu_samples.unreadable;
	collector->cpu_samples.unreadable = 0;
	if (unreadable)
		collector_add_loss(collector, run_metadata_source_name(&collector->facts, 0),
				   COLLECTOR_REASON_UNREADABLE, LOSS_NO_VALUE_TYPE, collector->last_sync,
				   collector->last_sync, unreadable, 0);
}

void collector_sync(struct collector *collector, uint64_t time)
{
	collector->files_in_memory = 0;
	place_samples(collector, time);
	if (collector->options.live) {
		struct deadline end = deadline_make(NULL, PREFETCH_TIME);
		cpu_samples_prefetch(&collector->cpu_samples, &end);
		symbolizer_rest(collector->symbolizer, code_workers_cpu_time(collector->code_workers));
	}
	release_records(collector, time);
	if (time > DEVICE_TIME_DELAY)
		device_time_divide(&collector->device_time, time - DEVICE_TIME_DELAY);
	if (collector->options.live)
		correlator_end_sync(collector->correlator);
	if (collector->options.records && time - collector->names_begin >= NAMES_PERIOD) {
		collector->names_begin = time;
		cpu_samples_resolve(&collector->cpu_samples);
	}
	process_table_retire(collector->processes, retired_before(collector, time), cpu_samples_end_process,
			     &collector->cpu_samples);
	if (time - collector->stack_epoch_begin >= STACK_EPOCH) {
		settle_gaps(collector);
		collector->stack_epoch_begin = time;
		intern_begin_epoch(collector->options.intern);
		if (collector->options.continuous && ++collector->epochs % STRING_EPOCHS == 0)
			intern_expire_strings(collector->options.intern, STRING_EPOCHS);
		/*
		 * Stacks must not expire while unresolved samples refer to them. Launches add stacks without samples,
		 * because each process has its own addresses.
		 */
		if (cpu_samples_are_many(&collector->cpu_samples) ||
		    intern_stack_count(collector->options.intern) >= STACK_COUNT) {
			collector_resolve(collector);
			intern_expire_stacks(collector->options.intern,
					     collector->options.live ? STACK_EPOCHS : STACK_EPOCHS_OF_REPLAY);
		}
	}
}

/*
 * Reads the files that are quick first, then the others for half of the remaining time. The other half is left for
 * source lines, which are read while stacks are resolved.
 */
static void read_files(struct collector *collector)
{
	struct deadline end = symbolizer_end(collector->symbolizer);
	cpu_samples_prefetch(&collector->cpu_samples, &end);
	uint64_t left = deadline_left(&end);
	struct deadline half = deadline_make(end.delay, left == UINT64_MAX ? left : left / 2);
	half = deadline_earlier(&half, &end);
	cpu_samples_catch_up(&collector->cpu_samples, &half);
	symbolizer_give_up(collector->symbolizer);
}

void collector_finish(struct collector *collector)
{
	collector->is_finished = true;
	place_samples(collector, UINT64_MAX);
	if (collector->options.live)
		read_files(collector);
	release_records(collector, UINT64_MAX);
	if (collector->options.live)
		correlator_finish(collector->correlator);
	collector_resolve(collector);
	if (collector->options.live)
		symbolizer_rest(collector->symbolizer, code_workers_cpu_time(collector->code_workers));
}

struct block *collector_take_results(struct collector *collector)
{
	return result_stream_take(&collector->results);
}
