/* SPDX-License-Identifier: Apache-2.0 */
/* See drain.h. */
#include <errno.h>
#include <string.h>
#include <iaprof/record.h>
#include "drain.h"
#include "cpu-stack.bpf.skel.h"

/* The values are those of totals_emit(). */
static const struct record_counter counters[] = {
	{ .id = 1, .name = "kernel-side-time", .unit = "nanoseconds" },
	{ .id = 2, .name = "ticks", .unit = "count" },
	{ .id = 3, .name = "ticks-idle", .unit = "count" },
	{ .id = 4, .name = "ticks-filtered", .unit = "count" },
};
#define COUNTERS (sizeof counters / sizeof *counters)

int drain_init(struct drain *drain, const struct iaprof_host *host, struct stack_reader *stacks,
	       struct cpu_stack_bpf *skeleton)
{
	drain->host = host;
	drain->stacks = stacks;
	drain->skeleton = skeleton;
	int result = cpu_table_map(&drain->cpus, host, skeleton->maps.processors);
	return result ? result : record_batch_init(&drain->batch, host);
}

void drain_free(struct drain *drain)
{
	cpu_table_unmap(&drain->cpus);
	map_table_free(&drain->samples);
	copied_stacks_free(&drain->copies);
	record_batch_free(&drain->batch);
}

int drain_begin(struct drain *drain, uint64_t period)
{
	drain->period = period;
	drain->last_time = drain->host->clock(drain->host);
	drain->value_type = drain->host->declare_value_type(drain->host, "cpu", "nanoseconds", period);
	return record_batch_declare_counters(&drain->batch, counters, COUNTERS, drain->last_time);
}

static uint32_t name_intern(struct drain *drain, const char *name)
{
	return drain->host->intern_string(drain->host, name, strnlen(name, CPU_STACK_NAME_SIZE));
}

static int sample_emit(struct drain *drain, const struct cpu_stack_key *key, const struct cpu_stack_count *count)
{
	/* Two CPUs that add to the same count record the time of one of them. */
	uint64_t last = count->last_time > count->first_time ? count->last_time : count->first_time;
	struct iaprof_record_sample sample = {
		.header = { .type = IAPROF_RECORD_SAMPLE, .time = last },
		.pid = key->process,
		.tid = key->thread,
		.name = name_intern(drain, key->name),
		.thread_name = name_intern(drain, key->thread_name),
		.cpu = UINT32_MAX,
		.value_type = drain->value_type,
		.count = count->samples,
		.value = count->count * drain->period,
		.first_time = count->first_time,
		.flags = key->flags,
	};
	struct stack_index *index = &drain->stacks->index;

	thread_contexts_set_span(&sample.header, &sample.span, key->span);
	sample.kernel_stack = stack_index_intern(index, drain->host, 0, key->kernel_stack);
	if (key->kernel_stack && !sample.kernel_stack)
		sample.flags |= STACK_KERNEL_MISSING;
	const struct stack_addresses *user = stack_index_find(index, key->user_stack);
	sample.user_stack = stack_reader_intern_user(drain->stacks, key->process, key->execution, key->user_stack, user,
						     &sample.flags);
	if (key->copy && copied_stacks_hold(&drain->copies, key->copy, &sample, user))
		return 0;
	return record_batch_append(&drain->batch, &sample.header);
}

static int set_drain(struct drain *drain, uint32_t set)
{
	struct cpu_stack_bpf *skeleton = drain->skeleton;
	const struct drained_map samples = { &drain->samples,
					     set ? skeleton->maps.samples_1 : skeleton->maps.samples_0 };
	int result =
		stack_reader_drain(drain->stacks, set ? skeleton->maps.stacks_1 : skeleton->maps.stacks_0, &samples, 1);
	/* The program sends a copy before it counts the sample. */
	copied_stacks_read(&drain->copies);
	const struct cpu_stack_key *keys = (const void *)drain->samples.keys;
	const struct cpu_stack_count *counts = (const void *)drain->samples.values;
	for (uint32_t i = 0; result == 0 && i < drain->samples.count; i++)
		result = sample_emit(drain, &keys[i], &counts[i]);
	return result ? result : copied_stacks_emit(&drain->copies, &drain->batch, false);
}

/* Reports losses and counters since the last call. */
static int totals_emit(struct drain *drain)
{
	struct cpu_stack_processor sum;
	const struct iaprof_host *host = drain->host;

	cpu_table_sum(&drain->cpus, &sum);
	uint64_t full = sum.ticks_full - drain->reported.ticks_full;
	if (full)
		host->lost(host, "sample map full", drain->last_time, full, drain->value_type, full * drain->period);
	uint64_t busy = sum.ticks_busy - drain->reported.ticks_busy;
	if (busy)
		host->lost(host, "sample map busy", drain->last_time, busy, drain->value_type, busy * drain->period);
	drain->reported = sum;
	drain->last_time = host->clock(host);

	const uint64_t values[COUNTERS] = { sum.handler_time, sum.ticks, sum.ticks_idle, sum.ticks_filtered };
	return record_batch_set_counters(&drain->batch, counters, values, COUNTERS, drain->last_time);
}

int drain_turn(struct drain *drain)
{
	uint32_t *active_set = &drain->skeleton->bss->active_set;

	/* The handler of a virtual CPU that is not running stays busy: the set is drained in the next turn. */
	if (!cpu_table_switch_set(&drain->cpus, offsetof(struct cpu_stack_processor, active), active_set,
				  &drain->set_pending))
		return 0;
	int result = set_drain(drain, !*active_set);
	return result ? result : totals_emit(drain);
}

int drain_finish(struct drain *drain)
{
	uint32_t active_set = drain->skeleton->bss->active_set;

	drain->set_pending = false;
	int result = set_drain(drain, !active_set);
	if (result == 0)
		result = set_drain(drain, active_set);
	return result ? result : totals_emit(drain);
}

int drain_release(struct drain *drain)
{
	int result = copied_stacks_emit(&drain->copies, &drain->batch, true);
	return result ? result : record_batch_flush(&drain->batch);
}
