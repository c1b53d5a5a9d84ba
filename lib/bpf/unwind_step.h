/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * One step of unwinding, from a frame to its caller. Included by unwind.bpf.h, which reads the memory of the running
 * task, and by unwind_copy.c, which reads a copy of it. Before including it, each defines
 *
 *     struct unwind_memory;
 *     bool unwind_read(const struct unwind_memory *memory, __u64 address, void *to, __u32 size); false: not readable
 *     bool unwind_other(const struct unwind_memory *memory, __u32 number, __u64 *value); false: not known
 *
 * The latter returns another register of the interrupted frame, by its DWARF number.
 */
#pragma once

#include <stdbool.h>
#include "bpf/unwind.h"

/* Inlined: a BPF program has 512 bytes for the stacks of all its functions. */
#define UNWIND_INLINE static inline __attribute__((always_inline))

struct unwind_frame {
	struct unwind_registers registers;
	__u32 is_exact;   /* pc is an interrupted instruction, not a return address */
	__u32 has_others; /* unwind_other() has the registers of the interrupted frame, from which this one was reached
			   */
};

/* Returns the address of the current instruction: the call, or the interrupted one. */
UNWIND_INLINE __u64 unwind_frame_address(const struct unwind_frame *frame)
{
	return frame->is_exact ? frame->registers.pc : frame->registers.pc - 1;
}

/* Returns the address to record: readers of stacks subtract 1 from each address but the first. */
UNWIND_INLINE __u64 unwind_frame_shown(const struct unwind_frame *frame, __u32 depth)
{
	return frame->registers.pc + (frame->is_exact && depth ? 1 : 0);
}

/* Moves to the caller by frame pointers. is_switched: it is on another stack, at a lower or higher address. */
UNWIND_INLINE __u32 unwind_by_frame_pointer(struct unwind_registers *registers, bool is_switched,
					    const struct unwind_memory *memory)
{
	__u64 saved[2];
	if (!registers->fp || (registers->fp < registers->sp && !is_switched) || registers->fp & 7 ||
	    !unwind_read(memory, registers->fp, saved, sizeof saved))
		return UNWIND_NO_RULE;
	registers->sp = registers->fp + sizeof saved;
	registers->fp = saved[0];
	registers->pc = saved[1];
	return UNWIND_CONTINUES;
}

/* Reads a value on the stack and adds to it: see IAPROF_UNWIND_CFA_FRAME_VALUE. */
UNWIND_INLINE bool unwind_value(__u64 base, __s32 offset, const struct unwind_memory *memory, __u64 *value)
{
	if (!unwind_read(memory, base + (__u64)(__s64)(__s16)offset, value, sizeof *value))
		return false;
	*value += (__u64)(__s64)(offset >> 16);
	return true;
}

UNWIND_INLINE bool unwind_cfa(const struct unwind_registers *registers, const struct iaprof_unwind_rule *rule,
			      const struct unwind_memory *memory, __u64 *cfa)
{
	__u64 offset = (__u64)(__s64)rule->cfa_offset;
	switch (rule->cfa) {
	case IAPROF_UNWIND_CFA_STACK:
		*cfa = registers->sp + offset;
		return true;
	case IAPROF_UNWIND_CFA_FRAME:
		*cfa = registers->fp + offset;
		return true;
	case IAPROF_UNWIND_CFA_STACK_VALUE:
		return unwind_value(registers->sp, rule->cfa_offset, memory, cfa);
	case IAPROF_UNWIND_CFA_FRAME_VALUE:
		return unwind_value(registers->fp, rule->cfa_offset, memory, cfa);
	case IAPROF_UNWIND_CFA_REGISTER:
		if (!unwind_other(memory, rule->cfa_offset & 0xffff, cfa))
			return false;
		*cfa += (__u64)(__s64)(rule->cfa_offset >> 16);
		return true;
	case IAPROF_UNWIND_CFA_INDEXED_VALUE:
		if (!unwind_other(memory, rule->cfa_offset & 15, cfa))
			return false;
		offset = (__u64)(__s64)((__s16)rule->cfa_offset >> 4);
		if (!unwind_read(memory, registers->sp + offset + 8 * *cfa, cfa, sizeof *cfa))
			return false;
		*cfa += (__u64)(__s64)(rule->cfa_offset >> 16);
		return true;
	default: /* IAPROF_UNWIND_CFA_PLT */
		*cfa = registers->sp + 8 + ((registers->pc & 15) >= offset ? 8 : 0);
		return true;
	}
}

/* Reads a register of the caller that is not IAPROF_UNWIND_SAME. */
UNWIND_INLINE bool unwind_register(const struct unwind_registers *registers, __u64 cfa, __u8 place, __s32 offset,
				   const struct unwind_memory *memory, __u64 *value)
{
	__u64 base = place == IAPROF_UNWIND_AT_CFA     ? cfa
		     : place == IAPROF_UNWIND_AT_FRAME ? registers->fp
						       : registers->sp;
	return unwind_read(memory, base + (__u64)(__s64)offset, value, sizeof *value);
}

/* Moves to the caller by a rule. */
UNWIND_INLINE __u32 unwind_by_rule(struct unwind_registers *registers, const struct iaprof_unwind_rule *rule,
				   const struct unwind_memory *memory)
{
	__u64 cfa, pc, fp = registers->fp;
	if (!unwind_cfa(registers, rule, memory, &cfa))
		return UNWIND_UNREADABLE;
	if (!unwind_register(registers, cfa, rule->return_address, rule->return_offset, memory, &pc))
		return UNWIND_UNREADABLE;
	bool is_saved = rule->frame == IAPROF_UNWIND_AT_CFA || rule->frame == IAPROF_UNWIND_AT_FRAME ||
			rule->frame == IAPROF_UNWIND_AT_STACK;
	if (is_saved && !unwind_register(registers, cfa, rule->frame, rule->frame_offset, memory, &fp))
		return UNWIND_UNREADABLE;
	/* A caller's frame is at a higher address, except that of a signal handler with a stack of its own. */
	if (cfa <= registers->sp && !(rule->flags & IAPROF_UNWIND_SIGNAL_FRAME))
		return UNWIND_UNREADABLE;
	registers->pc = pc;
	registers->sp = cfa;
	registers->fp = fp;
	return UNWIND_CONTINUES;
}

/* Registers that functions save, by DWARF number: they can be others in callers (System V ABI, AMD64, 3.2.1). */
#define UNWIND_SAVED_REGISTERS (1u << 3 | 1u << 12 | 1u << 13 | 1u << 14 | 1u << 15)

/*
 * Returns whether the rule's registers are known. Code that needs another register behind a call relies on that the
 * callee has not changed it.
 */
UNWIND_INLINE bool unwind_can_apply(const struct unwind_frame *frame, const struct iaprof_unwind_rule *rule)
{
	if (rule->cfa != IAPROF_UNWIND_CFA_REGISTER && rule->cfa != IAPROF_UNWIND_CFA_INDEXED_VALUE)
		return true;
	return frame->has_others && (frame->is_exact || !(UNWIND_SAVED_REGISTERS >> (rule->cfa_offset & 15) & 1));
}

/* Moves to the caller. Returns UNWIND_CONTINUES, or why the stack ends. */
UNWIND_INLINE __u32 unwind_step(struct unwind_frame *frame, const struct iaprof_unwind_rule *rule,
				const struct unwind_memory *memory)
{
	bool is_switched = rule->cfa == IAPROF_UNWIND_CFA_SWITCHED;
	bool has_rule = rule->cfa != IAPROF_UNWIND_CFA_NONE && !is_switched;
	if (rule->cfa == IAPROF_UNWIND_CFA_END)
		return UNWIND_COMPLETE;
	/*
	 * The frame pointer of the outermost frame is 0 (System V ABI, AMD64), as in goroutines and in the dynamic
	 * linker's _start. In a leaf function, the register may contain anything.
	 */
	if (!has_rule && !frame->is_exact && !frame->registers.fp)
		return UNWIND_COMPLETE;
	if (!unwind_can_apply(frame, rule))
		return UNWIND_NO_RULE;
	frame->is_exact = has_rule && rule->flags & IAPROF_UNWIND_SIGNAL_FRAME;
	if (frame->is_exact)
		frame->has_others = 0;
	return has_rule ? unwind_by_rule(&frame->registers, rule, memory)
			: unwind_by_frame_pointer(&frame->registers, is_switched, memory);
}
