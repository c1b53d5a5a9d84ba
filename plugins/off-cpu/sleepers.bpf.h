/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The BPF program that reads the threads that are asleep when the run begins. Included by off-cpu.bpf.c, after its
 * options and the map of threads.
 */
#pragma once

#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "off-cpu.h"
#include "task.bpf.h"
#include "bpf/stack_reader.bpf.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
};
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};
#pragma clang attribute pop

__u64 run_begin = 0;
struct thread_context_counts sleeper_spans = {};

/* As new_threads, which the other programs use at the same time. */
BPF_MAP(sleeping_threads, ARRAY, __u32, struct off_cpu_thread, 1);

struct sleeper_room {
	struct off_cpu_sleeper sleeper;
	struct unwind_copy copy;
};
BPF_MAP(sleeper_rooms, ARRAY, __u32, struct sleeper_room, 1);

/* Copies the user stack of another task, as unwind_copy_take(). */
static __always_inline void copy_take(struct unwind_copy *copy, struct task_struct *task)
{
	copy->size = copy->pages = 0;
	copy->execution = task->self_exec_id;
	copy->process = task->tgid;
	if (!unwind_registers_of_entry(&copy->registers, task))
		return;
	copy->registers.is_behind_call = false;
	copy->start = copy->registers.sp & ~(__u64)(UNWIND_COPY_PAGE - 1);
#pragma unroll
	for (__u32 page = 0; page < OFF_CPU_COPY_PAGES; page++) {
		__u32 offset = page * UNWIND_COPY_PAGE;
		if (!bpf_copy_from_user_task(copy->bytes + offset, UNWIND_COPY_PAGE,
					     (const void *)(copy->start + offset), task, 0)) {
			copy->size = page + 1;
			copy->pages |= 1u << page;
		}
	}
}

/*
 * Before the run: makes the threads that are asleep known to the other programs, and sends them with their stacks,
 * which only of targets are worth the time.
 */
SEC("iter.s/task")
int off_cpu_sleepers(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	__u32 zero = 0;
	struct sleeper_room *room = bpf_map_lookup_elem(&sleeper_rooms, &zero);
	struct off_cpu_thread *fresh = bpf_map_lookup_elem(&sleeping_threads, &zero);
	if (!task || !room || !fresh || !is_wanted(task))
		return 0;
	__u32 id = task->pid, state = task->__state;
	if (state == TASK_RUNNING || state & TASK_DEAD || task->on_cpu)
		return 0;
	struct off_cpu_sleeper *sleeper = &room->sleeper;
	__builtin_memset(&fresh->key, 0, sizeof fresh->key);
	names_set(&fresh->key, task);
	driver_set(&fresh->key, task);
	fresh->key.state = state_of(state);
	fresh->key.flags = OFF_CPU_BEFORE;
	fresh->chance = UINT_MAX;
	fresh->start = run_begin;
	if (bpf_map_update_elem(&threads, &id, fresh, BPF_NOEXIST)) {
		/* When the buffer for what is sent is full, the program is called for the same task again. */
		struct off_cpu_thread *known = bpf_map_lookup_elem(&threads, &id);
		if (!known || known->start != run_begin)
			return 0;
	}
	if (!only_targets)
		return 0;
	sleeper->key = fresh->key;
	sleeper->kernel_depth = 0;
	if (take_kernel) {
		long size = bpf_get_task_stack(task, sleeper->kernel, sizeof sleeper->kernel, 0);
		sleeper->kernel_depth = size > 0 ? (__u64)size / sizeof(__u64) : 0;
	}
	room->copy.size = 0;
	if (take_user && has_user_stack(task))
		copy_take(&room->copy, task);
	__u64 pages = room->copy.size;
	sleeper->size = sizeof *sleeper + sizeof room->copy - UNWIND_COPY_SIZE +
			(pages < OFF_CPU_COPY_PAGES ? pages : OFF_CPU_COPY_PAGES) * UNWIND_COPY_PAGE;
	bpf_seq_write(context->meta->seq, room, sleeper->size & 0x7fff);
	return 0;
}

/* Returns whether a thread has been asleep since before the run. */
static __always_inline bool is_asleep(const struct off_cpu_thread *thread)
{
	return thread->start == run_begin && thread->key.flags & OFF_CPU_BEFORE && !*(volatile __u64 *)&thread->woken;
}

/*
 * Reads the spans of threads that off_cpu_sleepers has found, and that are still asleep: where the variable is, is
 * known when the tables of their process are ready. Targets only, because reading waits for pages of their memory.
 */
SEC("iter.s/task")
int off_cpu_sleeping_spans(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	if (!task || !only_targets || !is_wanted(task) || !has_user_stack(task))
		return 0;
	__u32 id = task->pid;
	struct off_cpu_thread *thread = bpf_map_lookup_elem(&threads, &id);
	__u64 span[THREAD_CONTEXT_SPAN_WORDS] = {};
	if (!thread || !is_asleep(thread) || thread->key.span[THREAD_CONTEXT_SPAN_WORDS - 1])
		return 0;
	thread_span_take((struct thread_memory){ task, .is_running = false }, task->tgid, task->self_exec_id,
			 &sleeper_spans, span);
	if (is_asleep(thread))
		__builtin_memcpy(thread->key.span, span, sizeof span);
	return 0;
}
