// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* Takes the stack at the injected library's launch hook: iaprof_cuda_launched(kernel, count, correlation, ranges). */
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "bpf/stack_reader.bpf.h"
#include "launch.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct task_struct {
	int pid;
	int tgid;
	__u64 self_exec_id;
};
#pragma clang attribute pop

BPF_RING(launches, 32 * 1024 * 1024);
BPF_MAPPED_ARRAY(processors, struct cuda_processor, 1);

static __always_inline void take_stack(struct pt_regs *context, bool use_tables, struct task_struct *task,
				       struct cuda_processor *processor, struct stack_addresses *stack, __u32 element)
{
	struct unwind_registers registers = {};
	bool truncated;
	__u32 end;
	if (use_tables && unwind_registers_get(&registers, context, task) &&
	    stack_unwind(stack, element, task->tgid, task->self_exec_id, &registers, &processor->stacks, &end))
		return;
	/* Until the tables have come, or without any. */
	if (!stack_read(context, stack, BPF_F_USER_STACK, &truncated))
		stack->depth = 0;
}

static __always_inline bool send(struct pt_regs *context, bool use_tables, struct task_struct *task,
				 struct cuda_processor *processor, struct stack_addresses *stack, __u32 element,
				 __u64 kernel, __u64 count)
{
	__u64 correlation = PT_REGS_PARM3(context);
	const void *ranges = (const void *)PT_REGS_PARM4(context);
	struct cuda_launch_event *event = bpf_ringbuf_reserve(&launches, sizeof *event, 0);
	if (!event)
		return false;
	event->time = bpf_ktime_get_ns();
	event->kernel = kernel;
	event->count = count;
	event->correlation = correlation;
	event->pid = task->tgid;
	event->tid = task->pid;
	bpf_get_current_comm(event->thread_name, sizeof event->thread_name);
	if (!ranges || bpf_probe_read_user(&event->ranges, sizeof event->ranges, ranges))
		event->ranges.depth = 0;
	take_stack(context, use_tables, task, processor, stack, element);
	__u64 depth = stack->depth;
	if (depth > CUDA_STACK_DEPTH)
		depth = CUDA_STACK_DEPTH;
	event->depth = depth;
	bpf_probe_read_kernel(event->addresses, sizeof event->addresses, stack->addresses);
	if (!depth)
		__sync_fetch_and_add(&processor->stacks.missing, 1);
	bpf_ringbuf_submit(event, 0);
	return true;
}

static __always_inline int handle(struct pt_regs *context, bool use_tables)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 cpu = bpf_get_smp_processor_id();
	struct cuda_processor *processor = bpf_map_lookup_elem(&processors, &cpu);
	__u64 kernel = PT_REGS_PARM1(context), count = PT_REGS_PARM2(context);
	if (!processor)
		return 0;
	/* The library has begun: its first launches are to find the tables in place. */
	if (!count && use_tables)
		unwind_ask(task->tgid, task->self_exec_id);
	if (!count)
		return 0;
	int slot = slot_take(&processor->slots);
	__u32 element = cpu * SCRATCH_SLOTS + (__u32)slot;
	struct stack_addresses *stack = slot < 0 ? NULL : bpf_map_lookup_elem(&scratch, &element);
	if (!stack || !send(context, use_tables, task, processor, stack, element, kernel, count))
		__sync_fetch_and_add(&processor->lost, count);
	if (slot >= 0)
		slot_give_back(&processor->slots, slot);
	task_stack_keep(context);
	return 0;
}

/* Only one of the two is loaded: the first is for Linux without bpf_loop(). */
SEC("uprobe")
int launched(struct pt_regs *context)
{
	return handle(context, false);
}

SEC("uprobe")
int launched_by_tables(struct pt_regs *context)
{
	return handle(context, true);
}
