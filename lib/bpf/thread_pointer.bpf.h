/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The thread pointer of user code, relative to which the ABI defines thread-local variables. x86-64. */
#pragma once

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

struct thread_struct___pointer {
	unsigned long fsbase;
} __attribute__((preserve_access_index));
struct task_struct___pointer {
	struct thread_struct___pointer thread;
} __attribute__((preserve_access_index));

/* As the thread set it by arch_prctl(2) or clone(2). 0: it has none. */
static __always_inline __u64 thread_pointer(const void *task)
{
	return BPF_CORE_READ((const struct task_struct___pointer *)task, thread.fsbase);
}
