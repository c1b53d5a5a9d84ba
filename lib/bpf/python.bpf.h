/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Adds the frames of CPython functions to a user stack: finds the state of the running thread in the interpreter's
 * list, follows its frames, and sends a copy of each code object that is new. All memory is read as the program itself
 * would, without waiting for pages. Included by one program of an object, after unwind.bpf.h; user space fills the
 * maps (python_stacks.h).
 */
#pragma once

#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "bpf/map.bpf.h"
#include "bpf/python.h"
#include "bpf/stack.h"
#include "bpf/thread_pointer.bpf.h"

/* Limits on thread states that are searched, and on frames. */
#define PYTHON_SEARCH_STEPS 4096
#define PYTHON_FRAME_STEPS (STACK_DEPTH_MAX / 2)
/* Limit on interpreters that a thread has entered, one from another. */
#define PYTHON_INTERPRETERS_MAX 8
/* Steps of a search among the frames of a stack. */
#define PYTHON_CALL_STEPS 11

const volatile bool take_python = false;
/* Changed when user space has forgotten code objects: they are sent again. */
__u64 python_generation = 0;

BPF_MAP(python_processes, HASH, __u32, struct python_process, 1);
BPF_MAP(python_threads, ARRAY, __u32, struct python_thread, 1);
BPF_MAP(python_seen, ARRAY, __u32, __u64, 1);

/* struct python_code */
BPF_RING(python_codes, 4096);

/* The code object that is being copied; values of per-CPU maps are smaller. */
BPF_MAP(python_buffers, ARRAY, __u32, struct python_code, 1);

/* In a map, as struct unwind_state. */
struct python_state {
	struct python_process process;
	__u64 interpreter, interpreter_next; /* while the thread's state is searched for */
	__u64 thread, id;
	__u64 frame;
	__u32 pid, buffer;
	__u32 depth, first; /* of the stack: elements, and those that are addresses */
	__u32 sends;
	__u32 is_found, begins, end;
	__u32 entered;   /* interpreters */
	__u32 group;     /* element of the stack with the innermost frame of the current call of the loop; 0: none */
	__u32 low, high; /* a search in unwind_state.ends */
	__u64 call;      /* what that call has on the C stack; 0: not known */
	__u32 codes, codes_refused;
	struct sip_state hash;
	__u64 frame_words[PYTHON_FRAME_BYTES / 8];
	__u64 code_words[PYTHON_OBJECT_BYTES / 8];
};

enum python_end { PYTHON_COMPLETE, PYTHON_TRUNCATED, PYTHON_UNREADABLE, PYTHON_UNKNOWN_LAYOUT };

struct {
	__uint(type, UNWIND_STATES_TYPE); /* as unwind_states */
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct python_state);
} python_states SEC(".maps");

static __always_inline bool python_read(void *to, __u32 size, __u64 address)
{
	return !bpf_probe_read_user(to, size, (const void *)address);
}

static __always_inline __u64 python_word(__u64 address)
{
	__u64 word = 0;
	python_read(&word, sizeof word, address);
	return word;
}

/* These return members of what was copied. Offsets of words are multiples of 8. */
static __always_inline __u64 python_frame_word(const struct python_state *state, __u32 offset)
{
	return state->frame_words[offset / 8 % (PYTHON_FRAME_BYTES / 8)];
}

static __always_inline __u32 python_frame_byte(const struct python_state *state, __u32 offset)
{
	return ((const __u8 *)state->frame_words)[offset % PYTHON_FRAME_BYTES];
}

static __always_inline __u64 python_code_word(const struct python_state *state, __u32 offset)
{
	return state->code_words[offset / 8 % (PYTHON_OBJECT_BYTES / 8)];
}

/* A 32-bit number at a multiple of 4. */
static __always_inline __u32 python_half(__u64 word, __u32 offset)
{
	return (__u32)(word >> (offset & 4 ? 32 : 0));
}

/*
 * Sets state->frame to the innermost frame of a thread state. Returns whether it is the running thread's, and has one:
 * the state of a thread that is being created can have the id of the thread that creates it.
 */
static __always_inline bool python_thread_enter(struct python_state *state, __u64 thread)
{
	const struct iaprof_python_layout *layout = &state->process.layout;
	if (python_word(thread + layout->thread_id) != state->id)
		return false;
	__u64 frame = python_word(thread + layout->thread_frame);
	if (frame && layout->cframe_frame != IAPROF_PYTHON_NONE)
		frame = python_word(frame + layout->cframe_frame);
	state->frame = frame;
	state->call = layout->thread_call == IAPROF_PYTHON_NONE ? 0 : python_word(thread + layout->thread_call);
	return frame;
}

/* One thread state, or one interpreter, for bpf_loop(): returns 1 to end. */
static long python_thread_step(__u32 index, void *context)
{
	struct python_state *state = bpf_map_lookup_elem(&python_states, context);
	if (!state)
		return 1;
	const struct iaprof_python_layout *layout = &state->process.layout;
	__u64 thread = state->thread;
	if (!thread) {
		__u64 interpreter = state->interpreter_next;
		if (!interpreter)
			return 1;
		state->interpreter = interpreter;
		state->interpreter_next = python_word(interpreter + layout->interpreter_next);
		state->thread = python_word(interpreter + layout->interpreter_threads);
		return 0;
	}
	if (python_word(thread + layout->thread_interpreter) == state->interpreter &&
	    python_thread_enter(state, thread)) {
		state->is_found = 1;
		return 1;
	}
	state->thread = python_word(thread + layout->thread_next);
	return 0;
}

/* Finds the innermost frame of the running thread; 0 if it has none. Global, as unwind_stack(). */
__attribute__((noinline)) int python_thread_find(__u32 element, __u32 tid)
{
	struct python_state *state = bpf_map_lookup_elem(&python_states, &element);
	if (!state)
		return 0;
	const struct iaprof_python_layout *layout = &state->process.layout;
	__u32 place = tid % PYTHON_THREADS;
	struct python_thread *known = bpf_map_lookup_elem(&python_threads, &place);
	__u64 interpreter = python_word(state->process.runtime + layout->interpreters);
	__u64 head = interpreter ? python_word(interpreter + layout->interpreter_threads) : 0;
	if (!known || !head)
		return 0;
	/* The state that was found last need not be the innermost one. */
	bool is_alone = !python_word(interpreter + layout->interpreter_next);
	if (known->thread == tid && known->process == state->pid) {
		__u32 misses = known->misses++;
		if (is_alone && known->state && python_thread_enter(state, known->state)) {
			known->misses = 0;
			return 1;
		}
		if (known->head == head && misses >= PYTHON_MISSES_MIN && misses % PYTHON_MISSES_MAX)
			return 0;
	}
	state->interpreter_next = interpreter;
	bpf_loop(PYTHON_SEARCH_STEPS, python_thread_step, &element, 0);
	if (known->thread != tid || known->process != state->pid || state->is_found)
		known->misses = 0;
	known->head = head;
	known->state = state->is_found ? state->thread : 0;
	known->thread = tid;
	known->process = state->pid;
	return state->is_found;
}

/*
 * Finds the innermost frame of the running thread in the next of the other interpreters, from which it has entered the
 * last one or which it has entered from there: the newest interpreter is the first in the list. Returns false if it has
 * none.
 */
static __always_inline bool python_thread_find_outer(struct python_state *state, void *context)
{
	if (!state->interpreter_next || ++state->entered >= PYTHON_INTERPRETERS_MAX)
		return false;
	state->thread = state->is_found = 0;
	state->begins = 1;
	bpf_loop(PYTHON_SEARCH_STEPS, python_thread_step, context, 0);
	return state->is_found;
}

/* Copies a string of at most room bytes, a power of two. */
static __always_inline void python_text_copy(const struct python_state *state, __u64 object, struct python_text *text,
					     __u8 *to, __u32 room)
{
	const struct iaprof_python_layout *layout = &state->process.layout;
	__u32 flags = 0;
	text->character = text->bytes = 0;
	text->length = 0;
	if (!python_read(&flags, sizeof flags, object + layout->text_state))
		return;
	text->length = python_word(object + layout->text_length);
	flags >>= layout->text_kind_shift & 15;
	__u32 character = flags & 7;
	bool is_compact = flags & 8, is_ascii = flags & 16;
	if (!is_compact || (character != 1 && character != 2 && character != 4) || text->length >> 32)
		return;
	__u64 bytes = text->length * character;
	if (bytes > room)
		bytes = room;
	/* One that was spilled before the comparison has no limit for the verifier of Linux 6.1. */
	asm volatile("" : "+r"(bytes));
	if (!python_read(to, bytes, object + (is_ascii ? layout->text_ascii : layout->text_compact)))
		return;
	text->bytes = bytes;
	text->character = character;
}

/* Sends a copy of the code object in state->code_words. Returns 0 if it could not. Global, as unwind_stack(). */
__attribute__((noinline)) int python_code_send(__u32 element, __u64 code, __u32 identity)
{
	struct python_state *state = bpf_map_lookup_elem(&python_states, &element);
	if (!state)
		return 0;
	const struct iaprof_python_layout *layout = &state->process.layout;
	struct python_code *copy = bpf_map_lookup_elem(&python_buffers, &state->buffer);
	struct python_process *process = bpf_map_lookup_elem(&python_processes, &state->pid);
	if (!copy || !process || state->sends++ >= PYTHON_SENDS_MAX)
		return 0;
	__u64 now = bpf_ktime_get_ns();
	if (now - process->window > 1000000000ull) {
		process->window = now;
		process->sent = 0;
	}
	if (process->sent > PYTHON_SENT_MAX)
		return 0;
	copy->execution = process->execution;
	copy->code = code;
	copy->process = state->pid;
	copy->identity = identity;
	copy->first_line = (__s32)python_half(python_code_word(state, layout->code_line), layout->code_line);
	copy->line_format = layout->lines;
	python_text_copy(state, python_code_word(state, layout->code_name), &copy->name, copy->name_bytes,
			 PYTHON_NAME_BYTES);
	python_text_copy(state, python_code_word(state, layout->code_file), &copy->file, copy->file_bytes,
			 PYTHON_FILE_BYTES);
	if (!copy->name.character || !copy->file.character)
		return 0;
	__u64 lines = python_code_word(state, layout->code_lines);
	__u64 size = python_word(lines + layout->bytes_length);
	if (size > PYTHON_LINES_BYTES || !python_read(copy->lines, size, lines + layout->bytes_data))
		size = 0;
	copy->line_bytes = size;
	size += sizeof *copy - PYTHON_LINES_BYTES;
	if (size > sizeof *copy || bpf_ringbuf_output(&python_codes, copy, size, 0))
		return 0;
	process->sent += size;
	return 1;
}

/* Adds a frame to the stack. Returns false if there is no room. */
static __always_inline bool python_push(struct python_state *state, struct stack_addresses *stack, __u64 word,
					__u64 code)
{
	__u32 depth = state->depth;
	if (depth >= STACK_DEPTH_MAX - 1) {
		state->end = PYTHON_TRUNCATED;
		return false;
	}
	/* One that was spilled before the comparison has no limit for the verifier of Linux 6.1. */
	asm volatile("" : "+r"(depth));
	depth %= STACK_DEPTH_MAX;
	stack->addresses[depth] = PYTHON_FRAME | word;
	stack->addresses[depth + 1] = code;
	state->depth = depth + 2;
	sip_add(&state->hash, PYTHON_FRAME | word);
	sip_add(&state->hash, code);
	return true;
}

/* Returns the position in the bytecode of the frame in state->frame_words. */
static __always_inline __u32 python_position(const struct python_state *state, __u64 code)
{
	const struct iaprof_python_layout *layout = &state->process.layout;
	__u64 position = python_frame_word(state, layout->frame_position);
	if (layout->position != IAPROF_PYTHON_POSITION_POINTER) {
		__s32 units = (__s32)python_half(position, layout->frame_position);
		return layout->position == IAPROF_PYTHON_POSITION_UNITS ? (__u32)units * 2 : (__u32)units;
	}
	__u64 bytecode = code + layout->code_bytecode;
	if (layout->frame_bytecode != IAPROF_PYTHON_NONE) {
		/* Free-threaded builds: a thread runs a copy of its own. The array begins with its size. */
		__u32 copy = python_half(python_frame_word(state, layout->frame_bytecode), layout->frame_bytecode);
		if (copy)
			bytecode = python_word(python_word(code + layout->code_copies) + 8 + 8 * (__u64)copy);
	}
	return (__u32)(position - bytecode);
}

/* Sends the code object unless it was sent already. */
static __always_inline void python_code_need(struct python_state *state, __u32 element, __u64 code, __u32 identity)
{
	__u64 hash = hash_add(hash_add(hash_seed[0] ^ python_generation, code), (__u64)state->pid << 32 | identity);
	__u32 place = hash % PYTHON_SEEN;
	__u64 *seen = bpf_map_lookup_elem(&python_seen, &place);
	if (!seen || *seen == hash)
		return;
	if (python_code_send(element, code, identity)) {
		*seen = hash;
		state->codes++;
	} else {
		state->codes_refused++;
	}
}

/* A step of the search for the frame on the C stack that contains state->call, for bpf_loop(): returns 1 to end. */
static long python_call_step(__u32 index, void *context)
{
	struct python_state *state = bpf_map_lookup_elem(&python_states, context);
	const struct unwind_state *unwound = bpf_map_lookup_elem(&unwind_states, context);
	if (!state || !unwound || state->low >= state->high)
		return 1;
	__u32 middle = (state->low + (state->high - state->low) / 2) % STACK_DEPTH_MAX;
	if (unwound->ends[middle] > state->call)
		state->high = middle;
	else
		state->low = middle + 1;
	return 0;
}

/*
 * Ends the frames of a call of the evaluation loop that has state->call on the C stack: stores which native frame it
 * is. Frames on several stacks are not in ascending order: one that contains the address may then not be found.
 */
static __always_inline void python_group_end(struct python_state *state, struct stack_addresses *stack, void *context)
{
	const struct unwind_state *unwound = bpf_map_lookup_elem(&unwind_states, context);
	__u32 group = state->group;
	state->group = 0;
	if (!unwound || !group || !state->call)
		return;
	state->low = 0;
	state->high = state->first;
	bpf_loop(PYTHON_CALL_STEPS, python_call_step, context, 0);
	__u32 found = state->low;
	if (found >= state->first)
		return;
	if (state->call < (found ? unwound->ends[(found - 1) % STACK_DEPTH_MAX] : unwound->begin))
		return;
	found++;
	/* One that was spilled before the comparison has no limit for the verifier of Linux 6.1. */
	asm volatile("" : "+r"(group));
	group = (group + 1) % STACK_DEPTH_MAX;
	stack->addresses[group] |= (__u64)found << PYTHON_CALL_SHIFT;
	sip_add(&state->hash, found);
}

/* One frame, for bpf_loop(): returns 1 to end. */
static long python_frame_step(__u32 index, void *context)
{
	struct python_state *state = bpf_map_lookup_elem(&python_states, context);
	struct stack_addresses *stack = bpf_map_lookup_elem(&scratch, context);
	if (!state || !stack)
		return 1;
	if (!state->frame)
		return !python_thread_find_outer(state, context);
	const struct iaprof_python_layout *layout = &state->process.layout;
	__u32 size = layout->frame_size;
	if (size > PYTHON_FRAME_BYTES || !python_read(state->frame_words, size, state->frame)) {
		state->end = PYTHON_UNREADABLE;
		return 1;
	}
	__u64 address = state->frame;
	state->frame = python_frame_word(state, layout->frame_previous);
	__u32 mark = python_frame_byte(state, layout->frame_entry);
	if (layout->entry == IAPROF_PYTHON_ENTRY_OWNER && mark >= layout->entry_owner) {
		state->call = address;
		python_group_end(state, stack, context);
		state->begins = 1;
		return 0;
	}
	/* Tagged since 3.14. */
	__u64 code = python_frame_word(state, layout->frame_code) & ~7ull;
	size = layout->code_size;
	if (code > PYTHON_CODE_MASK || size > PYTHON_OBJECT_BYTES || !python_read(state->code_words, size, code)) {
		state->end = PYTHON_UNREADABLE;
		return 1;
	}
	if (python_code_word(state, layout->object_type) != state->process.code_type) {
		state->end = PYTHON_UNKNOWN_LAYOUT;
		return 1;
	}
	__u64 hash = hash_add(python_code_word(state, layout->code_name), python_code_word(state, layout->code_file));
	hash = hash_add(hash, python_code_word(state, layout->code_lines));
	hash = hash_add(hash, python_half(python_code_word(state, layout->code_line), layout->code_line));
	__u32 identity = (hash >> 32) & PYTHON_FRAME_IDENTITY_MASK;
	__u64 word = (__u64)identity << PYTHON_FRAME_IDENTITY_SHIFT | python_position(state, code);
	if (state->begins)
		state->group = state->depth;
	if (!python_push(state, stack, word | (state->begins ? PYTHON_FRAME_BEGINS : 0), code))
		return 1;
	state->begins =
		layout->entry == IAPROF_PYTHON_ENTRY_EACH || (layout->entry == IAPROF_PYTHON_ENTRY_FLAG && mark);
	if (state->begins) {
		python_group_end(state, stack, context);
		state->call = state->call ? python_word(state->call + layout->call_next) : 0;
	}
	python_code_need(state, *(__u32 *)context, code, identity);
	return 0;
}

/* Returns whether python_stack_take() knows the interpreter of a process. */
static __always_inline bool python_is_known(__u32 pid)
{
	return take_python && bpf_map_lookup_elem(&python_processes, &pid);
}

/*
 * Adds the Python frames of the running task to a stack that unwind_stack() has unwound into this element. buffer: of
 * python_buffers. Returns the hash of the stack; 0 if it has none. Global, as unwind_stack().
 */
__attribute__((noinline)) __u64 python_frames_take(__u32 element, __u32 buffer, __u64 execution,
						   struct python_counts *counts)
{
	/* What is used at once is not spilled: Linux 6.1 counts the stacks of all functions together. */
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct python_process *process = bpf_map_lookup_elem(&python_processes, &pid);
	if (!counts || !process || process->execution != execution)
		return 0;
	struct python_state *state = bpf_map_lookup_elem(&python_states, &element);
	if (!state)
		return 0;
	state->process = *process;
	state->buffer = buffer;
	state->pid = pid;
	state->interpreter = state->interpreter_next = state->thread = 0;
	state->call = state->group = 0;
	state->is_found = state->sends = state->end = state->entered = state->codes = state->codes_refused = 0;
	state->begins = 1;
	state->id = thread_pointer((const void *)bpf_get_current_task());
	const struct unwind_state *unwound = bpf_map_lookup_elem(&unwind_states, &element);
	if (!unwound)
		return 0;
	state->hash = unwound->hash;
	struct stack_addresses *stack = bpf_map_lookup_elem(&scratch, &element);
	if (!stack)
		return 0;
	state->depth = state->first = stack->depth;
	if (!state->id || !python_thread_find(element, (__u32)bpf_get_current_pid_tgid()))
		return 0;
	bpf_loop(PYTHON_FRAME_STEPS + PYTHON_INTERPRETERS_MAX, python_frame_step, &element, 0);
	__sync_fetch_and_add(&counts->codes, state->codes);
	__sync_fetch_and_add(&counts->codes_refused, state->codes_refused);
	if (state->end == PYTHON_UNREADABLE)
		__sync_fetch_and_add(&counts->unreadable, 1);
	if (state->end == PYTHON_UNKNOWN_LAYOUT) {
		__sync_fetch_and_add(&counts->unknown_layout, 1);
		if (state->depth == state->first)
			python_push(state, stack, PYTHON_FRAME_BEGINS, PYTHON_CODE_UNKNOWN_LAYOUT);
	}
	if (state->depth == state->first)
		return 0;
	__u32 first = state->first;
	if (state->frame && first < STACK_DEPTH_MAX) {
		stack->addresses[first] |= PYTHON_FRAME_TRUNCATED;
		sip_add(&state->hash, PYTHON_FRAME_TRUNCATED);
		__sync_fetch_and_add(&counts->truncated, 1);
	}
	__sync_fetch_and_add(&counts->stacks, 1);
	stack->depth = state->depth;
	return sip_end(&state->hash);
}

/* The same. hash: that of the stack, which is returned if it has no Python frames. */
static __always_inline __u64 python_stack_take(__u32 element, __u32 buffer, __u64 execution,
					       struct python_counts *counts, __u64 hash)
{
	__u64 with_python = take_python ? python_frames_take(element, buffer, execution, counts) : 0;
	return with_python ? with_python : hash;
}
