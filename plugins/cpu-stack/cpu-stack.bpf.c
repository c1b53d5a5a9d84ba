// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * cpu-stack's BPF programs: one counts CPU samples by process and stacks at each tick of a clock, the other follows
 * the targets' children. The sampling program may run in NMI context, so all hash maps are preallocated.
 */
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/errno.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "cpu-stack.h"
#include "stack.bpf.h"
#include "targets.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* include/linux/sched.h */
#define PF_EXITING 0x00000004u
#define PF_KTHREAD 0x00200000u

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct task_struct {
	unsigned int flags;
	int pid;
	int tgid;
	struct task_struct *group_leader;
	char comm[CPU_STACK_NAME_SIZE];
	__u64 self_exec_id;
};
#pragma clang attribute pop

const volatile bool take_user = true;
const volatile bool take_kernel = true;
const volatile bool take_idle = false;
const volatile __u64 slot_width = 0; /* ns; 0: samples of all times are counted together */

/* Which of the two sets of maps is written to; user space drains the other one. */
__u32 active_set = 0;

#define SAMPLES_MAP(name)                                                                                              \
	struct {                                                                                                       \
		__uint(type, BPF_MAP_TYPE_HASH);                                                                       \
		__uint(max_entries, 1);                                                                                \
		__type(key, struct cpu_stack_key);                                                                     \
		__type(value, struct cpu_stack_count);                                                                 \
	} name SEC(".maps")
SAMPLES_MAP(samples_0);
SAMPLES_MAP(samples_1);

STACKS_MAP(stacks_0);
STACKS_MAP(stacks_1);

/* Where a stack is taken before it is known whether the map has it: element 0 for user stacks, 1 for kernel stacks. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u64));
} scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu_stack_processor);
} processors SEC(".maps");

/* Takes a stack into the scratch buffer. Returns its hash; 0 when there is none, with missing added to *flags when
 * there should be one. */
static __always_inline __u64 sample_stack_take(struct bpf_perf_event_data *context, struct stack_addresses *stack,
					       __u64 kind, __u32 missing, bool expected, __u32 *flags)
{
	bool truncated = false;
	__u64 hash = stack_take(context, stack, kind, &truncated);
	if (!hash && expected)
		*flags |= missing;
	if (truncated)
		*flags |= CPU_STACK_TRUNCATED;
	return hash;
}

/* Puts a stack into the map. Returns its hash, or 0 with missing added to *flags when there is no room. */
static __always_inline __u64 sample_stack_store(void *stacks, const struct stack_addresses *stack, __u64 hash,
						__u32 missing, __u32 *flags, struct cpu_stack_processor *processor)
{
	if (!hash || stack_store(stacks, stack, hash))
		return hash;
	processor->stacks_lost++;
	*flags |= missing;
	return 0;
}

static __always_inline void count_add(struct cpu_stack_count *count, __u64 now)
{
	__sync_fetch_and_add(&count->count, 1);
	count->last_time = now; /* two CPUs may do this at once: user space puts first and last in order */
}

static __always_inline void sample_record(struct bpf_perf_event_data *context, struct task_struct *task,
					  struct cpu_stack_processor *processor, __u64 now)
{
	__u32 set = *(volatile __u32 *)&active_set;
	void *samples = set ? (void *)&samples_1 : (void *)&samples_0;
	void *stacks = set ? (void *)&stacks_1 : (void *)&stacks_0;
	struct cpu_stack_key key = {
		.process = task->tgid,
		.execution = task->self_exec_id,
		.slot = slot_width ? now / slot_width : 0,
	};
	bpf_probe_read_kernel(key.name, sizeof key.name, &task->group_leader->comm);

	__u32 user_element = 0, kernel_element = 1;
	struct stack_addresses *user = bpf_map_lookup_elem(&scratch, &user_element);
	struct stack_addresses *kernel = bpf_map_lookup_elem(&scratch, &kernel_element);
	if (!user || !kernel)
		return;
	/* A process that is ending has no user memory any more, a kernel thread never had. */
	if (take_user && !(task->flags & PF_KTHREAD))
		key.user_stack = sample_stack_take(context, user, BPF_F_USER_STACK, CPU_STACK_USER_MISSING,
						   !(task->flags & PF_EXITING), &key.flags);
	/* The kernel's half of the address space is the one with the highest bit set. */
	if (take_kernel && (long)PT_REGS_IP(&context->regs) < 0)
		key.kernel_stack = sample_stack_take(context, kernel, 0, CPU_STACK_KERNEL_MISSING, true, &key.flags);

	/* Stacks are stored before the first sample that has them: a sample that is there needs no look for them. */
	struct cpu_stack_count *count = bpf_map_lookup_elem(samples, &key);
	if (count) {
		count_add(count, now);
		return;
	}
	key.user_stack =
		sample_stack_store(stacks, user, key.user_stack, CPU_STACK_USER_MISSING, &key.flags, processor);
	key.kernel_stack =
		sample_stack_store(stacks, kernel, key.kernel_stack, CPU_STACK_KERNEL_MISSING, &key.flags, processor);
	struct cpu_stack_count first = { .count = 1, .first_time = now, .last_time = now };
	long error = bpf_map_update_elem(samples, &key, &first, BPF_NOEXIST);
	if (error == -EEXIST) {
		count = bpf_map_lookup_elem(samples, &key);
		if (count)
			count_add(count, now);
		else
			processor->ticks_busy++;
	} else if (error == -E2BIG) {
		processor->ticks_full++;
	} else if (error) {
		processor->ticks_busy++;
	}
}

SEC("perf_event")
int sample_cpu(struct bpf_perf_event_data *context)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 cpu = bpf_get_smp_processor_id();
	struct cpu_stack_processor *processor = bpf_map_lookup_elem(&processors, &cpu);
	if (!processor)
		return 0;

	struct task_struct *task = bpf_get_current_task_btf();
	processor->ticks++;
	if (!take_idle && task->pid == 0) {
		processor->ticks_idle++;
	} else if (only_targets && !process_is_target(task->tgid)) {
		processor->ticks_filtered++;
	} else {
		/*
		 * User space changes active_set and then waits until active is 0: from then on nobody uses the other
		 * set. The exchange is a full barrier: active is seen before active_set is read.
		 */
		__sync_lock_test_and_set(&processor->active, 1);
		sample_record(context, task, processor, now);
		__sync_lock_test_and_set(&processor->active, 0);
	}
	processor->handler_time += bpf_ktime_get_ns() - now;
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(follow_fork, struct task_struct *parent, struct task_struct *child)
{
	__u64 begin = bpf_ktime_get_ns();
	targets_follow(parent->tgid, child->tgid);
	__u32 cpu = bpf_get_smp_processor_id();
	struct cpu_stack_processor *processor = bpf_map_lookup_elem(&processors, &cpu);
	if (processor)
		processor->fork_time += bpf_ktime_get_ns() - begin;
	return 0;
}
