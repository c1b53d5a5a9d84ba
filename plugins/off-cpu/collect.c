/* SPDX-License-Identifier: Apache-2.0 */
/* See collect.h. */
#include "collect.h"

#include <errno.h>
#include <string.h>
#include <iaprof/record.h>
#include "base/cleanup.h"
#include "off-cpu.bpf.skel.h"

/* The values are those of totals_emit(). */
static const struct record_counter counters[] = {
	{ .id = 1, .name = "kernel-side-time", .unit = "nanoseconds" },
	{ .id = 2, .name = "switches", .unit = "count" },
};
#define COUNTERS (sizeof counters / sizeof *counters)

int collector_init(struct collector *collector, const struct iaprof_host *host, struct stack_reader *stacks,
		   struct off_cpu_bpf *skeleton)
{
	collector->host = collector->before.host = host;
	collector->stacks = stacks;
	collector->skeleton = skeleton;
	int result = cpu_table_map(&collector->cpus, host, skeleton->maps.processors);
	if (result)
		return result;
	CLEANUP_FCLOSE FILE *symbols = fopen("/proc/kallsyms", "re");
	if (symbols && wait_reasons_read(&collector->reasons, symbols))
		return host->fail(host, ENOMEM, "out of memory");
	return record_batch_init(&collector->batch, host);
}

void collector_free(struct collector *collector)
{
	cpu_table_unmap(&collector->cpus);
	map_table_free(&collector->waits);
	map_table_free(&collector->threads);
	wait_stacks_free(&collector->known);
	wait_reasons_free(&collector->reasons);
	sleepers_free(&collector->before);
	record_batch_free(&collector->batch);
}

int collector_begin(struct collector *collector)
{
	const struct iaprof_host *host = collector->host;
	collector->last_time = host->clock(host);
	collector->waiting = host->declare_value_type(host, "off-cpu", "nanoseconds", 0);
	collector->ready = host->declare_value_type(host, "runnable", "nanoseconds", 0);
	return record_batch_declare_counters(&collector->batch, counters, COUNTERS, collector->last_time);
}

static uint32_t name_intern(const struct collector *collector, const char *name)
{
	return collector->host->intern_string(collector->host, name, strnlen(name, OFF_CPU_NAME_SIZE));
}

/* Returns a sample of a key without its stacks. */
static struct iaprof_record_sample sample_of(const struct collector *collector, const struct off_cpu_key *key)
{
	struct iaprof_record_sample sample = {
		.header = { .type = IAPROF_RECORD_SAMPLE },
		.pid = key->process,
		.tid = key->thread,
		.name = name_intern(collector, key->name),
		.thread_name = name_intern(collector, key->thread_name),
		.cpu = UINT32_MAX,
		.value_type = key->state >= OFF_CPU_WOKEN ? collector->ready : collector->waiting,
		.flags = key->flags & STACK_FLAGS,
	};
	thread_contexts_set_span(&sample.header, &sample.span, key->span);
	return sample;
}

static void set_reason(const struct collector *collector, struct iaprof_record_sample *sample,
		       const struct off_cpu_key *key, const uint64_t *addresses, size_t count)
{
	char driver[OFF_CPU_DRIVER_SIZE + 1] = "", text[WAIT_REASON_SIZE];
	memcpy(driver, key->driver, OFF_CPU_DRIVER_SIZE);
	wait_reason_text(&collector->reasons, addresses, count, driver, key->state, text);
	if (key->flags & OFF_CPU_OVER_SHARE)
		strcpy(text, "[no stack: CPU share exhausted]");
	else if (key->flags & OFF_CPU_BEFORE && !count && key->state < OFF_CPU_WOKEN)
		strcpy(text, "[no stack: asleep since before the run]");
	sample->reason = record_batch_text(&collector->batch, text);
}

/* Sets the stacks and the reason of a thread that the iterator has read. */
static void set_sleeper(const struct collector *collector, struct iaprof_record_sample *sample,
			const struct off_cpu_key *key, const struct sleeper *sleeper)
{
	const struct iaprof_host *host = collector->host;
	uint64_t depth = sleeper ? sleeper->thread.kernel_depth : 0;
	const uint64_t *kernel = sleeper ? (const uint64_t *)sleeper->thread.kernel : NULL;
	struct off_cpu_key with_driver = *key;
	if (sleeper) {
		memcpy(with_driver.driver, sleeper->thread.key.driver, sizeof with_driver.driver);
		sample->kernel_stack = depth ? host->intern_stack(host, 0, kernel, depth) : 0;
		if (sleeper->user)
			sample->user_stack = host->intern_stack(host, key->process, sleeper->user, sleeper->user_depth);
		if (sleeper->user || sleeper->copy)
			sample->flags |= unwind_end_flag(sleeper->end);
	}
	set_reason(collector, sample, &with_driver, kernel, depth);
}

/* Returns the id of a Linux kernel stack with a hash, or 0. */
static uint32_t kernel_stack_intern(const struct collector *collector, uint64_t hash)
{
	const struct stack_addresses *stack = wait_stacks_find(&collector->known, hash);
	const uint64_t *addresses = stack ? (const uint64_t *)stack->addresses : NULL;
	size_t skipped = stack ? wait_reasons_skip(&collector->reasons, addresses, stack->depth) : 0;
	return stack ? collector->host->intern_stack(collector->host, 0, addresses + skipped, stack->depth - skipped)
		     : 0;
}

static void set_stacks(struct collector *collector, struct iaprof_record_sample *sample, const struct off_cpu_key *key)
{
	const struct iaprof_host *host = collector->host;
	sample->user_stack =
		stack_reader_intern_user(collector->stacks, key->process, key->execution, key->user_stack,
					 wait_stacks_find(&collector->known, key->user_stack), &sample->flags);
	sample->kernel_stack = kernel_stack_intern(collector, key->kernel_stack);
	if (key->kernel_stack && !sample->kernel_stack)
		sample->flags |= STACK_KERNEL_MISSING;
	const struct stack_addresses *kernel = wait_stacks_find(&collector->known, key->kernel_stack);
	set_reason(collector, sample, key, kernel ? (const uint64_t *)kernel->addresses : NULL,
		   kernel ? kernel->depth : 0);
	if (!*key->waker_name)
		return;
	sample->waker = key->waker;
	sample->waker_name = name_intern(collector, key->waker_name);
	const struct stack_addresses *user = wait_stacks_find(&collector->known, key->waker_user);
	if (user)
		sample->waker_user_stack =
			host->intern_stack(host, key->waker, (const uint64_t *)user->addresses, user->depth);
	sample->waker_kernel_stack = kernel_stack_intern(collector, key->waker_kernel);
}

static void set_origin(struct collector *collector, struct iaprof_record_sample *sample, const struct off_cpu_key *key)
{
	if (key->flags & OFF_CPU_BEFORE)
		set_sleeper(collector, sample, key, sleepers_find(&collector->before, key->thread));
	else
		set_stacks(collector, sample, key);
}

static int wait_emit(struct collector *collector, const struct off_cpu_key *key, const struct off_cpu_sum *sum)
{
	struct iaprof_record_sample sample = sample_of(collector, key);
	/* Two CPUs that add to the same sum record the times of one of them. */
	sample.header.time = sum->last_time > sum->first_time ? sum->last_time : sum->first_time;
	sample.first_time = sum->first_time;
	sample.count = sum->count;
	sample.value = sum->value;
	set_origin(collector, &sample, key);
	return record_batch_append(&collector->batch, &sample.header);
}

static int set_drain(struct collector *collector, uint32_t set)
{
	const struct iaprof_host *host = collector->host;
	struct off_cpu_bpf *skeleton = collector->skeleton;
	const struct drained_map waits = { &collector->waits, set ? skeleton->maps.waits_1 : skeleton->maps.waits_0 };
	int result = stack_reader_drain(collector->stacks, set ? skeleton->maps.stacks_1 : skeleton->maps.stacks_0,
					&waits, 1);
	if (result == 0 && !wait_stacks_add(&collector->known, &collector->stacks->index))
		return host->fail(host, ENOMEM, "out of memory");
	__atomic_store_n(&skeleton->bss->span_keys[set], 0, __ATOMIC_RELAXED);
	const struct off_cpu_key *keys = (const void *)collector->waits.keys;
	const struct off_cpu_sum *sums = (const void *)collector->waits.values;
	for (uint32_t i = 0; result == 0 && i < collector->waits.count; i++)
		result = wait_emit(collector, &keys[i], &sums[i]);
	return result;
}

static void loss_report(const struct collector *collector, const char *reason, uint64_t count, uint32_t value_type,
			uint64_t value)
{
	const struct iaprof_host *host = collector->host;
	if (count)
		host->lost(host, reason, collector->last_time, count, value_type, value);
}

/* state: enum off_cpu_state */
static void dropped_report(const struct collector *collector, uint32_t state, uint64_t count, uint64_t value)
{
	if (state >= OFF_CPU_WOKEN)
		loss_report(collector, "CPU share exhausted, runnable", count, collector->ready, value);
	else
		loss_report(collector, "CPU share exhausted", count, collector->waiting, value);
}

/* Reports what was lost since the last call. */
static void losses_report(const struct collector *collector, const struct off_cpu_processor *sum)
{
	const struct off_cpu_processor *before = &collector->reported;
	loss_report(collector, "wait map full or busy",
		    sum->waits_full + sum->waits_busy - before->waits_full - before->waits_busy, collector->waiting,
		    sum->value_lost - before->value_lost);
	loss_report(collector, "too many threads", sum->threads_full - before->threads_full, collector->waiting, 0);
	dropped_report(collector, OFF_CPU_INTERRUPTIBLE, sum->dropped.count - before->dropped.count,
		       sum->dropped.value - before->dropped.value);
	dropped_report(collector, OFF_CPU_WOKEN, sum->dropped_ready.count - before->dropped_ready.count,
		       sum->dropped_ready.value - before->dropped_ready.value);
}

/* Reports losses and counters since the last call. */
static int totals_emit(struct collector *collector)
{
	struct off_cpu_processor sum;
	const struct iaprof_host *host = collector->host;

	cpu_table_sum(&collector->cpus, &sum);
	losses_report(collector, &sum);
	collector->reported = sum;
	collector->last_time = host->clock(host);
	const uint64_t values[COUNTERS] = { sum.handler_time, sum.switches };
	return record_batch_set_counters(&collector->batch, counters, values, COUNTERS, collector->last_time);
}

int collector_turn(struct collector *collector)
{
	uint32_t *active_set = &collector->skeleton->bss->active_set;

	/* A program that is interrupted stays active: the set is drained in the next turn. */
	if (!cpu_table_switch_set(&collector->cpus, offsetof(struct off_cpu_processor, active), active_set,
				  &collector->set_pending))
		return 0;
	int result = set_drain(collector, !*active_set);
	return result ? result : totals_emit(collector);
}

int collector_finish(struct collector *collector)
{
	uint32_t active_set = collector->skeleton->bss->active_set;

	cpu_table_wait_idle(&collector->cpus, offsetof(struct off_cpu_processor, active));
	collector->set_pending = false;
	int result = set_drain(collector, !active_set);
	if (result == 0)
		result = set_drain(collector, active_set);
	return result ? result : totals_emit(collector);
}

static int unfinished_emit(struct collector *collector, struct off_cpu_key *key, uint32_t state, uint64_t begin,
			   uint64_t end)
{
	if (begin >= end || (end - begin < collector->minimum && collector->skip_short) ||
	    (state >= OFF_CPU_WOKEN && !collector->skeleton->rodata->take_ready))
		return 0;
	if (key->flags & OFF_CPU_DROPPED) {
		dropped_report(collector, state, 1, end - begin);
		return 0;
	}
	key->state = state;
	struct iaprof_record_sample sample = sample_of(collector, key);
	sample.header.time = end;
	sample.first_time = begin;
	sample.count = 1;
	sample.value = end - begin;
	set_origin(collector, &sample, key);
	return record_batch_append(&collector->batch, &sample.header);
}

/* Puts the wait of a thread that was passed into what is known of the thread. */
static void passed_resume(const struct collector *collector, uint32_t id, struct off_cpu_thread *thread)
{
	const struct off_cpu_quiet *quiet = &collector->skeleton->bss->quiet_threads[id % OFF_CPU_QUIET_THREADS];
	struct off_cpu_key key = { .process = thread->key.process,
				   .thread = thread->key.thread,
				   .execution = thread->key.execution,
				   .flags = OFF_CPU_NOT_TAKEN,
				   .state = quiet->state };
	if (quiet->thread != id || !quiet->left)
		return;
	memcpy(key.name, thread->key.name, sizeof key.name);
	memcpy(key.thread_name, thread->key.thread_name, sizeof key.thread_name);
	thread->key = key;
	thread->start = quiet->left;
	thread->woken = quiet->woken;
}

int collector_emit_unfinished(struct collector *collector, uint64_t end)
{
	const struct iaprof_host *host = collector->host;
	bool all = host->target(host)->scope != IAPROF_SCOPE_SYSTEM;
	int result = map_table_drain(&collector->threads, collector->skeleton->maps.threads);
	struct off_cpu_thread *threads = (void *)collector->threads.values;
	const uint32_t *ids = (const void *)collector->threads.keys;
	for (uint32_t i = 0; i < collector->threads.count && result == 0; i++) {
		struct off_cpu_thread *thread = &threads[i];
		passed_resume(collector, ids[i], thread);
		struct off_cpu_key key = thread->key;
		uint64_t woken = thread->woken ? thread->woken : end;
		if (!thread->start)
			continue;
		bool is_throughout = key.flags & OFF_CPU_BEFORE && !thread->woken;
		*(is_throughout ? &collector->asleep_throughout : &collector->asleep_at_end) += 1;
		if (is_throughout && !all)
			continue;
		result = unfinished_emit(collector, &key, key.state, thread->start, woken);
		if (result == 0)
			result = unfinished_emit(collector, &key,
						 key.state == OFF_CPU_PREEMPTED ? OFF_CPU_PREEMPTED : OFF_CPU_WOKEN,
						 woken, end);
	}
	return result ? result : record_batch_flush(&collector->batch);
}
