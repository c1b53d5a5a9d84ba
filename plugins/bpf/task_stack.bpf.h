/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Since Linux 6.13 programs of kprobe's type get a stack for each CPU (PRIV_STACK_ADAPTIVE in kernel/bpf/verifier.c),
 * which is right for kprobes. Probes of user space can be preempted in favour of another one on the same CPU, which
 * then writes over their variables. A program that could call another one keeps the ordinary stack, that of the task.
 */
#ifndef IAPROF_BPF_TASK_STACK_BPF_H
#define IAPROF_BPF_TASK_STACK_BPF_H

#include <linux/types.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} no_programs SEC(".maps");

/* Somewhere in each program of user space's probes, where it returns anyway: there for the stack's sake, calls nothing.
 */
static __always_inline void task_stack_keep(void *context)
{
	bpf_tail_call(context, &no_programs, 0);
}

#endif
