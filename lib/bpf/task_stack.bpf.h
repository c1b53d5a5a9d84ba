/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Since Linux 6.13, programs of type kprobe use a per-CPU stack (PRIV_STACK_ADAPTIVE in kernel/bpf/verifier.c), which
 * is correct for kprobes. A uprobe program, however, can be preempted by another one on the same CPU, which then
 * overwrites its variables. A program that contains a tail call keeps the ordinary stack, that of the task.
 */
#pragma once

#include <linux/types.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} no_programs SEC(".maps");

/*
 * Call this in each uprobe program, just before it returns. The program array is empty: the only effect is which stack
 * is used.
 */
static __always_inline void task_stack_keep(void *context)
{
	bpf_tail_call(context, &no_programs, 0);
}
