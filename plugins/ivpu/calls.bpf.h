/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The calls in flight of a thread or interrupt: adding a call, finding the one that returns, and removing those whose
 * return was missed.
 */
#pragma once

static __always_inline __u64 node_hash(__u64 parent, __u32 function)
{
	__u64 hash = (parent + function + 1) * 0x9e3779b97f4a7c15ull;

	hash ^= hash >> 32;
	hash *= 0x9e3779b97f4a7c15ull;
	hash ^= hash >> 29;
	return IVPU_NODE_BIT | hash << IVPU_FUNCTION_BITS | function;
}

static __always_inline bool frame_is_of(struct ivpu_calls *calls, __u32 index, __u32 function)
{
	return (frame_at(calls, index)->node & (IVPU_FUNCTIONS_MAX - 1)) == function;
}

/* Context of the loops below. The verifier checks each loop body once. */
struct walk {
	const struct place *place;
	struct ivpu_calls *calls;
	__u64 pointer;
	__u64 caller;
	__u32 index;
	__u32 function;
};

/* User addresses are the lower half of the address space. */
static __always_inline bool pointer_is_programs(__u64 pointer)
{
	return !(pointer >> 63);
}

/*
 * Returns whether the innermost call has returned without being traced, judged by the stack pointer of a new call. A
 * thread that executes user code is not inside a driver function; a call inside the driver gives no information about
 * the user stack. Two calls at the same user stack address: either the first one has returned, or it tail-called the
 * second one, which then returns to the first one's uretprobe trampoline and so has a different return address.
 */
static __always_inline bool frame_is_gone(struct ivpu_calls *calls, __u64 pointer, __u64 caller)
{
	const struct ivpu_frame *frame = frame_at(calls, calls->depth - 1);
	__u64 above = frame->pointer - pointer;

	if (pointer_is_programs(frame->pointer))
		return pointer_is_programs(pointer) &&
		       (pointer > frame->pointer || (above == 0 && caller == frame->caller));
	return pointer_is_programs(pointer) || above == 0 || above >= STACK_SIZE;
}

static long call_expire(__u32 number, void *context)
{
	struct walk *walk = context;

	if (walk->calls->depth == 0 || !frame_is_gone(walk->calls, walk->pointer, walk->caller))
		return 1;
	walk->calls->depth--;
	__sync_fetch_and_add(&walk->place->processor->returns_missed, 1);
	return 0;
}

/* Removes the calls whose stack frames are gone: their return was missed. */
static __always_inline void calls_expire(const struct place *place, struct ivpu_calls *calls, __u64 pointer,
					 __u64 caller)
{
	struct walk walk = { .place = place, .calls = calls, .pointer = pointer, .caller = caller };

	if (calls->depth && frame_is_gone(calls, pointer, caller))
		bpf_loop(IVPU_FRAMES, call_expire, &walk, 0);
}

/* Returns the calls in flight, with room for one more, or NULL. */
static __always_inline struct ivpu_calls *calls_here(const struct place *place)
{
	struct ivpu_calls *calls = calls_of(place);

	if (!calls) {
		bpf_map_update_elem(&threads, &place->thread, &no_calls, BPF_NOEXIST);
		calls = calls_of(place);
		if (!calls) {
			__sync_fetch_and_add(&place->processor->threads_full, 1);
			return NULL;
		}
		__sync_fetch_and_add(&place->processor->threads_added, 1);
	}
	return calls;
}

static __always_inline bool call_push(const struct place *place, struct ivpu_calls *calls, __u32 function,
				      __u64 pointer, __u64 caller)
{
	__u32 depth = calls->depth;

	if (depth >= IVPU_DEPTH_MAX) {
		__sync_fetch_and_add(&place->processor->too_deep, 1);
		if (!session)
			calls->deeper++;
		return false;
	}
	struct ivpu_frame *frame = frame_at(calls, depth);
	frame->node = node_hash(parent_of(place, calls, depth), function);
	frame->nested = 0;
	frame->pointer = pointer;
	frame->caller = caller;
	frame->same = 0;
	calls->depth = depth + 1;
	frame->begin = bpf_ktime_get_ns(); /* last, so that this program's run time is not attributed to the call */
	return true;
}

static long frame_examine(__u32 number, void *context)
{
	struct walk *walk = context;

	if (walk->index == 0)
		return 1;
	walk->index--;
	return frame_is_of(walk->calls, walk->index, walk->function);
}

/* Finds the call that returns, which is nearly always the innermost one. Returns IVPU_FRAMES if there is none. */
static __always_inline __u32 call_find(struct ivpu_calls *calls, __u32 function)
{
	struct walk walk = { .calls = calls, .index = calls->depth, .function = function };

	if (walk.index == 0)
		return IVPU_FRAMES;
	if (frame_is_of(calls, walk.index - 1, function))
		return walk.index - 1;
	bpf_loop(IVPU_FRAMES, frame_examine, &walk, 0);
	return frame_is_of(calls, walk.index, function) ? walk.index : IVPU_FRAMES;
}
