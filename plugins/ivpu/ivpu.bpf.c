// SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
/*
 * ivpu's BPF programs trace entries and returns of driver functions and aggregate calls by process and call tree node.
 * A map holds each thread's calls in flight. Interrupts have calls of their own, so that they are not attributed to the
 * interrupted process: their time is only subtracted from the self time of the interrupted call. Entries and returns
 * are handled by one program (a trampoline's, Linux 7.2, or a kprobe session's, Linux 6.10) or by two. Level Zero
 * functions, in user code, are outer calls of the same thread. The kernel runs none of these programs while another BPF
 * program, or a bpf() system call that holds a map's lock, runs on the same CPU. All calls of an interrupt that arrives
 * in that time are missed, and the kernel counts them.
 */
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/errno.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "ivpu_shared.h"
#include "bpf/stack_reader.bpf.h"
#include "bpf/targets.bpf.h"
#include "state.bpf.h"
#include "calls.bpf.h"
#include "npu_context.bpf.h"
#include "caller_stack.bpf.h"
#include "graph_table.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/*
 * The stack pointer of a traced function, computed from the address of the trampoline's context: it lies above the
 * function's own frame, offset by the function's arguments in the context (arch/x86/net/bpf_jit_comp.c). The verifier
 * converts a pointer into a number only through memory.
 */
static __always_inline __u64 context_stack(struct ivpu_calls *calls, void *context)
{
	*(void *volatile *)&calls->context = context;
	return *(volatile __u64 *)&calls->context + 8 * bpf_get_func_arg_cnt(context);
}

/* Starts a call. Returns whether its return must be traced. */
static __always_inline bool call_enter(const struct place *place, void *context, __u64 cookie, bool is_trampoline)
{
	if (!place_is_watched(place))
		return false;
	struct ivpu_calls *calls = calls_here(place);
	if (!calls)
		return false;
	__u64 pointer = is_trampoline ? context_stack(calls, context) : PT_REGS_SP((struct pt_regs *)context);
	calls_expire(place, calls, pointer, 0);
	user_add(place, calls);
	if (!calls->depth)
		calls->stack = 0;
	context_enter(place, calls, context, cookie, is_trampoline);
	return call_push(place, calls, cookie & (IVPU_FUNCTIONS_MAX - 1), pointer, 0);
}

/* The time of an interrupt is not part of the interrupted call. */
static __always_inline void interrupted_charge(const struct place *place, __u64 duration)
{
	struct ivpu_calls *calls = NULL;

	for (__s32 below = IVPU_NMI - 1; below >= 0; below--) {
		__u32 element = below;
		if (below >= place->interrupt)
			continue;
		calls = bpf_map_lookup_elem(&interrupts, &element);
		if (calls && calls->depth)
			break;
		calls = NULL;
	}
	if (!calls)
		calls = bpf_map_lookup_elem(&threads, &place->thread);
	if (calls && calls->depth)
		frame_at(calls, calls->depth - 1)->nested += duration;
}

static long node_store(__u32 index, void *context)
{
	struct walk *walk = context;
	__u64 node = frame_at(walk->calls, index)->node;
	__u64 parent = parent_of(walk->place, walk->calls, index);
	long error = bpf_map_update_elem(&nodes, &node, &parent, BPF_NOEXIST);

	if (error && error != -EEXIST)
		__sync_fetch_and_add(&walk->place->processor->nodes_full, 1);
	return 0;
}

/* Stored before the first count that refers to them, so an existing count implies existing nodes. */
static __always_inline void nodes_store(const struct place *place, struct ivpu_calls *calls, __u32 index)
{
	struct walk walk = { .place = place, .calls = calls };

	bpf_loop(index + 1, node_store, &walk, 0);
}

static __always_inline void count_add(struct ivpu_count *count, const struct ivpu_count *call)
{
	__sync_fetch_and_add(&count->count, 1);
	__sync_fetch_and_add(&count->duration, call->duration);
	__sync_fetch_and_add(&count->self_duration, call->self_duration);
	/* Two CPUs may update the times concurrently; user space orders them. */
	if (call->first_time < count->first_time)
		count->first_time = call->first_time;
	if (call->last_time >= count->last_time) {
		count->last_time = call->last_time;
		count->result = call->result;
	}
}

static __always_inline void call_count(const struct place *place, struct ivpu_calls *calls, __u32 index,
				       const struct ivpu_count *call)
{
	struct ivpu_processor *processor = place->processor;
	__u32 set = *(volatile __u32 *)&active_set;
	void *counts = set ? (void *)&counts_1 : (void *)&counts_0;
	struct ivpu_key key = { .process = place->process,
				.context = context_of(calls, index),
				.node = frame_at(calls, index)->node,
				.stack = calls->stack };

	struct ivpu_count *count = bpf_map_lookup_elem(counts, &key);
	if (count) {
		count_add(count, call);
		return;
	}
	nodes_store(place, calls, index);
	long error = bpf_map_update_elem(counts, &key, call, BPF_NOEXIST);
	if (error == -EEXIST) {
		count = bpf_map_lookup_elem(counts, &key);
		if (count)
			count_add(count, call);
		else
			__sync_fetch_and_add(&processor->counts_busy, 1);
	} else if (error == -E2BIG) {
		__sync_fetch_and_add(&processor->counts_full, 1);
	} else if (error) {
		__sync_fetch_and_add(&processor->counts_busy, 1);
	}
}

/* Wakes user space only when half of the ring is used: it polls ten times per second anyway. */
static __always_inline void call_report(const struct place *place, struct ivpu_calls *calls, __u32 index,
					const struct ivpu_count *call)
{
	__u64 node = frame_at(calls, index)->node;

	if (!bpf_map_lookup_elem(&nodes, &node))
		nodes_store(place, calls, index);
	struct ivpu_call_event *event = bpf_ringbuf_reserve(&calls_ring, sizeof *event, 0);
	if (!event) {
		__sync_fetch_and_add(&place->processor->ring_full, 1);
		return;
	}
	*event = (struct ivpu_call_event){
		.key = { .process = place->process,
			 .context = context_of(calls, index),
			 .node = node,
			 .stack = calls->stack },
		.thread = place->interrupt < 0 && !(place->thread >> 31) ? place->thread : 0,
		.begin = call->first_time,
		.duration = call->duration,
		.self_duration = call->self_duration,
		.result = call->result,
	};
	if (event->thread)
		bpf_get_current_comm(event->name, sizeof event->name);
	bool is_half = bpf_ringbuf_query(&calls_ring, BPF_RB_AVAIL_DATA) > ring_size / 2;
	bpf_ringbuf_submit(event, is_half ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

/*
 * User space changes active_set and then waits until active is 0: from then on nothing uses the other map. The addition
 * is a full barrier: active is visible before active_set is read.
 */
static __always_inline void call_add(const struct place *place, struct ivpu_calls *calls, __u32 index,
				     const struct ivpu_count *call)
{
	struct ivpu_processor *processor = place->processor;

	__sync_fetch_and_add(&processor->calls, 1);
	if (each_call) {
		call_report(place, calls, index, call);
		return;
	}
	__sync_fetch_and_add(&processor->active, 1);
	call_count(place, calls, index, call);
	__sync_fetch_and_add(&processor->active, -1);
}

/* The position of the highest bit: BPF has no instruction for it. */
static __always_inline __u32 bucket_of(__u64 duration)
{
	__u32 bucket = 0;

	for (__u32 width = 32; width; width /= 2) {
		if (duration >> width) {
			duration >>= width;
			bucket += width;
		}
	}
	return bucket < IVPU_BUCKETS ? bucket : IVPU_BUCKETS - 1;
}

static __always_inline void histogram_add(__u32 histogram, __u64 duration)
{
	struct ivpu_histogram *durations = bpf_map_lookup_elem(&histograms, &histogram);
	__u32 bucket = bucket_of(duration);

	if (!durations || bucket >= IVPU_BUCKETS)
		return;
	__sync_fetch_and_add(&durations->sum, duration);
	__sync_fetch_and_add(&durations->buckets[bucket], 1);
	if (duration > durations->maximum)
		durations->maximum = duration;
}

static __always_inline void call_return(const struct place *place, __u64 cookie, __u64 now, __u64 result)
{
	__u32 function = cookie & (IVPU_FUNCTIONS_MAX - 1), histogram = (__u32)cookie >> IVPU_FUNCTION_BITS;
	struct ivpu_processor *processor = place->processor;
	struct ivpu_calls *calls = calls_of(place);

	if (!calls) {
		if (place_is_watched(place))
			__sync_fetch_and_add(&processor->returns_unknown, 1);
		return;
	}
	if (calls->deeper) {
		calls->deeper--;
		return;
	}
	__u32 index = call_find(calls, function);
	if (index >= IVPU_FRAMES) {
		__sync_fetch_and_add(&processor->returns_unknown, 1);
		return;
	}
	__sync_fetch_and_add(&processor->returns_missed, calls->depth - 1 - index);
	struct ivpu_frame *frame = frame_at(calls, index);
	if (frame->same) {
		frame->same--;
		calls->depth = index + 1;
		return;
	}
	if (function >= IVPU_API_FIRST && !is_user(place, calls)) {
		calls->depth = index;
		return;
	}
	struct ivpu_count call = {
		.count = 1,
		.duration = now > frame->begin ? now - frame->begin : 0,
		.first_time = frame->begin,
		.last_time = frame->begin,
		.result = result,
	};
	if (function >= IVPU_API_FIRST)
		call.result = (__u32)call.result; /* ze_result_t */
	if (call.duration > frame->nested)
		call.self_duration = call.duration - frame->nested;
	if (histogram)
		histogram_add(histogram - 1, call.duration);
	context_return(calls, index, cookie);
	if (index)
		frame_at(calls, index - 1)->nested += call.duration;
	else if (place->interrupt >= 0)
		interrupted_charge(place, call.duration);
	call_add(place, calls, index, &call);
	calls->depth = index;
}

/*
 * Measures one of IVPU_TIMED_EVENTS events, because reading the clock takes a tenth of the handler's time. Returns 0
 * for events that are not measured.
 */
static __always_inline __u64 event_begin(struct ivpu_processor *processor)
{
	return (processor->events++ & (IVPU_TIMED_EVENTS - 1)) ? 0 : bpf_ktime_get_ns();
}

static __always_inline void event_end(struct ivpu_processor *processor, __u64 begin)
{
	if (begin)
		processor->handler_time += bpf_ktime_get_ns() - begin;
}

static __always_inline bool entry_handle(void *context, bool is_trampoline)
{
	struct place place;

	if (is_left_out() || !place_find(&place))
		return false;
	__u64 begin = event_begin(place.processor);
	bool wanted = call_enter(&place, context, bpf_get_attach_cookie(context), is_trampoline);
	event_end(place.processor, begin);
	return wanted;
}

/* Returns false if there is no counter for this CPU. */
static __always_inline bool return_handle(void *context, __u64 now, __u64 result)
{
	struct place place;

	if (is_left_out() || !place_find(&place))
		return false;
	__u64 begin = event_begin(place.processor);
	call_return(&place, bpf_get_attach_cookie(context), now, result);
	event_end(place.processor, begin);
	return true;
}

SEC("kprobe.multi")
int function_enter(struct pt_regs *context)
{
	entry_handle(context, false);
	return 0;
}

SEC("kprobe.multi")
int function_return(struct pt_regs *context)
{
	return_handle(context, bpf_ktime_get_ns(), PT_REGS_RC(context));
	return 0;
}

/* Adds the first call with a key; another CPU may add it at the same time. Not inlined: nearly all calls have a count.
 */
static __noinline int entry_add(__u64 key)
{
	__u32 cpu = bpf_get_smp_processor_id();
	__u64 one = 1;
	long error = bpf_map_update_elem(&entries, &key, &one, BPF_NOEXIST);
	__u64 *count = error == -EEXIST ? bpf_map_lookup_elem(&entries, &key) : NULL;
	struct ivpu_processor *processor = bpf_map_lookup_elem(&processors, &cpu);

	if (count)
		++*count;
	else if (error && processor)
		__sync_fetch_and_add(error == -E2BIG ? &processor->counts_full : &processor->counts_busy, 1);
	return 0;
}

/* The only program with mode=entries. It is not interrupted by itself: the Linux kernel counts such calls as missed. */
SEC("kprobe.multi")
int function_count(struct pt_regs *context)
{
	__u32 process = process_here();
	__u64 key = IVPU_ENTRY_KEY(process, bpf_get_attach_cookie(context) & (IVPU_FUNCTIONS_MAX - 1));

	if (only_targets && process && !process_is_target(process))
		return 0;
	__u64 *count = bpf_map_lookup_elem(&entries, &key);
	if (count)
		++*count;
	else
		entry_add(key);
	return 0;
}

/*
 * bpf_session_is_return() of kernel/trace/bpf_trace.c is a kfunc without a parameter in Linux 6.10 and with the context
 * as a parameter later. libbpf accepts only one of these, so user space patches the number of the function in
 * (probes.c). The version without a parameter ignores the argument.
 */
static bool (*const session_is_return)(void *context) = (void *)IVPU_SESSION_IS_RETURN;

/*
 * Returns 1 for an entry whose return is not traced. Not with trampolines, which always trace the return: "deeper"
 * relies on it.
 */
SEC("kprobe.multi")
int function_session(struct pt_regs *context)
{
	if (!session_is_return(context))
		return !entry_handle(context, false) && session;
	return_handle(context, bpf_ktime_get_ns(), PT_REGS_RC(context));
	return 0;
}

/* User space sets its type to BPF_TRACE_FSESSION_MULTI, called at entry and return (probes.c). */
SEC(IVPU_FSESSION_SECTION)
int function_fsession(__u64 *context)
{
	if (!session_is_return(context)) {
		entry_handle(context, true);
		return 0;
	}
	__u64 now = bpf_ktime_get_ns(), result = 0;
	bpf_get_func_ret(context, &result);
	return_handle(context, now, result);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(follow_fork, struct task_struct *parent, struct task_struct *child)
{
	targets_follow(parent, child);
	return 0;
}

/* file: the context that allocates the buffer */
static __always_inline void buffer_add(const __u64 *size, __u64 file)
{
	struct place place;
	__u64 bytes = 0;

	if (!place_find(&place) || !place_is_watched(&place))
		return;
	bpf_probe_read_kernel(&bytes, sizeof bytes, size);
	__sync_fetch_and_add(&place.processor->buffer_bytes, bytes);
	__u64 key = IVPU_CONTEXT_KEY(place.process, context_read(IVPU_CONTEXT_OF_THIRD, file)), none = 0;
	if (!bpf_map_lookup_elem(&buffer_sizes, &key))
		bpf_map_update_elem(&buffer_sizes, &key, &none, BPF_NOEXIST);
	__u64 *sum = bpf_map_lookup_elem(&buffer_sizes, &key);
	if (sum)
		__sync_fetch_and_add(sum, bytes);
	else
		__sync_fetch_and_add(&place.processor->sizes_lost, 1);
}

/* data: struct drm_ivpu_bo_create, with the size at offset 0 (include/uapi/drm/ivpu_accel.h). */
SEC("kprobe")
int BPF_KPROBE(buffer_create, void *device, const void *data, void *file)
{
	buffer_add(data, (__u64)file);
	return 0;
}

/* data: struct drm_ivpu_bo_create_from_userptr of Linux 6.19, with the size at offset 8. */
SEC("kprobe")
int BPF_KPROBE(buffer_of_program_create, void *device, const void *data, void *file)
{
	buffer_add(data + 8, (__u64)file);
	return 0;
}

/*
 * A Level Zero function. A call directly inside the same function counts as one call: the loader calls the driver's
 * function of the same name.
 */
static __always_inline void api_enter_handle(const struct place *place, struct pt_regs *context, __u32 function)
{
	__u64 pointer = PT_REGS_SP(context), caller = 0;

	if (!place_is_watched(place) || function < IVPU_API_FIRST)
		return;
#ifdef __TARGET_ARCH_x86
	bpf_probe_read_user(&caller, sizeof caller, (const void *)pointer);
#endif
	struct ivpu_calls *calls = calls_here(place);
	if (!calls)
		return;
	calls_expire(place, calls, pointer, caller);
	if (calls->depth && frame_is_of(calls, calls->depth - 1, function)) {
		frame_at(calls, calls->depth - 1)->same++;
		return;
	}
	if (!calls->depth)
		calls->stack = take_stacks ? caller_stack_take(context, place, caller) : 0;
	call_push(place, calls, function, pointer, caller);
}

SEC("uprobe")
int api_enter(struct pt_regs *context)
{
	struct place place;

	if (!place_find(&place)) {
		task_stack_keep(context);
		return 0;
	}
	__u64 begin = event_begin(place.processor);
	api_enter_handle(&place, context, (__u32)bpf_get_attach_cookie(context) & (IVPU_FUNCTIONS_MAX - 1));
	event_end(place.processor, begin);
	return 0;
}

SEC("uretprobe")
int api_return(struct pt_regs *context)
{
	if (!return_handle(context, bpf_ktime_get_ns(), PT_REGS_RC(context)))
		task_stack_keep(context);
	return 0;
}

/* A thread killed inside a Level Zero call does not return from it. The driver's clean-up comes later. */
SEC("tp_btf/sched_process_exit")
int follow_exit(__u64 *context)
{
	__u32 thread = (__u32)bpf_get_current_pid_tgid(), cpu = bpf_get_smp_processor_id();
	const struct ivpu_calls *calls = bpf_map_lookup_elem(&threads, &thread);
	struct ivpu_processor *processor = bpf_map_lookup_elem(&processors, &cpu);

	/* The first thread of a process has its number, which another program may get. */
	bpf_map_delete_elem(&npu_users, &thread);
	if (!calls)
		return 0;
	if (processor)
		__sync_fetch_and_add(&processor->returns_missed, calls->depth);
	bpf_map_delete_elem(&threads, &thread);
	return 0;
}
