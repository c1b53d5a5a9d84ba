/* SPDX-License-Identifier: Apache-2.0 */
/* See drain.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <iaprof/record.h>
#include "drain.h"
#include "cpu-stack.bpf.skel.h"

/* How long a turn waits for handlers that still use the set of maps to be drained; one runs for a few microseconds. */
#define HANDLER_WAIT 200000u /* ns */

static int out_of_memory(const struct iaprof_host *host)
{
	return host->fail(host, ENOMEM, "out of memory");
}

static size_t processors_size(const struct drain *drain)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t size = drain->processor_count * sizeof *drain->processors;
	return (size + page - 1) / page * page;
}

int drain_init(struct drain *drain, const struct iaprof_host *host, struct cpu_stack_bpf *skeleton)
{
	drain->host = host;
	drain->skeleton = skeleton;
	drain->processor_count = bpf_map__max_entries(skeleton->maps.processors);
	void *mapped =
		mmap(NULL, processors_size(drain), PROT_READ, MAP_SHARED, bpf_map__fd(skeleton->maps.processors), 0);
	if (mapped == MAP_FAILED)
		return host->fail(host, errno, "map the BPF program's counters: %s", strerror(errno));
	drain->processors = mapped;

	drain->samples.key_size = sizeof(struct cpu_stack_key);
	drain->samples.value_size = sizeof(struct cpu_stack_count);
	drain->stacks.key_size = sizeof(uint64_t);
	drain->stacks.value_size = bpf_map__value_size(skeleton->maps.stacks_0);
	return record_batch_init(&drain->batch, host);
}

void drain_free(struct drain *drain)
{
	if (drain->processors)
		munmap(drain->processors, processors_size(drain));
	map_table_free(&drain->samples);
	map_table_free(&drain->stacks);
	stack_index_free(&drain->index);
	record_batch_free(&drain->batch);
}

int drain_begin(struct drain *drain, uint64_t period)
{
	drain->period = period;
	drain->last_time = drain->host->clock(drain->host);
	drain->value_type = drain->host->declare_value_type(drain->host, "cpu", "nanoseconds", period);
	int result = record_batch_declare_counter(&drain->batch, DRAIN_KERNEL_TIME, "kernel-side-time", "nanoseconds",
						  drain->last_time);
	if (result == 0)
		result = record_batch_declare_counter(&drain->batch, DRAIN_TICKS, "ticks", "count", drain->last_time);
	if (result == 0)
		result = record_batch_declare_counter(&drain->batch, DRAIN_TICKS_IDLE, "ticks-idle", "count",
						      drain->last_time);
	if (result == 0)
		result = record_batch_declare_counter(&drain->batch, DRAIN_TICKS_FILTERED, "ticks-filtered", "count",
						      drain->last_time);
	return result ? result : record_batch_flush(&drain->batch);
}

/* The id of the stack with this hash; 0 when there is none, with missing added to *flags when there should be one. */
static uint32_t stack_intern(struct drain *drain, uint32_t process, uint64_t hash, uint32_t missing, uint32_t *flags)
{
	uint32_t id = stack_index_intern(&drain->index, drain->host, process, hash);
	if (hash && !id)
		*flags |= missing;
	return id;
}

static int sample_emit(struct drain *drain, const struct cpu_stack_key *key, const struct cpu_stack_count *count)
{
	/* Two CPUs that add to the same count leave the time of either. */
	uint64_t last = count->last_time > count->first_time ? count->last_time : count->first_time;
	struct iaprof_record_sample sample = {
		.header = { .size = sizeof sample, .type = IAPROF_RECORD_SAMPLE, .time = last },
		.pid = key->process,
		.name = drain->host->intern_string(drain->host, key->name, strnlen(key->name, sizeof key->name)),
		.cpu = UINT32_MAX,
		.value_type = drain->value_type,
		.count = count->count,
		.value = count->count * drain->period,
		.first_time = count->first_time,
	};
	uint32_t flags = 0;

	if (key->flags & CPU_STACK_USER_MISSING)
		flags |= IAPROF_SAMPLE_USER_STACK_MISSING;
	if (key->flags & CPU_STACK_KERNEL_MISSING)
		flags |= IAPROF_SAMPLE_KERNEL_STACK_MISSING;
	if (key->flags & CPU_STACK_TRUNCATED)
		flags |= IAPROF_SAMPLE_TRUNCATED;
	sample.user_stack =
		stack_intern(drain, key->process, key->user_stack, IAPROF_SAMPLE_USER_STACK_MISSING, &flags);
	sample.kernel_stack = stack_intern(drain, 0, key->kernel_stack, IAPROF_SAMPLE_KERNEL_STACK_MISSING, &flags);
	sample.flags = flags;
	return record_batch_append(&drain->batch, &sample.header);
}

static int set_drain(struct drain *drain, uint32_t set)
{
	const struct iaprof_host *host = drain->host;
	struct cpu_stack_bpf *skeleton = drain->skeleton;

	int result = map_table_drain(&drain->samples,
				     bpf_map__fd(set ? skeleton->maps.samples_1 : skeleton->maps.samples_0));
	if (result == 0)
		result = map_table_drain(&drain->stacks,
					 bpf_map__fd(set ? skeleton->maps.stacks_1 : skeleton->maps.stacks_0));
	if (result == -ENOMEM || (result == 0 && !stack_index_build(&drain->index, &drain->stacks)))
		return out_of_memory(host);
	if (result)
		return host->fail(host, result, "read the BPF program's maps: %s", strerror(-result));

	const struct cpu_stack_key *keys = (const void *)drain->samples.keys;
	const struct cpu_stack_count *counts = (const void *)drain->samples.values;
	for (uint32_t i = 0; result == 0 && i < drain->samples.count; i++)
		result = sample_emit(drain, &keys[i], &counts[i]);
	return result;
}

static uint64_t load(const __u64 *value)
{
	return __atomic_load_n(value, __ATOMIC_RELAXED);
}

/* The losses and the counters since the last time. */
static int totals_emit(struct drain *drain)
{
	struct cpu_stack_processor sum = { 0 };
	const struct iaprof_host *host = drain->host;

	for (uint32_t i = 0; i < drain->processor_count; i++) {
		const struct cpu_stack_processor *processor = &drain->processors[i];
		sum.ticks += load(&processor->ticks);
		sum.ticks_idle += load(&processor->ticks_idle);
		sum.ticks_filtered += load(&processor->ticks_filtered);
		sum.ticks_full += load(&processor->ticks_full);
		sum.ticks_busy += load(&processor->ticks_busy);
		sum.stacks_lost += load(&processor->stacks_lost);
		sum.handler_time += load(&processor->handler_time);
		sum.fork_time += load(&processor->fork_time);
	}
	uint64_t full = sum.ticks_full - drain->reported.ticks_full;
	if (full)
		host->lost(host, "sample map full", drain->last_time, full, drain->value_type, full * drain->period);
	uint64_t busy = sum.ticks_busy - drain->reported.ticks_busy;
	if (busy)
		host->lost(host, "sample map busy", drain->last_time, busy, drain->value_type, busy * drain->period);
	drain->reported = sum;
	drain->last_time = host->clock(host);

	int result = record_batch_set_counter(&drain->batch, DRAIN_KERNEL_TIME, sum.handler_time + sum.fork_time,
					      drain->last_time);
	if (result == 0)
		result = record_batch_set_counter(&drain->batch, DRAIN_TICKS, sum.ticks, drain->last_time);
	if (result == 0)
		result = record_batch_set_counter(&drain->batch, DRAIN_TICKS_IDLE, sum.ticks_idle, drain->last_time);
	if (result == 0)
		result = record_batch_set_counter(&drain->batch, DRAIN_TICKS_FILTERED, sum.ticks_filtered,
						  drain->last_time);
	return result ? result : record_batch_flush(&drain->batch);
}

/* Whether every handler has seen the change of active_set. */
static bool handlers_are_done(struct drain *drain)
{
	uint64_t begin = drain->host->clock(drain->host);

	for (uint32_t i = 0; i < drain->processor_count; i++) {
		while (__atomic_load_n(&drain->processors[i].active, __ATOMIC_ACQUIRE)) {
			if (drain->host->clock(drain->host) - begin > HANDLER_WAIT)
				return false;
		}
	}
	return true;
}

int drain_turn(struct drain *drain)
{
	uint32_t *active_set = &drain->skeleton->bss->active_set;

	if (!drain->set_pending) {
		__atomic_store_n(active_set, !*active_set, __ATOMIC_SEQ_CST);
		atomic_thread_fence(memory_order_seq_cst);
		drain->set_pending = true;
	}
	/* A virtual CPU that does not run right now keeps its handler busy: the set is drained in the next turn. */
	if (!handlers_are_done(drain))
		return 0;
	drain->set_pending = false;
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
