/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * For sources of stacks: records the stacks of threads, with Python frames, and the spans that they work on. Included
 * by one file of an object; stack_reader.h is its user space.
 *
 * If its programs cannot preempt each other on a CPU, it defines STACK_BUFFERS before: the number of stacks that a
 * program has at a time. Otherwise a stack needs a slot (slots.bpf.h), and programs on the stack of the task
 * (task_stack.bpf.h).
 */
#pragma once

#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "bpf/map.bpf.h"
#include "bpf/stack.bpf.h"
#include "bpf/stack_counts.h"

/* Buffers for stacks, which may already be in a map. */
#ifdef STACK_BUFFERS
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, STACK_BUFFERS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, STACK_ROOM);
} scratch SEC(".maps");
#define STACK_PYTHON_BUFFER(element) bpf_get_smp_processor_id()
#else
#include "bpf/slots.bpf.h"
#include "bpf/task_stack.bpf.h"
#define UNWIND_STATES_TYPE BPF_MAP_TYPE_ARRAY
#define STACK_PYTHON_BUFFER(element) (element)
#endif

#include "bpf/unwind.bpf.h"
#include "bpf/python.bpf.h"
#include "bpf/thread_context.bpf.h"

/* Limit on keys with a span in a set of maps, and their number in each set: a span for each request would fill them. */
const volatile __u32 span_keys_max = 0;
__u32 span_keys[2] = {};

/* Removes the span from a key that is new to a set, if there are too many: what has the key is recorded without it. */
static __always_inline bool span_drop(__u64 *span, __u32 set, struct stack_counts *counts)
{
	if (!span[THREAD_CONTEXT_SPAN_WORDS - 1] || __sync_fetch_and_add(&span_keys[set & 1], 1) < span_keys_max)
		return false;
	__builtin_memset(span, 0, THREAD_CONTEXT_SPAN_WORDS * sizeof *span);
	__sync_fetch_and_add(&counts->spans_dropped, 1);
	return true;
}

/*
 * Adds the Python frames to a stack that unwind_stack() has unwound to this end, counts it, and asks for tables that
 * are missing. Returns a hash; 0 if frame pointers may show more of the stack.
 */
static __always_inline __u64 stack_finish(const struct stack_addresses *stack, __u32 element, __u32 process,
					  __u64 execution, __u32 end, __u64 hash, struct stack_counts *counts)
{
	__u32 reason = end;
	/* One that was spilled before the comparison has no limit for the verifier of Linux 6.1. */
	asm volatile("" : "+r"(reason));
	if (reason <= UNWIND_TRUNCATED)
		__sync_fetch_and_add(&counts->unwound[reason], 1);
	if (end == UNWIND_UNKNOWN)
		unwind_ask(process, execution);
	hash = python_stack_take(element, STACK_PYTHON_BUFFER(element), execution, &counts->python, hash);
	return stack->depth > 1 || end == UNWIND_COMPLETE ? hash : 0;
}

/* Unwinds a user stack by tables into this element of scratch. Returns as stack_finish(). *end: enum unwind_end */
static __always_inline __u64 stack_unwind(const struct stack_addresses *stack, __u32 element, __u32 process,
					  __u64 execution, const struct unwind_registers *registers,
					  struct stack_counts *counts, __u32 *end)
{
	__u64 hash = 0;
	*end = unwind_stack(element, process, execution, registers, &hash);
	return stack_finish(stack, element, process, execution, *end, hash, counts);
}

/* Returns stack_hash() of an element of scratch, for Linux before 5.17. Global, as unwind_stack(). */
__attribute__((noinline)) __u64 scratch_hash(__u32 element)
{
	const struct stack_addresses *stack = bpf_map_lookup_elem(&scratch, &element);
	return stack ? stack_hash(stack) : 0;
}

/*
 * Records a stack as stack_read() does, of which user stacks are walked by frame pointers, in this element of scratch.
 * Returns its hash; 0 without a stack, with missing added to *flags. use_loops: false for Linux before 5.17
 */
static __always_inline __u64 stack_walk(void *context, bool use_loops, struct stack_addresses *stack, __u32 element,
					__u64 kind, __u32 missing, __u32 *flags)
{
	bool truncated = false;
	__u64 hash = 0;
	if (stack_read(context, stack, kind, &truncated))
		hash = use_loops ? stack_hash_by_loop(element) : scratch_hash(element);
	*flags |= (hash ? 0 : missing) | (truncated ? STACK_TRUNCATED : 0);
	return hash;
}

/* Stores a stack in a map. Returns its hash; 0 with missing added to *flags if the map is full. */
static __always_inline __u64 stack_keep(void *stacks, const struct stack_addresses *stack, __u64 hash, __u32 missing,
					__u32 *flags, struct stack_counts *counts)
{
	if (!hash || stack_store(stacks, stack, hash))
		return hash;
	__sync_fetch_and_add(&counts->lost, 1);
	*flags |= missing;
	return 0;
}
