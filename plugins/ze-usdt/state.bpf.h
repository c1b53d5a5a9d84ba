/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * State of ze-usdt's BPF programs: settings, the two sets of maps, counters, and the functions to use scratch slots and
 * sets. For ze-usdt.bpf.c only.
 */
#pragma once

#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/errno.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "bpf/map.bpf.h"
#include "bpf/stack_reader.bpf.h"
#include "bpf/targets.bpf.h"
#include "ze-usdt.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
typedef struct {
	unsigned int val;
} kuid_t;
typedef struct {
	int counter;
} atomic_t;
struct cred {
	kuid_t fsuid;
};
struct signal_struct {
	atomic_t live;
};
struct task_struct {
	int pid;
	int tgid;
	struct task_struct *group_leader;
	struct signal_struct *signal;
	const struct cred *cred;
	__u64 start_time;
	__u64 self_exec_id;
};
#pragma clang attribute pop

const volatile bool take_stacks = true;
const volatile bool ask_early = false; /* for unwind tables */
const volatile bool take_kernel = false;
const volatile __u32 submission_depth = ZE_SUBMISSION_DEPTH; /* upper limit, also limited by stack_depth */

/*
 * The set of maps that is written to; user space drains the other one. Before start(), while probes are attached to,
 * ZE_MODULES_ONLY: a program announces its modules as soon as somebody listens. After stop(), ZE_HANDLERS_OFF.
 */
__u32 active_set = ZE_MODULES_ONLY;

BPF_MAP(launches_0, HASH, struct ze_launch_key, struct ze_count, 1);
BPF_MAP(launches_1, HASH, struct ze_launch_key, struct ze_count, 1);
BPF_MAP(executions_0, HASH, struct ze_execution_key, struct ze_count, 1);
BPF_MAP(executions_1, HASH, struct ze_execution_key, struct ze_count, 1);
BPF_MAP(kernels_0, HASH, __u64, struct ze_kernel, 1);
BPF_MAP(kernels_1, HASH, __u64, struct ze_kernel, 1);
STACKS_MAP(stacks_0);
STACKS_MAP(stacks_1);

/* Processes that fired a probe: their exit is reported. */
BPF_MAP(processes, HASH, __u32, __u8, 1);

/* By thread id. LRU eviction removes threads that exited. */
BPF_MAP(submissions, LRU_HASH, __u32, struct ze_submission, 1);

BPF_RING(events, 1024 * 1024);

BPF_MAPPED_ARRAY(processors, struct ze_processor, 1);

const volatile bool take_times = false;

/* Number of the launch that the thread is about to report, by thread id. */
BPF_MAP(timed_launches, LRU_HASH, __u32, __u64, 1);
BPF_RING(times, 4096);

/* As scratch, for kernels. */
BPF_MAP(kernel_scratch, ARRAY, __u32, struct ze_kernel, 1);

static __always_inline struct ze_processor *processor_get(__u32 cpu)
{
	return bpf_map_lookup_elem(&processors, &cpu);
}

static __always_inline void sum_add(__u64 *sum, __u64 value)
{
	__sync_fetch_and_add(sum, value);
}

/* Returns whether the run is active. */
static __always_inline bool run_is_on(void)
{
	return *(volatile __u32 *)&active_set <= 1;
}

/* Start of each probe's handler: returns the counters of this CPU, or NULL when active_set is not less than end. */
static __always_inline struct ze_processor *handler_begin(struct pt_regs *context, __u32 cpu, __u32 end)
{
	if (*(volatile __u32 *)&active_set >= end) {
		task_stack_keep(context);
		return NULL;
	}
	return processor_get(cpu);
}

static __always_inline bool task_is_filtered(const struct task_struct *task)
{
	return only_targets && !process_is_target(task->tgid);
}

static __always_inline struct ze_process process_of(const struct task_struct *task)
{
	return (struct ze_process){ .id = task->tgid, .program = task->group_leader->start_time + task->self_exec_id };
}

static __always_inline void process_note(__u32 id)
{
	__u8 one = 1;
	if (!bpf_map_lookup_elem(&processes, &id))
		bpf_map_update_elem(&processes, &id, &one, BPF_ANY);
}

/*
 * Returns the set to use, or -1. User space changes active_set and waits until active is 0 for the other set: a handler
 * that read the same active_set before and after it counted itself is waited for.
 */
static __always_inline int set_acquire(struct ze_processor *processor)
{
#pragma unroll
	for (int i = 0; i < 3; i++) {
		__u32 set = *(volatile __u32 *)&active_set;
		if (set > 1)
			return -1;
		__sync_fetch_and_add(&processor->active[set], 1);
		if (*(volatile __u32 *)&active_set == set)
			return (int)set;
		__sync_fetch_and_add(&processor->active[set], -1);
	}
	return -1;
}

static __always_inline void set_release(struct ze_processor *processor, int set)
{
	__sync_fetch_and_add(&processor->active[set & 1], -1);
}

/*
 * Sets span, of a key, to that of the running thread, if it has one. Not inlined: the verifier's limit on the stack of
 * a program.
 */
static __attribute__((noinline)) int span_set(__u64 *span, struct ze_processor *processor)
{
	struct task_struct *task = bpf_get_current_task_btf();
	if (span && processor)
		thread_span_take((struct thread_memory){ task, .is_running = true }, task->tgid, task->self_exec_id,
				 &processor->stacks.spans, span);
	return 0;
}

/* Limits the keys with a span in the maps of a set. */
static __always_inline void span_limit(const void *map, const void *key, __u64 *span, __u32 set,
				       struct ze_processor *processor)
{
	if (span[THREAD_CONTEXT_SPAN_WORDS - 1] && !bpf_map_lookup_elem((void *)map, key))
		span_drop(span, set, &processor->stacks);
}

/* Increments a count that exists already. */
static __always_inline bool count_increase(void *map, const void *key, __u64 now)
{
	struct ze_count *count = bpf_map_lookup_elem(map, key);
	if (!count)
		return false;
	__sync_fetch_and_add(&count->count, 1);
	count->last_time = now; /* two CPUs may do this at once: user space orders the times */
	return true;
}

/* Increments a count, creating it if necessary. Returns 0 or a negative errno. */
static __always_inline long count_add(void *map, const void *key, __u64 now)
{
	if (count_increase(map, key, now))
		return 0;
	struct ze_count first = { .count = 1, .first_time = now, .last_time = now };
	long error = bpf_map_update_elem(map, key, &first, BPF_NOEXIST);
	if (error != -EEXIST)
		return error;
	return count_increase(map, key, now) ? 0 : -EBUSY;
}
