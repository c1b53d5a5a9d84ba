// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* Takes the stack at the launch hook of the injected library: iaprof_cuda_launched(kernel, count). */
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "bpf/slots.bpf.h"
#include "bpf/stack.bpf.h"
#include "bpf/task_stack.bpf.h"
#include "launch.h"

#define UNWIND_STATES_TYPE BPF_MAP_TYPE_ARRAY
#include "bpf/unwind.bpf.h"
#include "bpf/python.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct task_struct {
	int pid;
	int tgid;
	__u64 self_exec_id;
};
#pragma clang attribute pop

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 32 * 1024 * 1024);
} launches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cuda_processor);
} processors SEC(".maps");

static __always_inline void take_stack(struct pt_regs *context, struct task_struct *task,
				       struct cuda_processor *processor, struct stack_addresses *stack, __u32 element)
{
	struct unwind_registers registers = {};
	bool truncated;
	__u64 hash = 0;
	stack->depth = 0;
	if (unwind_registers_get(&registers, context, task)) {
		__u32 process = task->tgid;
		__u64 execution = task->self_exec_id;
		if (unwind_stack(element, process, execution, &registers, &hash) == UNWIND_UNKNOWN)
			unwind_ask(process, execution);
		if (stack->depth > 1)
			python_stack_take(element, element, execution, &processor->python, hash);
	}
	/* Until the tables have come, or without any. */
	if (stack->depth <= 1 && !stack_take_by_loop(context, stack, element, BPF_F_USER_STACK, &truncated))
		stack->depth = 0;
}

static __always_inline bool send(struct pt_regs *context, struct task_struct *task, struct cuda_processor *processor,
				 struct stack_addresses *stack, __u32 element, __u64 kernel, __u64 count)
{
	struct cuda_launch_event *event = bpf_ringbuf_reserve(&launches, sizeof *event, 0);
	if (!event)
		return false;
	event->time = bpf_ktime_get_ns();
	event->kernel = kernel;
	event->count = count;
	event->pid = task->tgid;
	event->tid = task->pid;
	bpf_get_current_comm(event->thread_name, sizeof event->thread_name);
	take_stack(context, task, processor, stack, element);
	__u64 depth = stack->depth;
	if (depth > CUDA_STACK_DEPTH)
		depth = CUDA_STACK_DEPTH;
	event->depth = depth;
	bpf_probe_read_kernel(event->addresses, sizeof event->addresses, stack->addresses);
	if (!depth)
		__sync_fetch_and_add(&processor->without_stack, 1);
	bpf_ringbuf_submit(event, 0);
	return true;
}

SEC("uprobe")
int launched(struct pt_regs *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 cpu = bpf_get_smp_processor_id();
	struct cuda_processor *processor = bpf_map_lookup_elem(&processors, &cpu);
	__u64 kernel = PT_REGS_PARM1(context), count = PT_REGS_PARM2(context);
	if (!processor)
		return 0;
	/* The library has begun: its first launches are to find the tables in place. */
	if (!count) {
		unwind_ask(task->tgid, task->self_exec_id);
		return 0;
	}
	int slot = slot_take(&processor->slots);
	__u32 element = cpu * SCRATCH_SLOTS + (__u32)slot;
	struct stack_addresses *stack = slot < 0 ? NULL : bpf_map_lookup_elem(&scratch, &element);
	if (!stack || !send(context, task, processor, stack, element, kernel, count))
		__sync_fetch_and_add(&processor->lost, count);
	if (slot >= 0)
		slot_give_back(&processor->slots, slot);
	task_stack_keep(context);
	return 0;
}
