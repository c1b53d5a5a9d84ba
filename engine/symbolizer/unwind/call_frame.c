/* SPDX-License-Identifier: Apache-2.0 */
/* See call_frame.h. */
#include "symbolizer/unwind/call_frame.h"

#include <dwarf.h>
#include <stddef.h>
#include <string.h>

/* The operand is in the opcode. */
#define OPCODE_MASK 0xc0
#define OPERAND_MASK 0x3f

bool call_frame_read_number(const uint8_t **next, const uint8_t *end, uint64_t *number)
{
	*number = 0;
	for (unsigned shift = 0; *next < end; shift += 7) {
		uint8_t byte = *(*next)++;
		if (shift < 64)
			*number |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

static bool read_signed(const uint8_t **next, const uint8_t *end, int64_t *number)
{
	uint64_t value = 0;
	for (unsigned shift = 0; *next < end;) {
		uint8_t byte = *(*next)++;
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (byte & 0x80)
			continue;
		if (shift < 64 && byte & 0x40)
			value |= UINT64_MAX << shift;
		*number = (int64_t)value;
		return true;
	}
	return false;
}

static bool read_fixed(const uint8_t **next, const uint8_t *end, size_t size, uint64_t *number)
{
	*number = 0;
	if ((size_t)(end - *next) < size)
		return false;
	memcpy(number, *next, size); /* little-endian: see unwind_table.c */
	*next += size;
	return true;
}

static bool read_block(const uint8_t **next, const uint8_t *end, const uint8_t **block, uint64_t *size)
{
	if (!call_frame_read_number(next, end, size) || *size > (uint64_t)(end - *next))
		return false;
	*block = *next;
	*next += *size;
	return true;
}

/* Expressions. */

/* Reads an operation of the form "register + offset". Returns false for any other one. */
static bool read_register(const uint8_t **next, const uint8_t *end, uint64_t *number, int64_t *offset)
{
	if (*next >= end)
		return false;
	uint8_t opcode = *(*next)++;
	if (opcode >= DW_OP_breg0 && opcode <= DW_OP_breg31)
		*number = opcode - DW_OP_breg0;
	else if (opcode != DW_OP_bregx || !call_frame_read_number(next, end, number))
		return false;
	return read_signed(next, end, offset) && *offset >= INT32_MIN && *offset <= INT32_MAX;
}

/*
 * Recognizes GNU ld's expression for the PLT of x86-64: rsp + 8 + ((rip & 15) >= N) * 8, where N is the offset of the
 * end of an entry's push. Returns N, or 0 for any other expression.
 */
static int32_t plt_expression(const uint8_t *block, uint64_t size)
{
	static const uint8_t before[] = { DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and };
	static const uint8_t after[] = { DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus };
	if (size != sizeof before + 1 + sizeof after || memcmp(block, before, sizeof before) != 0 ||
	    memcmp(block + sizeof before + 1, after, sizeof after) != 0)
		return 0;
	uint8_t literal = block[sizeof before];
	return literal > DW_OP_lit0 && literal <= DW_OP_lit15 ? literal - DW_OP_lit0 : 0;
}

/*
 * Reads the end of an expression: nothing, or a dereference and perhaps an addend. Combines offset and addend as
 * IAPROF_UNWIND_CFA_FRAME_VALUE has them. Returns false for any other end.
 */
static bool read_value(const uint8_t *next, const uint8_t *end, int64_t *offset, bool *is_value)
{
	uint64_t addend = 0;
	*is_value = next < end && *next == DW_OP_deref;
	if (!*is_value)
		return next == end;
	next++;
	if (next < end && (*next++ != DW_OP_plus_uconst || !call_frame_read_number(&next, end, &addend)))
		return false;
	if (next != end || addend > INT16_MAX || *offset < INT16_MIN || *offset > INT16_MAX)
		return false;
	*offset = (int32_t)((uint32_t)addend << 16 | (uint16_t)*offset);
	return true;
}

/*
 * Recognizes the expression of OpenSSL's bn_mul_mont(): the value at rsp + offset + 8 * register, plus an addend.
 * Returns it as IAPROF_UNWIND_CFA_INDEXED_VALUE has it, 0 for any other expression.
 */
static int32_t indexed_expression(const uint8_t *block, uint64_t size)
{
	static const uint8_t index[] = { DW_OP_lit8, DW_OP_mul, DW_OP_plus };
	const uint8_t *next = block, *end = block + size;
	uint64_t base, number;
	int64_t offset, none;
	bool is_value;
	if (!read_register(&next, end, &base, &offset) || base != 7 || offset < -2048 || offset > 2047 ||
	    !read_register(&next, end, &number, &none) || number > 15 || none || (size_t)(end - next) < sizeof index ||
	    memcmp(next, index, sizeof index) != 0)
		return 0;
	offset = offset * 16 | (int64_t)number;
	return read_value(next + sizeof index, end, &offset, &is_value) && is_value ? (int32_t)offset : 0;
}

static void set_cfa_expression(struct call_frame_state *state, const struct call_frame_registers *registers,
			       const uint8_t *block, uint64_t size)
{
	const uint8_t *next = block, *end = block + size;
	uint64_t number;
	int64_t offset;
	int32_t plt = registers->is_x86 ? plt_expression(block, size) : 0;
	int32_t indexed = registers->is_x86 ? indexed_expression(block, size) : 0;
	state->has_cfa = false;
	state->cfa_rule = plt       ? IAPROF_UNWIND_CFA_PLT
			  : indexed ? IAPROF_UNWIND_CFA_INDEXED_VALUE
				    : IAPROF_UNWIND_CFA_NONE;
	state->cfa_rule_offset = plt | indexed;
	if (plt || indexed || !read_register(&next, end, &number, &offset))
		return;
	bool is_value;
	if (!read_value(next, end, &offset, &is_value))
		return;
	if (number == registers->stack)
		state->cfa_rule = is_value ? IAPROF_UNWIND_CFA_STACK_VALUE : IAPROF_UNWIND_CFA_STACK;
	else if (number == registers->frame)
		state->cfa_rule = is_value ? IAPROF_UNWIND_CFA_FRAME_VALUE : IAPROF_UNWIND_CFA_FRAME;
	state->cfa_rule_offset = state->cfa_rule ? (int32_t)offset : 0;
}

/* Returns where an expression has the value of a register. */
static struct call_frame_value value_at(const struct call_frame_registers *registers, const uint8_t *block,
					uint64_t size)
{
	const uint8_t *next = block, *end = block + size;
	uint64_t number;
	int64_t offset;
	if (!read_register(&next, end, &number, &offset) || next != end ||
	    (number != registers->frame && number != registers->stack))
		return (struct call_frame_value){ .place = IAPROF_UNWIND_IN_OTHER };
	return (struct call_frame_value){ .place = number == registers->frame ? IAPROF_UNWIND_AT_FRAME
									      : IAPROF_UNWIND_AT_STACK,
					  .offset = (int32_t)offset };
}

/* Registers. */

static struct call_frame_value *find_value(struct call_frame *frame, uint64_t number)
{
	const struct call_frame_registers *registers = frame->common->registers;
	return number == registers->frame            ? &frame->state.frame
	       : number == registers->return_address ? &frame->state.return_address
						     : NULL;
}

static void set_value(struct call_frame *frame, uint64_t number, struct call_frame_value value)
{
	struct call_frame_value *place = find_value(frame, number);
	if (place)
		*place = value;
}

static void set_place(struct call_frame *frame, uint64_t number, uint8_t place)
{
	set_value(frame, number, (struct call_frame_value){ .place = place });
}

/* Sets a register that is saved at an offset from the CFA. */
static void set_offset(struct call_frame *frame, uint64_t number, int64_t factored)
{
	int64_t offset;
	if (__builtin_mul_overflow(factored, frame->common->data_factor, &offset) || offset < INT32_MIN ||
	    offset > INT32_MAX)
		return set_place(frame, number, IAPROF_UNWIND_IN_OTHER);
	set_value(frame, number, (struct call_frame_value){ .place = IAPROF_UNWIND_AT_CFA, .offset = (int32_t)offset });
}

static void restore(struct call_frame *frame, uint64_t number)
{
	const struct call_frame_registers *registers = frame->common->registers;
	set_value(frame, number,
		  number == registers->frame ? frame->common->initial.frame : frame->common->initial.return_address);
}

static bool set_cfa(struct call_frame *frame, uint64_t number, int64_t offset)
{
	frame->state.has_cfa = true;
	frame->state.cfa_register = number;
	frame->state.cfa_offset = offset;
	return true;
}

/* Executes one of the instructions that define the CFA. Returns false if it is damaged. */
static bool define_cfa(struct call_frame *frame, uint8_t opcode)
{
	struct call_frame_state *state = &frame->state;
	const uint8_t *block;
	uint64_t number = state->cfa_register, size, offset = (uint64_t)state->cfa_offset;
	int64_t factored;
	if (opcode == DW_CFA_def_cfa_expression) {
		if (!read_block(&frame->next, frame->end, &block, &size))
			return false;
		set_cfa_expression(state, frame->common->registers, block, size);
		return true;
	}
	bool has_register = opcode != DW_CFA_def_cfa_offset && opcode != DW_CFA_def_cfa_offset_sf;
	bool is_whole = opcode == DW_CFA_def_cfa || opcode == DW_CFA_def_cfa_sf;
	if ((!is_whole && !state->has_cfa) ||
	    (has_register && !call_frame_read_number(&frame->next, frame->end, &number)))
		return false;
	if (opcode == DW_CFA_def_cfa || opcode == DW_CFA_def_cfa_offset)
		return call_frame_read_number(&frame->next, frame->end, &offset) &&
		       set_cfa(frame, number, (int64_t)offset);
	if (opcode == DW_CFA_def_cfa_register)
		return set_cfa(frame, number, state->cfa_offset);
	if (!read_signed(&frame->next, frame->end, &factored) ||
	    __builtin_mul_overflow(factored, frame->common->data_factor, &factored))
		return false;
	return set_cfa(frame, number, factored);
}

/* Executes one of the instructions that define a register. Returns false if it is damaged. */
static bool define_register(struct call_frame *frame, uint8_t opcode)
{
	const uint8_t *block, **next = &frame->next, *end = frame->end;
	uint64_t number, value = 0;
	int64_t factored = 0;
	if (!call_frame_read_number(next, end, &number))
		return false;
	switch (opcode) {
	case DW_CFA_undefined:
		set_place(frame, number, IAPROF_UNWIND_UNDEFINED);
		return true;
	case DW_CFA_same_value:
		set_place(frame, number, IAPROF_UNWIND_SAME);
		return true;
	case DW_CFA_restore_extended:
		restore(frame, number);
		return true;
	case DW_CFA_offset_extended:
	case DW_CFA_GNU_negative_offset_extended:
		if (!call_frame_read_number(next, end, &value))
			return false;
		set_offset(frame, number, opcode == DW_CFA_offset_extended ? (int64_t)value : (int64_t)(0 - value));
		return true;
	case DW_CFA_offset_extended_sf:
		if (!read_signed(next, end, &factored))
			return false;
		set_offset(frame, number, factored);
		return true;
	case DW_CFA_expression:
		if (!read_block(next, end, &block, &value))
			return false;
		set_value(frame, number, value_at(frame->common->registers, block, value));
		return true;
	case DW_CFA_val_expression:
		set_place(frame, number, IAPROF_UNWIND_IN_OTHER);
		return read_block(next, end, &block, &value);
	case DW_CFA_register:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf: /* the number is not used, only its length */
		set_place(frame, number, IAPROF_UNWIND_IN_OTHER);
		return call_frame_read_number(next, end, &value);
	default:
		return false;
	}
}

static bool remember(struct call_frame *frame)
{
	if (frame->remembered_count >= CALL_FRAME_REMEMBERED_MAX)
		return false;
	frame->remembered[frame->remembered_count++] = frame->state;
	return true;
}

static bool recall(struct call_frame *frame)
{
	if (!frame->remembered_count)
		return false;
	frame->state = frame->remembered[--frame->remembered_count];
	return true;
}

/* Instructions. */

/* Reads the operand of an instruction that advances the location. Returns false if it is another one, or damaged. */
static bool read_advance(struct call_frame *frame, uint8_t opcode, uint64_t *delta)
{
	size_t size = opcode == DW_CFA_advance_loc1        ? 1
		      : opcode == DW_CFA_advance_loc2      ? 2
		      : opcode == DW_CFA_advance_loc4      ? 4
		      : opcode == DW_CFA_MIPS_advance_loc8 ? 8
							   : 0;
	*delta = opcode & OPERAND_MASK;
	return (opcode & OPCODE_MASK) == DW_CFA_advance_loc ||
	       (size && read_fixed(&frame->next, frame->end, size, delta));
}

/* Executes an instruction that does not advance the location. Returns false if it is damaged or not supported. */
static bool execute(struct call_frame *frame, uint8_t opcode)
{
	uint64_t number = opcode & OPERAND_MASK, offset;
	if ((opcode & OPCODE_MASK) == DW_CFA_restore) {
		restore(frame, number);
		return true;
	}
	if ((opcode & OPCODE_MASK) == DW_CFA_offset) {
		if (!call_frame_read_number(&frame->next, frame->end, &offset))
			return false;
		set_offset(frame, number, (int64_t)offset);
		return true;
	}
	switch (opcode) {
	case DW_CFA_nop:
		return true;
	case DW_CFA_remember_state:
		return remember(frame);
	case DW_CFA_restore_state:
		return recall(frame);
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
	case DW_CFA_def_cfa_register:
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
	case DW_CFA_def_cfa_expression:
		return define_cfa(frame, opcode);
	case DW_CFA_GNU_args_size:
		return call_frame_read_number(&frame->next, frame->end, &offset);
	case DW_CFA_AARCH64_negate_ra_state: /* the signature of a return address: see unwind_step.h */
		return !frame->common->registers->is_x86;
	default:
		return define_register(frame, opcode);
	}
}

bool call_frame_prepare(struct call_frame_common *common, const uint8_t *instructions, const uint8_t *end)
{
	/* The ABI's defaults: registers of the caller are the same. On aarch64, the CFA is the stack pointer. */
	common->initial = (struct call_frame_state){ .has_cfa = !common->registers->is_x86,
						     .cfa_register = common->registers->stack };
	struct call_frame frame = { .common = common, .next = instructions, .end = end, .state = common->initial };
	while (frame.next < frame.end)
		if (!execute(&frame, *frame.next++))
			return false;
	common->initial = frame.state;
	return true;
}

void call_frame_begin(struct call_frame *frame, const struct call_frame_common *common, uint64_t start,
		      const uint8_t *instructions, const uint8_t *end)
{
	frame->common = common;
	frame->next = instructions;
	frame->end = end;
	frame->location = start;
	frame->state = common->initial;
	frame->remembered_count = 0;
}

/* Sets the CFA to a register and an offset. */
static void set_cfa_register(struct iaprof_unwind_rule *rule, const struct call_frame_registers *registers,
			     const struct call_frame_state *state)
{
	int64_t offset = state->cfa_offset;
	uint64_t number = state->cfa_register;
	bool is_other = number != registers->stack && number != registers->frame;
	if (is_other && registers->is_x86 && number < 16 && offset >= INT16_MIN && offset <= INT16_MAX) {
		rule->cfa = IAPROF_UNWIND_CFA_REGISTER;
		rule->cfa_offset = (int32_t)((uint32_t)offset << 16 | (uint32_t)number);
	} else if (!is_other && offset >= INT32_MIN && offset <= INT32_MAX) {
		rule->cfa = number == registers->stack ? IAPROF_UNWIND_CFA_STACK : IAPROF_UNWIND_CFA_FRAME;
		rule->cfa_offset = (int32_t)offset;
	} else {
		rule->cfa = IAPROF_UNWIND_CFA_NONE;
	}
}

static struct iaprof_unwind_rule rule_of(const struct call_frame *frame)
{
	static const struct iaprof_unwind_rule none;
	const struct call_frame_registers *registers = frame->common->registers;
	const struct call_frame_state *state = &frame->state;
	struct iaprof_unwind_rule rule = { .flags = frame->common->is_signal ? IAPROF_UNWIND_SIGNAL_FRAME : 0,
					   .cfa = state->cfa_rule,
					   .cfa_offset = state->cfa_rule_offset,
					   .frame = state->frame.place,
					   .frame_offset = state->frame.offset,
					   .return_address = state->return_address.place,
					   .return_offset = state->return_address.offset };
	if (rule.return_address == IAPROF_UNWIND_UNDEFINED)
		return (struct iaprof_unwind_rule){ .cfa = IAPROF_UNWIND_CFA_END };
	if (state->has_cfa)
		set_cfa_register(&rule, registers, state);
	bool is_usable = rule.return_address != IAPROF_UNWIND_IN_OTHER &&
			 (rule.return_address != IAPROF_UNWIND_SAME || !registers->is_x86);
	return rule.cfa && is_usable ? rule : none;
}

bool call_frame_next(struct call_frame *frame, struct iaprof_unwind_rule *rule, uint64_t *end)
{
	while (frame->next < frame->end) {
		uint8_t opcode = *frame->next++;
		uint64_t delta;
		bool advances = (opcode & OPCODE_MASK) == DW_CFA_advance_loc || opcode == DW_CFA_advance_loc1 ||
				opcode == DW_CFA_advance_loc2 || opcode == DW_CFA_advance_loc4 ||
				opcode == DW_CFA_MIPS_advance_loc8;
		if (!advances) {
			if (!execute(frame, opcode))
				return false;
			continue;
		}
		if (!read_advance(frame, opcode, &delta) ||
		    __builtin_mul_overflow(delta, frame->common->code_factor, &delta) ||
		    __builtin_add_overflow(frame->location, delta, &frame->location))
			return false;
		if (!delta)
			continue;
		*rule = rule_of(frame);
		*end = frame->location;
		return true;
	}
	*rule = rule_of(frame);
	*end = UINT64_MAX;
	return true;
}
