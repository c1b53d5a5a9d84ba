// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * BPF programs of cpu-stack: one counts CPU samples by process and stacks at each clock tick, the other one follows
 * child processes of the targets. The sampling program may run in NMI context: all hash maps are preallocated.
 */
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/errno.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "cpu-stack.h"
#include "bpf/map.bpf.h"
#include "bpf/targets.bpf.h"

#define STACK_BUFFERS 2
#define BUFFER_USER 0u
#define BUFFER_KERNEL 1u
#include "bpf/stack_reader.bpf.h"
#include "bpf/unwind_copy.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* include/linux/sched.h */
#define PF_EXITING 0x00000004u
#define PF_KTHREAD 0x00200000u

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct mm_struct {
	unsigned long start_code;
};
struct task_struct {
	unsigned int flags;
	struct mm_struct *mm;
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
const volatile __u64 slot_width = 0; /* ns; 0: samples are not separated by time */

/* The set of maps that is written to; user space drains the other set. */
__u32 active_set = 0;

/* Ticks that are skipped in each block: see struct cpu_stack_block. User space changes it at any time. */
__u32 block_skip = 0;

BPF_MAP(samples_0, HASH, struct cpu_stack_key, struct cpu_stack_count, 1);
BPF_MAP(samples_1, HASH, struct cpu_stack_key, struct cpu_stack_count, 1);
STACKS_MAP(stacks_0);
STACKS_MAP(stacks_1);
BPF_MAPPED_ARRAY(processors, struct cpu_stack_processor, 1);

/* struct unwind_copy */
BPF_RING(copies, 4096);

/* A buffer for each CPU. Not a per-CPU map, whose values have at most 32 KiB. */
BPF_MAP(copy_buffers, ARRAY, __u32, struct unwind_copy, 1);

BPF_MAP(copy_budgets, ARRAY, __u32, struct cpu_stack_copy_budget, 1);

static __always_inline bool copy_is_allowed(const struct cpu_stack_key *key, __u64 now)
{
	__u32 element = key->process % CPU_STACK_COPY_BUDGETS;
	struct cpu_stack_copy_budget *budget = bpf_map_lookup_elem(&copy_budgets, &element);
	if (!budget)
		return false;
	if (budget->process != key->process || budget->execution != key->execution ||
	    now - budget->begin > CPU_STACK_COPY_PAUSE) {
		budget->process = key->process;
		budget->execution = key->execution;
		budget->begin = now;
		budget->count = 0;
	}
	return now - budget->begin < CPU_STACK_COPY_TIME && budget->count++ < CPU_STACK_COPIES;
}

/* Sends a copy of the user stack. Returns its id; 0 if there is none. */
static __always_inline __u64 copy_send(const struct cpu_stack_key *key, const struct unwind_registers *registers,
				       struct cpu_stack_processor *processor)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 cpu = bpf_get_smp_processor_id();
	struct unwind_copy *copy = bpf_map_lookup_elem(&copy_buffers, &cpu);
	if (!copy || !copy_is_allowed(key, now)) {
		processor->copies_refused++;
		return 0;
	}
	copy->id = (processor->copies + 1) << 16 | (cpu & 0xffff);
	copy->execution = key->execution;
	copy->process = key->process;
	copy->time = now;
	unwind_copy_take(copy, registers);
	if (bpf_ringbuf_output(&copies, copy, unwind_copy_bytes(copy), 0)) {
		processor->copies_lost++;
		return 0;
	}
	processor->copies++;
	return copy->id;
}

/*
 * Records the user stack as stack_walk() does. It is unwound by frame pointers until the tables of the process are
 * ready, and for code without tables.
 */
static __always_inline __u64 user_stack_take(struct bpf_perf_event_data *context, bool use_tables,
					     struct task_struct *task, struct stack_addresses *stack,
					     struct cpu_stack_key *key, struct cpu_stack_processor *processor)
{
	bool expected = !(task->flags & PF_EXITING);
	struct unwind_registers registers = {};
	if (use_tables && expected && !unwind_registers_get(&registers, &context->regs, task)) {
		key->flags |= STACK_NO_TABLE;
	} else if (use_tables && expected) {
		__u32 end;
		__u64 hash = stack_unwind(stack, BUFFER_USER, key->process, key->execution, &registers,
					  &processor->stacks, &end);
		if (end == UNWIND_UNKNOWN)
			key->copy = copy_send(key, &registers, processor);
		key->flags |= unwind_end_flag(end);
		if (hash)
			return hash;
	}
	__u32 flags = key->flags;
	__u64 hash = stack_walk(context, use_tables, stack, BUFFER_USER, BPF_F_USER_STACK,
				expected ? STACK_USER_MISSING : 0, &flags);
	/* If there is a copy, this stack is used only if the copy cannot be unwound in time. */
	if (key->copy)
		flags &= ~STACK_TRUNCATED;
	key->flags |= flags;
	return hash;
}

static __always_inline void count_add(struct cpu_stack_count *count, __u64 ticks, __u64 now)
{
	__sync_fetch_and_add(&count->count, ticks);
	__sync_fetch_and_add(&count->samples, 1);
	count->last_time = now; /* two CPUs may race here: user space orders first and last */
}

/*
 * Returns whether execve(2) is replacing the program: its memory is new already, but the user registers are still those
 * of the old program.
 */
static __always_inline bool is_in_exec(struct task_struct *task)
{
	return !task->mm->start_code;
}

static __always_inline void sample_record(struct bpf_perf_event_data *context, bool use_tables,
					  struct task_struct *task, struct cpu_stack_processor *processor, __u64 ticks,
					  __u64 now)
{
	__u32 set = *(volatile __u32 *)&active_set;
	void *samples = set ? (void *)&samples_1 : (void *)&samples_0;
	void *stacks = set ? (void *)&stacks_1 : (void *)&stacks_0;
	struct cpu_stack_key key = {
		.process = task->tgid,
		.execution = task->self_exec_id,
		.slot = slot_width ? now / slot_width : 0,
		.thread = task->pid,
	};
	bpf_probe_read_kernel(key.name, sizeof key.name, &task->group_leader->comm);
	bpf_get_current_comm(key.thread_name, sizeof key.thread_name);

	__u32 user_element = BUFFER_USER, kernel_element = BUFFER_KERNEL;
	struct stack_addresses *user = bpf_map_lookup_elem(&scratch, &user_element);
	struct stack_addresses *kernel = bpf_map_lookup_elem(&scratch, &kernel_element);
	if (!user || !kernel)
		return;
	/* Exiting processes have released their user memory; kernel threads never had any. */
	if (take_user && !(task->flags & (PF_KTHREAD | PF_EXITING)) && !is_in_exec(task))
		thread_span_take((struct thread_memory){ task, .is_running = true }, key.process, key.execution,
				 &processor->stacks.spans, key.span);
	if (take_user && !(task->flags & PF_KTHREAD) && !is_in_exec(task))
		key.user_stack = user_stack_take(context, use_tables, task, user, &key, processor);
	/* Kernel addresses have the highest bit set. */
	if (take_kernel && (long)PT_REGS_IP(&context->regs) < 0)
		key.kernel_stack =
			stack_walk(context, use_tables, kernel, BUFFER_KERNEL, 0, STACK_KERNEL_MISSING, &key.flags);

	/*
	 * Stacks are stored before the first sample that refers to them: for an existing sample the stacks need no
	 * lookup.
	 */
	struct cpu_stack_count *count = bpf_map_lookup_elem(samples, &key);
	if (count) {
		count_add(count, ticks, now);
		return;
	}
	key.user_stack = stack_keep(stacks, user, key.user_stack, STACK_USER_MISSING, &key.flags, &processor->stacks);
	key.kernel_stack =
		stack_keep(stacks, kernel, key.kernel_stack, STACK_KERNEL_MISSING, &key.flags, &processor->stacks);
	struct cpu_stack_count first = { .count = ticks, .samples = 1, .first_time = now, .last_time = now };
	long error = bpf_map_update_elem(samples, &key, &first, BPF_NOEXIST);
	if (error == -EEXIST) {
		count = bpf_map_lookup_elem(samples, &key);
		if (count)
			count_add(count, ticks, now);
		else
			processor->ticks_busy += ticks;
	} else if (error == -E2BIG) {
		processor->ticks_full += ticks;
	} else if (error) {
		processor->ticks_busy += ticks;
	}
}

/* Returns the size of the block whose tick is handled, and begins the next one. */
static __always_inline __u32 block_end(struct cpu_stack_block *block)
{
	__u32 size = block->size ? block->size : 1, next = *(volatile __u32 *)&block_skip + 1;
	__u32 offset = next > 1 ? bpf_get_prandom_u32() % next : 0;
	block->skip = block->rest + offset;
	block->rest = next - 1 - offset;
	block->size = next;
	return size;
}

/* use_tables: unwind user stacks by tables, not by frame pointers alone. */
static __always_inline int sample(struct bpf_perf_event_data *context, bool use_tables)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct cpu_stack_processor *processor = bpf_map_lookup_elem(&processors, &cpu);
	if (!processor)
		return 0;
	processor->ticks++;
	if (processor->block.skip) {
		processor->block.skip--;
		return 0;
	}
	__u64 now = bpf_ktime_get_ns(), ticks = block_end(&processor->block);

	struct task_struct *task = bpf_get_current_task_btf();
	if (!take_idle && task->pid == 0) {
		processor->ticks_idle += ticks;
	} else if (only_targets && !process_is_target(task->tgid)) {
		processor->ticks_filtered += ticks;
	} else {
		/*
		 * User space changes active_set and then waits until active is 0: from then on no program uses the
		 * other set. The exchange is a full barrier: active is visible before active_set is read.
		 */
		__sync_lock_test_and_set(&processor->active, 1);
		sample_record(context, use_tables, task, processor, ticks, now);
		__sync_lock_test_and_set(&processor->active, 0);
	}
	processor->handler_time += bpf_ktime_get_ns() - now;
	return 0;
}

/* Only one of the two is loaded: old kernels reject a program with bpf_loop(), even if it is never called. */
SEC("perf_event")
int sample_cpu(struct bpf_perf_event_data *context)
{
	return sample(context, false);
}

SEC("perf_event")
int sample_cpu_by_tables(struct bpf_perf_event_data *context)
{
	return sample(context, true);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(follow_fork, struct task_struct *parent, struct task_struct *child)
{
	__u64 begin = bpf_ktime_get_ns();
	targets_follow(parent, child);
	__u32 cpu = bpf_get_smp_processor_id();
	struct cpu_stack_processor *processor = bpf_map_lookup_elem(&processors, &cpu);
	if (processor) /* atomic: a clock tick may come in between */
		__sync_fetch_and_add(&processor->handler_time, bpf_ktime_get_ns() - begin);
	return 0;
}
