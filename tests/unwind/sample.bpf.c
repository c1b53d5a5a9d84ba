// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/* Unwinds the user stack of one process at each clock tick, and sends it. */
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "bpf/map.bpf.h"
#include "bpf/stack.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, STACK_ROOM);
} scratch SEC(".maps");

#include "bpf/unwind.bpf.h"
#include "bpf/unwind_copy.bpf.h"
#include "sample.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct task_struct {
	int tgid;
	__u64 self_exec_id;
};
#pragma clang attribute pop

const volatile __u32 target = 0;
__u64 samples = 0, time_used = 0, copies = 0, copy_time = 0, execution = 0;

BPF_RING(stacks, 16 << 20);

SEC("perf_event")
int sample_stack(struct bpf_perf_event_data *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u32 element = 0, process = target;
	if ((__u32)task->tgid != target)
		return 0;
	execution = task->self_exec_id;
	__u64 begin = bpf_ktime_get_ns();
	struct stack_addresses *stack = bpf_map_lookup_elem(&scratch, &element);
	if (!stack)
		return 0;
	struct unwind_registers registers = {};
	__u64 hash = 0;
	if (!unwind_registers_get(&registers, &context->regs, task))
		return 0;
	if (!bpf_map_lookup_elem(&unwind_processes, &process)) /* not told yet */
		return 0;
	__u32 end = unwind_stack(element, process, task->self_exec_id, &registers, &hash);
	__sync_fetch_and_add(&samples, 1);
	__sync_fetch_and_add(&time_used, bpf_ktime_get_ns() - begin);
	struct sample *sample = bpf_ringbuf_reserve(&stacks, sizeof *sample, 0);
	if (!sample)
		return 0;
	sample->end = end;
	sample->depth = stack->depth;
	bpf_probe_read_kernel(sample->addresses, sizeof sample->addresses, stack->addresses);
	begin = bpf_ktime_get_ns();
	unwind_copy_take(&sample->copy, &registers);
	__sync_fetch_and_add(&copies, 1);
	__sync_fetch_and_add(&copy_time, bpf_ktime_get_ns() - begin);
	sample->copy.process = process;
	sample->copy.execution = task->self_exec_id;
	bpf_ringbuf_submit(sample, 0);
	return 0;
}
