/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* What the BPF programs of off-cpu read of a task. Included by off-cpu.bpf.c. */
#pragma once

#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "off-cpu.h"
#include "bpf/targets.bpf.h"

/* include/linux/sched.h */
#define TASK_RUNNING 0x00000000u
#define TASK_UNINTERRUPTIBLE 0x00000002u
#define TASK_STOPPED_OR_TRACED 0x0000000cu
#define TASK_DEAD 0x00000080u
#define PF_EXITING 0x00000004u
#define PF_KTHREAD 0x00200000u

/* include/linux/mm_types.h and others: only what is read. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct module {
	char name[56];
};
struct file_operations {
	struct module *owner;
};
struct file {
	const struct file_operations *f_op;
};
struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};
struct files_struct {
	struct fdtable *fdt;
};
struct mm_struct {
	unsigned long start_code;
};
struct sched_entity {
	__u64 sum_exec_runtime; /* ns on a CPU */
};
struct task_struct {
	struct sched_entity se;
	unsigned int flags;
	unsigned int __state;
	unsigned int on_cpu; /* int, or one byte since Linux 7.2: libbpf adapts loads of unsigned fields only */
	struct mm_struct *mm;
	int pid;
	int tgid;
	struct task_struct *group_leader;
	char comm[OFF_CPU_NAME_SIZE];
	__u64 self_exec_id;
	struct files_struct *files;
};
#pragma clang attribute pop

const volatile bool take_kernel_threads = false;

static __always_inline bool is_wanted(const struct task_struct *task)
{
	return task->pid && (take_kernel_threads || !(task->flags & PF_KTHREAD)) &&
	       (!only_targets || process_is_target(task->tgid));
}

static __always_inline __u32 state_of(__u32 state)
{
	return state & TASK_STOPPED_OR_TRACED ? OFF_CPU_STOPPED
	       : state & TASK_UNINTERRUPTIBLE ? OFF_CPU_UNINTERRUPTIBLE
					      : OFF_CPU_INTERRUPTIBLE;
}

static __always_inline void names_set(struct off_cpu_key *key, const struct task_struct *task)
{
	key->process = task->tgid;
	key->thread = task->pid;
	key->execution = task->self_exec_id;
	bpf_probe_read_kernel(key->name, sizeof key->name, &task->group_leader->comm);
	bpf_probe_read_kernel(key->thread_name, sizeof key->thread_name, &task->comm);
}

#ifdef __TARGET_ARCH_x86
#define IOCTL_NUMBER 16 /* arch/x86/entry/syscalls/syscall_64.tbl */
#define SYSCALL_NUMBER(registers) ((registers)->orig_rax)
#define SYSCALL_FIRST(registers) ((registers)->rdi)
#elif defined(__TARGET_ARCH_arm64)
#define IOCTL_NUMBER 29 /* include/uapi/asm-generic/unistd.h */
#define SYSCALL_NUMBER(registers) ((registers)->regs[8])
#define SYSCALL_FIRST(registers) ((registers)->regs[0])
#endif

/* The module of the file whose ioctl the task executes. */
static __always_inline void driver_set(struct off_cpu_key *key, struct task_struct *task)
{
#ifdef IOCTL_NUMBER
	bpf_user_pt_regs_t *entry = (bpf_user_pt_regs_t *)bpf_task_pt_regs(task);
	__u64 number = 0, descriptor = 0;
	struct file *file = NULL;
	if (bpf_probe_read_kernel(&number, sizeof number, &SYSCALL_NUMBER(entry)) || number != IOCTL_NUMBER ||
	    bpf_probe_read_kernel(&descriptor, sizeof descriptor, &SYSCALL_FIRST(entry)) || !task->files)
		return;
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	if (descriptor >= BPF_CORE_READ(table, max_fds) ||
	    bpf_probe_read_kernel(&file, sizeof file, BPF_CORE_READ(table, fd) + descriptor) || !file)
		return;
	struct module *owner = BPF_CORE_READ(file, f_op, owner);
	if (owner)
		bpf_probe_read_kernel_str(key->driver, sizeof key->driver, &owner->name);
#endif
}

/* Exiting processes have released their user memory; execve(2) is replacing it; kernel threads have none. */
static __always_inline bool has_user_stack(const struct task_struct *task)
{
	return !(task->flags & (PF_KTHREAD | PF_EXITING)) && task->mm && task->mm->start_code;
}
