/* SPDX-License-Identifier: Apache-2.0 */
/* See drain.h. */
#include <errno.h>
#include <string.h>
#include <iaprof/record.h>
#include "drain.h"
#include "bpf/thread_contexts.h"
#include "cpu-stack.bpf.skel.h"

static int out_of_memory(const struct iaprof_host *host)
{
	return host->fail(host, ENOMEM, "out of memory");
}

int drain_init(struct drain *drain, const struct iaprof_host *host, struct cpu_stack_bpf *skeleton)
{
	drain->host = host;
	drain->skeleton = skeleton;
	int result = cpu_table_map(&drain->cpus, host, skeleton->maps.processors);
	if (result)
		return result;
	return record_batch_init(&drain->batch, host);
}

void drain_free(struct drain *drain)
{
	cpu_table_unmap(&drain->cpus);
	map_table_free(&drain->samples);
	map_table_free(&drain->stacks);
	stack_index_free(&drain->index);
	copied_stacks_free(&drain->copies);
	python_stacks_free(&drain->python);
	record_batch_free(&drain->batch);
}

int drain_begin(struct drain *drain, uint64_t period)
{
	drain->period = period;
	drain->last_time = drain->host->clock(drain->host);
	drain->value_type = drain->host->declare_value_type(drain->host, "cpu", "nanoseconds", period);
	static const struct record_counter counters[] = {
		{ .id = DRAIN_KERNEL_TIME, .name = "kernel-side-time", .unit = "nanoseconds" },
		{ .id = DRAIN_TICKS, .name = "ticks", .unit = "count" },
		{ .id = DRAIN_TICKS_IDLE, .name = "ticks-idle", .unit = "count" },
		{ .id = DRAIN_TICKS_FILTERED, .name = "ticks-filtered", .unit = "count" }
	};
	int result = 0;
	for (size_t i = 0; i < sizeof counters / sizeof *counters && result == 0; i++)
		result = record_batch_declare_counter(&drain->batch, &counters[i], drain->last_time);
	return result ? result : record_batch_flush(&drain->batch);
}

/* Returns the id of the stack with this hash, or 0 without one; adds missing to *flags if there should be one. */
static uint32_t stack_intern(struct drain *drain, uint32_t process, uint64_t hash, uint32_t missing, uint32_t *flags)
{
	uint32_t id = stack_index_intern(&drain->index, drain->host, process, hash);
	if (hash && !id)
		*flags |= missing;
	return id;
}

static uint32_t user_stack_intern(struct drain *drain, const struct cpu_stack_key *key, uint32_t *flags)
{
	if (!drain->python.ring)
		return stack_intern(drain, key->process, key->user_stack, IAPROF_SAMPLE_USER_STACK_MISSING, flags);
	bool is_complete = !(key->flags & (CPU_STACK_TRUNCATED | CPU_STACK_NO_TABLE | CPU_STACK_UNREADABLE));
	const struct stack_addresses *stack = stack_index_find(&drain->index, key->user_stack);
	uint32_t id = stack ? python_stacks_intern(&drain->python, key->process, key->execution, is_complete,
						   (const uint64_t *)stack->addresses, (uint32_t)stack->depth)
			    : 0;
	if (key->user_stack && !id)
		*flags |= IAPROF_SAMPLE_USER_STACK_MISSING;
	return id;
}

/* Returns enum iaprof_sample_flag of enum cpu_stack_flag. */
static uint32_t sample_flags(uint32_t flags)
{
	return (flags & CPU_STACK_USER_MISSING ? IAPROF_SAMPLE_USER_STACK_MISSING : 0) |
	       (flags & CPU_STACK_KERNEL_MISSING ? IAPROF_SAMPLE_KERNEL_STACK_MISSING : 0) |
	       (flags & CPU_STACK_TRUNCATED ? IAPROF_SAMPLE_TRUNCATED : 0) |
	       (flags & CPU_STACK_NO_TABLE ? IAPROF_SAMPLE_NO_UNWIND_TABLE : 0) |
	       (flags & CPU_STACK_UNREADABLE ? IAPROF_SAMPLE_STACK_UNREADABLE : 0);
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
	};
	uint32_t flags = sample_flags(key->flags);

	thread_contexts_set_span(&sample.header, &sample.span, key->span);
	sample.user_stack = user_stack_intern(drain, key, &flags);
	sample.kernel_stack = stack_intern(drain, 0, key->kernel_stack, IAPROF_SAMPLE_KERNEL_STACK_MISSING, &flags);
	sample.flags = flags;
	if (key->copy &&
	    copied_stacks_hold(&drain->copies, key->copy, &sample, stack_index_find(&drain->index, key->user_stack)))
		return 0;
	return record_batch_append(&drain->batch, &sample.header);
}

static int set_drain(struct drain *drain, uint32_t set)
{
	const struct iaprof_host *host = drain->host;
	struct cpu_stack_bpf *skeleton = drain->skeleton;

	int result = map_table_drain(&drain->samples, set ? skeleton->maps.samples_1 : skeleton->maps.samples_0);
	if (result == 0)
		result = map_table_drain(&drain->stacks, set ? skeleton->maps.stacks_1 : skeleton->maps.stacks_0);
	if (result == -ENOMEM || (result == 0 && !stack_index_build(&drain->index, &drain->stacks)))
		return out_of_memory(host);
	if (result)
		return host->fail(host, result, "cannot read the maps of the BPF program: %s", strerror(-result));

	/* The program sends copies of stacks and of Python functions before it counts the sample. */
	copied_stacks_read(&drain->copies);
	python_stacks_read(&drain->python);
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

	const uint64_t values[] = { [DRAIN_KERNEL_TIME] = sum.handler_time + sum.fork_time,
				    [DRAIN_TICKS] = sum.ticks,
				    [DRAIN_TICKS_IDLE] = sum.ticks_idle,
				    [DRAIN_TICKS_FILTERED] = sum.ticks_filtered };
	int result = 0;
	for (uint32_t id = DRAIN_KERNEL_TIME; id <= DRAIN_TICKS_FILTERED && result == 0; id++)
		result = record_batch_set_counter(&drain->batch, id, (double)values[id], drain->last_time);
	return result ? result : record_batch_flush(&drain->batch);
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
