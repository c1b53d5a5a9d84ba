/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Unwinds user stacks by tables (unwind.h), and by frame pointers where there is none. Included by one program of an
 * object, after stack.bpf.h and a map scratch whose values have STACK_ROOM bytes; user space fills the maps
 * (unwinder.h). Needs bpf_loop(), Linux 5.17.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "bpf/map.bpf.h"
#include "bpf/stack.h"
#include "bpf/unwind.h"

struct task_struct;

/* Stands for the memory of the running task. */
struct unwind_memory;

static __always_inline bool unwind_read(const struct unwind_memory *memory, __u64 address, void *to, __u32 size)
{
	return !bpf_probe_read_user(to, size, (const void *)address);
}

#ifdef __TARGET_ARCH_x86
static __always_inline const __u64 *unwind_entry(void)
{
	return (const __u64 *)bpf_task_pt_regs(bpf_get_current_task_btf());
}

/* Reads a register with which the task entered the Linux kernel. */
static __always_inline bool unwind_other(const struct unwind_memory *memory, __u32 number, __u64 *value)
{
	return !bpf_probe_read_kernel(value, sizeof *value,
				      unwind_entry() + (UNWIND_POSITIONS >> (number & 15) * 4 & 15));
}

/* Returns whether the task entered the Linux kernel with these registers. */
static __always_inline bool unwind_is_entry(const struct unwind_registers *registers)
{
	const bpf_user_pt_regs_t *entry = (const void *)unwind_entry();
	__u64 pc = 0, sp = 0;
	return !bpf_probe_read_kernel(&pc, sizeof pc, &PT_REGS_IP(entry)) && pc == registers->pc &&
	       !bpf_probe_read_kernel(&sp, sizeof sp, &PT_REGS_SP(entry)) && sp == registers->sp;
}
/* Copies the registers for unwind_copy.others. */
static __always_inline void unwind_others_copy(__u64 *others, const struct unwind_registers *registers)
{
	if (registers->is_behind_call || !unwind_is_entry(registers) ||
	    bpf_probe_read_kernel(others, UNWIND_OTHERS * sizeof *others, unwind_entry()))
		__builtin_memset(others, 0, UNWIND_OTHERS * sizeof *others);
}
#else
static __always_inline bool unwind_other(const struct unwind_memory *memory, __u32 number, __u64 *value)
{
	return false;
}

static __always_inline bool unwind_is_entry(const struct unwind_registers *registers)
{
	return false;
}

static __always_inline void unwind_others_copy(__u64 *others, const struct unwind_registers *registers)
{
	__builtin_memset(others, 0, UNWIND_OTHERS * sizeof *others);
}
#endif

#include "bpf/unwind_step.h"

/*
 * kernel/events/uprobes.c, include/linux/uprobes.h: calls whose return address a uretprobe replaced, latest first, by
 * that of code in a page of its own.
 */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct return_instance___unwind {
	unsigned long stack; /* on x86, the place of the return address */
	unsigned long orig_ret_vaddr;
	struct return_instance___unwind *next;
};
struct uprobe_task___unwind {
	struct return_instance___unwind *return_instances;
	unsigned long vaddr, xol_vaddr; /* of an instruction, and of the copy that is executed in its place */
};
struct xol_area___unwind {
	unsigned long vaddr;
};
struct uprobes_state___unwind {
	struct xol_area___unwind *xol_area;
};
struct mm_struct___unwind {
	struct uprobes_state___unwind uprobes_state;
};
struct task_struct___unwind {
	struct mm_struct___unwind *mm;
	struct uprobe_task___unwind *utask;
};
#pragma clang attribute pop

/* Limit on such calls of a task: that of older kernels. */
#define UNWIND_RETURNS_MAX 64
/* What the code pushes before it enters the Linux kernel: three registers. */
#define UNWIND_RETURN_PUSHED 24
#define UNWIND_PROBES_PAGE 4096ull
#define UNWIND_INSTRUCTION_MAX 16 /* bytes; the copy is followed by nothing or, in some releases, by a jump */

/* Maximum number of search steps: for 2^18 mappings, and for 2^8 blocks of a page. */
#define UNWIND_MAPPING_STEPS 18
#define UNWIND_BLOCK_STEPS 10

BPF_MAP(unwind_processes, HASH, __u32, struct unwind_process, 1);
BPF_MAPPED_ARRAY(unwind_mappings, struct unwind_mapping, 1);
BPF_MAPPED_ARRAY(unwind_rules, struct iaprof_unwind_rule, UNWIND_RULE_COUNT);

/* struct unwind_question */
BPF_RING(unwind_questions, 4096);

struct unwind_inner_pages {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct unwind_page));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNWIND_TABLE_COUNT);
	__type(key, __u32);
	__array(values, struct unwind_inner_pages);
} unwind_pages SEC(".maps");

struct unwind_inner_rows {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_INNER_MAP | BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct unwind_block));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, UNWIND_TABLE_COUNT);
	__type(key, __u32);
	__array(values, struct unwind_inner_rows);
} unwind_rows SEC(".maps");

/*
 * The state of the loops below. It is in a map so that the verifier knows nothing about its values: it then checks each
 * loop body once, instead of once for each state.
 */
struct unwind_state {
	struct unwind_frame frame;
	struct unwind_mapping mapping; /* contains the last address */
	__u32 first, count;            /* mappings of the process */
	__u32 depth;
	__u32 end; /* enum unwind_end */
	/* A search for an address, from position low up to high. */
	__u64 address;
	__u32 low, high;
	__u32 table, offset;
	struct sip_state hash;                          /* of the addresses so far */
	__u64 probes_page;                              /* address of the page of uprobes; 0: none */
	const struct return_instance___unwind *returns; /* the next to be examined */
	__u32 is_probed;                                /* the two are set */
	__u32 pad;
	__u64 begin; /* stack pointer of the innermost frame */
	/* Of each element of the stack: where its frame ends, the stack pointer of its caller; 0: not known. */
	__u64 ends[STACK_DEPTH_MAX];
};

/*
 * One state for each element of scratch. An object whose programs can preempt each other on a CPU defines
 * UNWIND_STATES_TYPE as BPF_MAP_TYPE_ARRAY.
 */
#ifndef UNWIND_STATES_TYPE
#define UNWIND_STATES_TYPE BPF_MAP_TYPE_PERCPU_ARRAY
#endif
struct {
	__uint(type, UNWIND_STATES_TYPE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_state);
} unwind_states SEC(".maps");

struct stack_hashing {
	struct sip_state state;
	__u32 element;
	__u32 pad;
};

static long stack_hash_step(__u32 index, void *context)
{
	struct stack_hashing *hashing = context;
	__u32 element = hashing->element, first = index * STACK_HASH_STRIDE;
	const struct stack_addresses *stack = bpf_map_lookup_elem(&scratch, &element);
	if (!stack || first > STACK_DEPTH_MAX - STACK_HASH_STRIDE)
		return 1;
	stack_hash_add(&hashing->state, stack, first);
	return 0;
}

/* Returns stack_hash() of an element of scratch. Global, as unwind_stack(). */
__attribute__((noinline)) __u64 stack_hash_by_loop(__u32 element)
{
	const struct stack_addresses *stack = bpf_map_lookup_elem(&scratch, &element);
	if (!stack)
		return 0;
	struct stack_hashing hashing = { .state = sip_begin(), .element = element };
	bpf_loop((stack->depth + STACK_HASH_STRIDE - 1) / STACK_HASH_STRIDE, stack_hash_step, &hashing, 0);
	return stack_hash_end(&hashing.state, stack);
}

/* Callbacks of bpf_loop() get the position in unwind_states as context. */
static long unwind_mapping_step(__u32 index, void *context)
{
	struct unwind_state *state = bpf_map_lookup_elem(&unwind_states, context);
	if (!state || state->low >= state->high)
		return 1;
	__u32 middle = state->low + (state->high - state->low) / 2;
	struct unwind_mapping *mapping = bpf_map_lookup_elem(&unwind_mappings, &middle);
	if (!mapping)
		return 1;
	if (state->address < mapping->start) {
		state->high = middle;
	} else if (state->address >= mapping->end) {
		state->low = middle + 1;
	} else {
		state->mapping = *mapping;
		return 1;
	}
	return 0;
}

static __always_inline bool unwind_is_in_mapping(const struct unwind_state *state, __u64 address)
{
	return address >= state->mapping.start && address < state->mapping.end;
}

/* Sets state->mapping to the mapping that contains an address. Returns false if there is none. */
static __always_inline bool unwind_find_mapping(struct unwind_state *state, void *context, __u64 address)
{
	if (unwind_is_in_mapping(state, address))
		return true;
	state->address = address;
	state->low = state->first;
	state->high = state->first + state->count;
	bpf_loop(UNWIND_MAPPING_STEPS, unwind_mapping_step, context, 0);
	return unwind_is_in_mapping(state, address);
}

static long unwind_block_step(__u32 index, void *context)
{
	struct unwind_state *state = bpf_map_lookup_elem(&unwind_states, context);
	if (!state || state->high - state->low <= 1)
		return 1;
	__u32 middle = state->low + (state->high - state->low) / 2;
	void *rows = bpf_map_lookup_elem(&unwind_rows, &state->table);
	const struct unwind_block *block = rows ? bpf_map_lookup_elem(rows, &middle) : NULL;
	if (!block)
		return 1;
	if (block->rows[0].offset <= state->offset)
		state->low = middle;
	else
		state->high = middle;
	return 0;
}

/* Returns 1 if a < b, for numbers below 2^31. It has no branch, since the verifier would follow both ways of each. */
static __always_inline __u32 unwind_is_less(__u32 a, __u32 b)
{
	__u32 difference = a - b;
	asm volatile("" : "+r"(difference));
	return difference >> 31;
}

/* Returns the position of the rule for an address in state->mapping; 0 if there is none. */
static __always_inline __u32 unwind_find_rule(struct unwind_state *state, void *context, __u64 address)
{
	__u64 place = address - state->mapping.bias;
	__u32 page = (__u32)((place >> IAPROF_UNWIND_PAGE_BITS) - state->mapping.first_page);
	__u32 offset = place & (IAPROF_UNWIND_PAGE_SIZE - 1);
	state->table = state->mapping.table;
	state->offset = offset;
	void *pages = bpf_map_lookup_elem(&unwind_pages, &state->table);
	void *rows = bpf_map_lookup_elem(&unwind_rows, &state->table);
	if (!pages || !rows || page >= state->mapping.page_count)
		return 0;
	page += state->mapping.position;
	const struct unwind_page *found = bpf_map_lookup_elem(pages, &page);
	if (!found || !found->count)
		return 0;
	__u32 first = found->first, end = found->first + found->count;

	/* Finds the last block of the page whose first row is not beyond the offset. */
	state->low = first / UNWIND_BLOCK_ROWS;
	state->high = (end - 1) / UNWIND_BLOCK_ROWS + 1;
	if (state->high - state->low > 1)
		bpf_loop(UNWIND_BLOCK_STEPS, unwind_block_step, context, 0);
	__u32 low = state->low;
	const struct unwind_block *block = bpf_map_lookup_elem(rows, &low);
	if (!block)
		return 0;
	__u32 position = low * UNWIND_BLOCK_ROWS;
	__u32 row = position < first ? first - position : 0;
	__u32 limit = end - position;
#pragma unroll
	for (__u32 step = UNWIND_BLOCK_ROWS / 2; step; step /= 2) {
		__u32 next = row + step;
		__u32 is_before = unwind_is_less(next, limit) & unwind_is_less(next, UNWIND_BLOCK_ROWS) &
				  unwind_is_less(block->rows[next % UNWIND_BLOCK_ROWS].offset, offset + 1);
		row += step * is_before;
	}
	return block->rows[row % UNWIND_BLOCK_ROWS].rule;
}

/* Asks user space for the mappings of a process, for later stacks. */
static __always_inline void unwind_ask(__u32 process, __u64 execution)
{
	struct unwind_question question = { .execution = execution, .process = process };
	bpf_ringbuf_output(&unwind_questions, &question, sizeof question, 0);
}

/* Adds an address to the stack. Returns false if there is no room, or if no user code can be there (python.h). */
static __always_inline bool unwind_push(struct unwind_state *state, const void *context, __u64 address)
{
	struct stack_addresses *stack = bpf_map_lookup_elem(&scratch, context);
	__u32 depth = state->depth;
	if (!stack || depth >= STACK_DEPTH_MAX) {
		state->end = UNWIND_TRUNCATED;
		return false;
	}
	if (address >> 63) {
		state->end = UNWIND_UNREADABLE;
		return false;
	}
	stack->addresses[depth] = address;
	state->depth = depth + 1;
	sip_add(&state->hash, address);
	return true;
}

#ifdef __TARGET_ARCH_x86
/* Compares one call with a uretprobe to the frame. Callback of bpf_loop(): returns 1 to end. */
static long unwind_return_step(__u32 index, void *context)
{
	struct unwind_state *state = bpf_map_lookup_elem(&unwind_states, context);
	if (!state || !state->returns)
		return 1;
	const struct return_instance___unwind *returns = state->returns;
	__u64 caller = BPF_CORE_READ(returns, stack) + sizeof(__u64);
	state->returns = BPF_CORE_READ(returns, next);
	if (caller - state->frame.registers.sp > (state->depth ? 0 : UNWIND_RETURN_PUSHED))
		return 0;
	state->frame.registers.pc = BPF_CORE_READ(returns, orig_ret_vaddr);
	state->frame.registers.sp = caller;
	state->frame.is_exact = !state->depth;
	return 1;
}

/*
 * Replaces an address in the page of uprobes and uretprobes, anybody's: that of a copied instruction by that of the
 * instruction, and that of the code of uretprobes by the return address that was there.
 */
static __always_inline void unwind_probed_address(struct unwind_state *state, void *context)
{
	struct task_struct___unwind *task = (void *)bpf_get_current_task();
	if (!bpf_core_field_exists(task->utask) || !bpf_core_field_exists(task->mm->uprobes_state))
		return;
	if (!state->is_probed) {
		state->is_probed = 1;
		state->probes_page = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
		state->returns = state->probes_page ? BPF_CORE_READ(task, utask, return_instances) : NULL;
	}
	if (!state->probes_page || state->frame.registers.pc - state->probes_page >= UNWIND_PROBES_PAGE)
		return;
	__u64 copy = BPF_CORE_READ(task, utask, xol_vaddr);
	if (!state->depth && state->frame.registers.pc - copy < UNWIND_INSTRUCTION_MAX) {
		state->frame.registers.pc += BPF_CORE_READ(task, utask, vaddr) - copy;
		return;
	}
	bpf_loop(UNWIND_RETURNS_MAX, unwind_return_step, context, 0);
}
#else
static __always_inline void unwind_probed_address(struct unwind_state *state, void *context)
{
}
#endif

/* Unwinds one frame. Callback of bpf_loop(): returns 1 to end. */
static long unwind_frame(__u32 index, void *context)
{
	struct unwind_state *state = bpf_map_lookup_elem(&unwind_states, context);
	if (!state)
		return 1;
	__u32 depth = state->depth;
	bool is_mapped = unwind_find_mapping(state, context, unwind_frame_address(&state->frame));
	if (!is_mapped || state->mapping.table == UNWIND_TABLE_FRAME_POINTERS) {
		unwind_probed_address(state, context);
		is_mapped = unwind_find_mapping(state, context, unwind_frame_address(&state->frame));
	}
	if (!unwind_push(state, context, unwind_frame_shown(&state->frame, depth)))
		return 1;
	if (!is_mapped) {
		state->end = UNWIND_UNKNOWN;
		return 1;
	}
	__u64 address = unwind_frame_address(&state->frame);
	__u32 position = 0;
	if (state->mapping.table != UNWIND_TABLE_FRAME_POINTERS) {
		position = unwind_find_rule(state, context, address);
		/* A system call at the end of a function: __restore_rt of the GNU C library. */
		if (!position && !depth)
			position = unwind_find_rule(state, context, address - 1);
	}
	struct iaprof_unwind_rule *rule = bpf_map_lookup_elem(&unwind_rules, &position);
	if (!rule)
		return 1;
	state->end = unwind_step(&state->frame, rule, NULL);
	bool continues = state->end == UNWIND_CONTINUES;
	state->ends[depth % STACK_DEPTH_MAX] = continues ? state->frame.registers.sp : 0;
	return !continues;
}

/* arch/x86/include/asm/segment.h: the code segment of 64-bit programs. */
#define UNWIND_USER_CS 0x33

/* Reads the registers with which the task entered the Linux kernel. Returns as unwind_registers_get(). */
static __always_inline bool unwind_registers_of_entry(struct unwind_registers *registers, struct task_struct *task)
{
	bpf_user_pt_regs_t *entry = (bpf_user_pt_regs_t *)bpf_task_pt_regs(task);
	__u64 segment = UNWIND_USER_CS;
	/* One at a time: Linux 6.1 counts the stacks of all functions together, and has 512 bytes for them. */
	if (bpf_probe_read_kernel(&registers->pc, sizeof registers->pc, &PT_REGS_IP(entry)) ||
	    bpf_probe_read_kernel(&registers->sp, sizeof registers->sp, &PT_REGS_SP(entry)) ||
	    bpf_probe_read_kernel(&registers->fp, sizeof registers->fp, &PT_REGS_FP(entry)))
		return false;
#ifdef __TARGET_ARCH_x86
	if (bpf_probe_read_kernel(&segment, sizeof segment, &entry->cs))
		return false;
#endif
	return segment == UNWIND_USER_CS;
}

/*
 * Reads the registers of the interrupted user code, or those with which the task entered the Linux kernel. Returns
 * false if they cannot be read, or if the program is a 32-bit one.
 */
static __always_inline bool unwind_registers_get(struct unwind_registers *registers, bpf_user_pt_regs_t *interrupted,
						 struct task_struct *task)
{
	__u64 segment = UNWIND_USER_CS;
	/* Addresses of the Linux kernel have the highest bit set. */
	if ((long)PT_REGS_IP(interrupted) < 0)
		return unwind_registers_of_entry(registers, task);
	registers->pc = PT_REGS_IP(interrupted);
	registers->sp = PT_REGS_SP(interrupted);
	registers->fp = PT_REGS_FP(interrupted);
#ifdef __TARGET_ARCH_x86
	segment = interrupted->cs;
#endif
	return segment == UNWIND_USER_CS;
}

/* Follows one link of a chain of frames. Callback of bpf_loop(): returns 1 to end. */
static long unwind_link(__u32 index, void *context)
{
	struct unwind_state *state = bpf_map_lookup_elem(&unwind_states, context);
	__u64 frame[2];
	if (!state || !state->frame.registers.fp)
		return 1;
	if (!unwind_read(NULL, state->frame.registers.fp, frame, sizeof frame)) {
		state->end = UNWIND_UNREADABLE;
		return 1;
	}
	if (!frame[1] || !unwind_push(state, context, frame[1]))
		return 1;
	state->frame.registers.fp = frame[0];
	return 0;
}

static __always_inline struct unwind_state *unwind_begin(__u32 *element, const struct unwind_registers *registers)
{
	struct unwind_state *state = bpf_map_lookup_elem(&unwind_states, element);
	if (!state)
		return NULL;
	__builtin_memset(state, 0, offsetof(struct unwind_state, ends));
	state->frame.registers = *registers;
	state->frame.is_exact = !registers->is_behind_call;
	state->frame.has_others = state->frame.is_exact && unwind_is_entry(registers);
	state->hash = sip_begin();
	state->begin = registers->sp;
	return state;
}

/* Returns why the stack ended. *hash: a hash of the addresses, not that of stack_hash(); 0 if the stack is empty. */
static __always_inline __u32 unwind_finish(struct unwind_state *state, struct stack_addresses *stack, __u64 *hash)
{
	stack->depth = state->depth;
	if (state->depth) {
		sip_add(&state->hash, state->depth);
		*hash = sip_end(&state->hash);
	}
	return state->end;
}

/*
 * Unwinds into this element of scratch. Returns as unwind_finish(). Global: the verifier checks such a function once,
 * not once for each state in which it is called.
 */
__attribute__((noinline)) __u32 unwind_stack(__u32 element, __u32 process, __u64 execution,
					     const struct unwind_registers *registers, __u64 *hash)
{
	struct unwind_process *known = bpf_map_lookup_elem(&unwind_processes, &process);
	struct stack_addresses *stack = bpf_map_lookup_elem(&scratch, &element);
	if (!registers || !hash || !stack)
		return UNWIND_UNKNOWN;
	*hash = 0;
	stack->depth = 0;
	/* In any case: Python frames are added to its hash. */
	struct unwind_state *state = unwind_begin(&element, registers);
	if (!state || !known || known->execution != execution)
		return UNWIND_UNKNOWN;
	state->first = known->first;
	state->count = known->count;
	bpf_loop(STACK_DEPTH_MAX + 1, unwind_frame, &element, 0);
	return unwind_finish(state, stack, hash);
}

/*
 * Unwinds a chain of frames to which the program has set its frame pointer. A frame is a pointer to the next one
 * and a return address. The chain can be anywhere in memory, and needs no tables.
 */
__attribute__((noinline)) __u32 unwind_chain(__u32 element, const struct unwind_registers *registers, __u64 *hash)
{
	struct stack_addresses *stack = bpf_map_lookup_elem(&scratch, &element);
	if (!registers || !hash || !stack)
		return UNWIND_UNKNOWN;
	*hash = 0;
	stack->depth = 0;
	struct unwind_state *state = unwind_begin(&element, registers);
	if (!state)
		return UNWIND_UNKNOWN;
	bpf_loop(STACK_DEPTH_MAX + 1, unwind_link, &element, 0);
	return unwind_finish(state, stack, hash);
}
