/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * What ze-usdt's BPF programs share: settings, the two sets of maps, counters, and how a handler takes a buffer and
 * enters and leaves a set. For ze-usdt.bpf.c alone.
 */
#ifndef IAPROF_PLUGINS_ZE_USDT_STATE_BPF_H
#define IAPROF_PLUGINS_ZE_USDT_STATE_BPF_H

#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/errno.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "slots.bpf.h"
#include "stack.bpf.h"
#include "targets.bpf.h"
#include "task_stack.bpf.h"
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
const volatile bool take_kernel = false;
const volatile __u32 submission_depth = ZE_SUBMISSION_DEPTH; /* at most that, and at most stack_depth */

/* Which of the two sets of maps is written to; user space drains the other one. 2: neither, the run has ended. */
__u32 active_set = 0;

#define SET_MAP(name, key_type, value_type)                                                                            \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_HASH);                                                                       \
		__uint(max_entries, 1);                                                                                \
		__type(key, key_type);                                                                                 \
		__type(value, value_type);                                                                             \
	} name SEC(".maps")
SET_MAP(launches_0, struct ze_launch_key, struct ze_count);
SET_MAP(launches_1, struct ze_launch_key, struct ze_count);
SET_MAP(executions_0, struct ze_execution_key, struct ze_count);
SET_MAP(executions_1, struct ze_execution_key, struct ze_count);
SET_MAP(kernels_0, __u64, struct ze_kernel);
SET_MAP(kernels_1, __u64, struct ze_kernel);
STACKS_MAP(stacks_0);
STACKS_MAP(stacks_1);

/* Processes that fired a probe: their end is told. */
SET_MAP(processes, __u32, __u8);

/* By thread id. Threads that ended make room for others. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ze_submission);
} submissions SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1024 * 1024);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ze_processor);
} processors SEC(".maps");

/* As stack_scratch, for kernels. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ze_kernel);
} kernel_scratch SEC(".maps");

static __always_inline struct ze_processor *processor_get(__u32 cpu)
{
	return bpf_map_lookup_elem(&processors, &cpu);
}

static __always_inline void add(__u64 *sum, __u64 value)
{
	__sync_fetch_and_add(sum, value);
}

/* Whether the run still wants to know. */
static __always_inline bool run_is_on(void)
{
	return *(volatile __u32 *)&active_set <= 1;
}

/* How each probe's handler begins: the counters of this CPU, NULL when the run has ended. */
static __always_inline struct ze_processor *handler_begin(struct pt_regs *context, __u32 cpu)
{
	if (!run_is_on()) {
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
 * Which set to use, or -1. User space changes active_set and waits until active is 0 for the other set: whoever has
 * seen the same active_set before and after it counted itself is waited for.
 */
static __always_inline int set_enter(struct ze_processor *processor)
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

static __always_inline void set_leave(struct ze_processor *processor, int set)
{
	__sync_fetch_and_add(&processor->active[set & 1], -1);
}

/* Adds one to a count, which is made when it is not there. Returns 0 or a negative errno. */
static __always_inline long count_add(void *map, const void *key, __u64 now)
{
	struct ze_count *count = bpf_map_lookup_elem(map, key);
	if (!count) {
		struct ze_count first = { .count = 1, .first_time = now, .last_time = now };
		long error = bpf_map_update_elem(map, key, &first, BPF_NOEXIST);
		if (error != -EEXIST)
			return error;
		count = bpf_map_lookup_elem(map, key);
		if (!count)
			return -EBUSY;
	}
	__sync_fetch_and_add(&count->count, 1);
	count->last_time = now; /* two CPUs may do this at once: user space puts first and last in order */
	return 0;
}

#endif
