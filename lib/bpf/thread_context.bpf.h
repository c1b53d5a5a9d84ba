/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Reads the span that a thread works on, by its variable otel_thread_ctx_v1 (OTEP 4947). Memory of the running thread
 * is read as the program itself would, without waiting for pages. Included by one file of an object; user space fills
 * the map (thread_contexts.h).
 */
#pragma once

#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "bpf/map.bpf.h"
#include "bpf/thread_context.h"
#include "bpf/thread_pointer.bpf.h"

struct task_struct;

const volatile bool take_spans = false;

BPF_MAP(thread_context_processes, HASH, __u32, struct thread_context_process, 1);

/* The beginning of a record: struct iaprof_span, then whether it is valid. */
struct thread_context_record {
	__u64 span[THREAD_CONTEXT_SPAN_WORDS];
	__u64 valid; /* its first byte was read */
};
#define THREAD_CONTEXT_RECORD_BYTES (8 * THREAD_CONTEXT_SPAN_WORDS + 1)

/* The memory of a thread: of the running one, or of one that sleeps, for programs that may wait for its pages. */
struct thread_memory {
	struct task_struct *task;
	bool is_running;
};

static __always_inline bool thread_context_read(struct thread_memory memory, void *to, __u32 size, __u64 address)
{
	return memory.is_running ? !bpf_probe_read_user(to, size, (const void *)address)
				 : !bpf_copy_from_user_task(to, size, (const void *)address, memory.task, 0);
}

/*
 * Finds the variable by a module and an offset in it, as the C library does: the second word at the thread pointer is
 * the list of the thread's modules. glibc has two words for each, and their number at the position before 0; musl has
 * one, and the number at position 0. *address is 0 if the thread has no block of the module yet. Returns false if the
 * memory cannot be read.
 */
static __always_inline bool thread_context_find_in_module(struct thread_memory memory, __u32 flags, __u64 pointer,
							  __u64 module, __u64 offset, __u64 *address)
{
	bool is_musl = flags & IAPROF_THREAD_CONTEXT_MUSL;
	__u64 list, count, block, size = is_musl ? 8 : 16;
	*address = 0;
	if (!thread_context_read(memory, &list, sizeof list, pointer + 8) ||
	    !thread_context_read(memory, &count, sizeof count, is_musl ? list : list - size))
		return false;
	if (!module || module > count)
		return true;
	if (!thread_context_read(memory, &block, sizeof block, list + size * module))
		return false;
	*address = !block || block == ~0ull ? 0 : block + offset;
	return true;
}

/* Sets *address to that of the variable, or to 0 if the thread has none. Returns the counter of a failure, or NULL. */
static __always_inline __u64 *thread_context_find(struct thread_memory memory,
						  const struct iaprof_thread_context *context, __u64 pointer,
						  struct thread_context_counts *counts, __u64 *address)
{
	__u64 words[2];
	*address = 0;
	switch (context->access) {
	case IAPROF_THREAD_CONTEXT_OFFSET:
		*address = pointer + context->offset;
		return NULL;
	case IAPROF_THREAD_CONTEXT_STATIC:
		if (!thread_context_read(memory, words, 8, context->slot))
			return &counts->unreadable;
		/* 0: not relocated yet. */
		*address = words[0] ? pointer + words[0] : 0;
		return NULL;
	case IAPROF_THREAD_CONTEXT_DESCRIPTOR:
		if (!thread_context_read(memory, words, sizeof words, context->slot))
			return &counts->unreadable;
		/* Blocks of known offsets are below the thread pointer; of others, this points to module and offset. */
		if ((__s64)words[1] < 0) {
			*address = pointer + words[1];
			return NULL;
		}
		if (!words[1])
			return NULL;
		if (!(context->flags & THREAD_CONTEXT_LISTS))
			return &counts->unsupported;
		if (!thread_context_read(memory, words, sizeof words, words[1]))
			return &counts->unreadable;
		break;
	case IAPROF_THREAD_CONTEXT_MODULE:
		if (!(context->flags & THREAD_CONTEXT_LISTS))
			return &counts->unsupported;
		if (!thread_context_read(memory, words, sizeof words, context->slot))
			return &counts->unreadable;
		break;
	default:
		return &counts->unsupported;
	}
	return thread_context_find_in_module(memory, context->flags, pointer, words[0], words[1], address)
		       ? NULL
		       : &counts->unreadable;
}

/* Reads the record that the variable points to. Returns the counter of what was found. */
static __always_inline __u64 *thread_context_take(struct thread_memory memory,
						  const struct iaprof_thread_context *context,
						  struct thread_context_counts *counts, __u64 *span)
{
	struct thread_context_record record = {};
	__u64 pointer = thread_pointer(memory.task), address, variable;
	if (!pointer)
		return &counts->none;
	__u64 *failure = thread_context_find(memory, context, pointer, counts, &variable);
	if (failure)
		return failure;
	if (!variable)
		return &counts->none;
	if (!thread_context_read(memory, &address, sizeof address, variable))
		return &counts->unreadable;
	if (!address)
		return &counts->none;
	if (!thread_context_read(memory, &record, THREAD_CONTEXT_RECORD_BYTES, address))
		return &counts->unreadable;
	bool has_trace = record.span[0] | record.span[1], has_span = record.span[2];
	if (*(const __u8 *)&record.valid != 1)
		return &counts->invalid;
	if (!has_trace && !has_span)
		return &counts->none;
	if (!has_trace || !has_span)
		return &counts->invalid;
	__builtin_memcpy(span, record.span, sizeof record.span);
	return &counts->spans;
}

/*
 * Sets span, THREAD_CONTEXT_SPAN_WORDS words of zeros, to that of a thread, if it has one. counts: of this CPU;
 * programs that run in tasks may preempt each other. Other processes cost a look-up in a map.
 */
static __always_inline void thread_span_take(struct thread_memory memory, __u32 pid, __u64 execution,
					     struct thread_context_counts *counts, __u64 *span)
{
	struct thread_context_process *process =
		take_spans ? bpf_map_lookup_elem(&thread_context_processes, &pid) : NULL;
	if (process && process->execution == execution)
		__sync_fetch_and_add(thread_context_take(memory, &process->context, counts, span), 1);
}
