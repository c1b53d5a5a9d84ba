/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executes call frame instructions (DWARF 5, 6.4.2) of a function in .eh_frame, only as far as unwind rules need them:
 * the CFA, the frame pointer and the return address. Each instruction is executed once, without allocations: libdw
 * executes a function's instructions again for each row. Parses hostile data, as unwind_table.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <iaprof/unwind.h>

/* DWARF register numbers of a machine. */
struct call_frame_registers {
	unsigned stack, frame, return_address;
	bool is_x86;
};

/* Where the caller's value of a register is. */
struct call_frame_value {
	uint8_t place; /* enum iaprof_unwind_register */
	int32_t offset;
};

struct call_frame_state {
	bool has_cfa;     /* register + offset */
	uint8_t cfa_rule; /* without has_cfa: enum iaprof_unwind_cfa and offset of an expression */
	int32_t cfa_rule_offset;
	uint64_t cfa_register;
	int64_t cfa_offset;
	struct call_frame_value frame, return_address;
};

/* Nested DW_CFA_remember_state. Compilers use one or two. */
#define CALL_FRAME_REMEMBERED_MAX 8u

/* What the functions of a CIE share. */
struct call_frame_common {
	const struct call_frame_registers *registers;
	uint64_t code_factor;
	int64_t data_factor;
	bool is_signal;
	struct call_frame_state initial; /* after the instructions of the CIE */
};

struct call_frame {
	const struct call_frame_common *common;
	const uint8_t *next, *end; /* instructions */
	uint64_t location;
	struct call_frame_state state;
	uint32_t remembered_count;
	struct call_frame_state remembered[CALL_FRAME_REMEMBERED_MAX];
};

/* Executes the instructions of a CIE. The caller sets all members but initial. Returns false if they are damaged. */
bool call_frame_prepare(struct call_frame_common *common, const uint8_t *instructions, const uint8_t *end);

/* Begins a function. */
void call_frame_begin(struct call_frame *frame, const struct call_frame_common *common, uint64_t start,
		      const uint8_t *instructions, const uint8_t *end);
/*
 * Executes the instructions for the next row, whose rule is *rule; *end is the address from which another one applies,
 * UINT64_MAX for the last row. Returns false if the instructions are damaged or not supported.
 */
bool call_frame_next(struct call_frame *frame, struct iaprof_unwind_rule *rule, uint64_t *end);

/* Reads an unsigned LEB128 number. Returns false if it is damaged. */
bool call_frame_read_number(const uint8_t **next, const uint8_t *end, uint64_t *number);
