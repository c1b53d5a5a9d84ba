/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of send instructions: see message.h. Units and operations have the names that Intel's assembler prints; each
 * number was verified with libiga64. All names are static strings in tables.
 */
#include "message.h"

#include <stdbool.h>
#include <stddef.h>

#include "opcode.h"

/* Numbers of the supported shared functions (SFID). */
enum unit { UNIT_UGML = 1, UNIT_GATEWAY = 3, UNIT_TYPED = 13, UNIT_LOCAL = 14, UNIT_UNTYPED = 15, UNIT_COUNT = 16 };

#define OPERATION_COUNT 64
#define GATEWAY_COUNT 16

/* Operations of the load/store units: X(number, name); Xe3P reassigns some numbers and adds operations. */
#define OPERATIONS(X, text)                                                                                            \
	X(text, 0x00, "load")                                                                                          \
	X(text, 0x01, "load_strided")                                                                                  \
	X(text, 0x02, "load_quad")                                                                                     \
	X(text, 0x03, "load_block2d")                                                                                  \
	X(text, 0x04, "store")                                                                                         \
	X(text, 0x05, "store_strided")                                                                                 \
	X(text, 0x06, "store_quad")                                                                                    \
	X(text, 0x07, "store_block2d")                                                                                 \
	X(text, 0x08, "atomic_iinc")                                                                                   \
	X(text, 0x09, "atomic_idec")                                                                                   \
	X(text, 0x0a, "atomic_load")                                                                                   \
	X(text, 0x0b, "atomic_store")                                                                                  \
	X(text, 0x0c, "atomic_iadd")                                                                                   \
	X(text, 0x0d, "atomic_isub")                                                                                   \
	X(text, 0x0e, "atomic_smin")                                                                                   \
	X(text, 0x0f, "atomic_smax")                                                                                   \
	X(text, 0x10, "atomic_umin")                                                                                   \
	X(text, 0x11, "atomic_umax")                                                                                   \
	X(text, 0x12, "atomic_icas")                                                                                   \
	X(text, 0x13, "atomic_fadd")                                                                                   \
	X(text, 0x14, "atomic_fsub")                                                                                   \
	X(text, 0x15, "atomic_fmin")                                                                                   \
	X(text, 0x16, "atomic_fmax")                                                                                   \
	X(text, 0x17, "atomic_fcas")                                                                                   \
	X(text, 0x18, "atomic_and")                                                                                    \
	X(text, 0x19, "atomic_or")                                                                                     \
	X(text, 0x1a, "atomic_xor")                                                                                    \
	X(text, 0x1b, "load_status")                                                                                   \
	X(text, 0x1f, "fence")                                                                                         \
	X(text, 0x28, "atomic_acadd")                                                                                  \
	X(text, 0x29, "atomic_acsub")                                                                                  \
	X(text, 0x2a, "atomic_acstore")                                                                                \
	X(text, 0x31, "load_quad_msrt")                                                                                \
	X(text, 0x32, "store_quad_msrt")

#define OPERATIONS_TO_XE3(X, text)                                                                                     \
	X(text, 0x1c, "store_uncompressed")                                                                            \
	X(text, 0x1d, "ccs")                                                                                           \
	X(text, 0x1e, "read_state")                                                                                    \
	X(text, 0x20, "store_uncompressed_quad")

#define OPERATIONS_XE3P(X, text)                                                                                       \
	X(text, 0x1c, "load_quad_status")                                                                              \
	X(text, 0x1e, "read_state")                                                                                    \
	X(text, 0x21, "atomic_bfadd")                                                                                  \
	X(text, 0x22, "atomic_bfsub")                                                                                  \
	X(text, 0x23, "atomic_bfmin")                                                                                  \
	X(text, 0x24, "atomic_bfmax")                                                                                  \
	X(text, 0x25, "atomic_bfcas")

/* Operations of the gateway between the threads of a group: X(number, name). */
#define GATEWAY(X, text)                                                                                               \
	X(text, 0x0, "end_of_thread")                                                                                  \
	X(text, 0x4, "signal_barrier")

#define GATEWAY_TO_XE3(X, text)                                                                                        \
	X(text, 0x1, "signal_event")                                                                                   \
	X(text, 0x2, "monitor_event")                                                                                  \
	X(text, 0x3, "unmonitor_event")                                                                                \
	X(text, 0x6, "wait_event")

#define GATEWAY_XE3P(X, text)                                                                                          \
	X(text, 0x5, "signal_named_barrier")                                                                           \
	X(text, 0x8, "save_barrier")                                                                                   \
	X(text, 0x9, "restore_barrier")                                                                                \
	X(text, 0xa, "end_replay")                                                                                     \
	X(text, 0xb, "restore_stack")                                                                                  \
	X(text, 0xc, "system_barrier")

#define NAME(text, number, name) [number] = text " " name,

/* Names of one opcode: its units, and the operations of units whose operations are known. */
struct names {
	const char *opcode;
	const char *units[UNIT_COUNT];     /* from XeHPG on */
	const char *old_units[UNIT_COUNT]; /* different names of Xe and XeHP */
	const char *indirect[UNIT_COUNT];
	const char *gateway[GATEWAY_COUNT];
	const char *untyped[OPERATION_COUNT], *ugml[OPERATION_COUNT], *local[OPERATION_COUNT], *typed[OPERATION_COUNT];
};

#define UNITS(text, after)                                                                                             \
	{                                                                                                              \
		text ".null" after, text ".ugml" after, text ".smpl" after, text ".gtwy" after, text ".dc2" after,     \
			text ".rc" after, text ".urb" after, text ".btd" after, text ".rta" after, text ".dcro" after, \
			text ".dc0" after, text ".pixi" after, text ".dc1" after, text ".tgm" after,                   \
			text ".slm" after, text ".ugm" after                                                           \
	}

#define NAMES(text, gateway_, operations)                                                                              \
	{                                                                                                              \
		.opcode = text, .units = UNITS(text, ""),                                                              \
		.old_units = { [7] = text ".ts", [8] = text ".vme", [13] = text ".cre" },                              \
		.indirect = UNITS(text, " indirect"),                                                                  \
		.gateway = { GATEWAY(NAME, text ".gtwy") gateway_(NAME, text ".gtwy") },                               \
		.untyped = { OPERATIONS(NAME, text ".ugm") operations(NAME, text ".ugm") },                            \
		.ugml = { OPERATIONS(NAME, text ".ugml") operations(NAME, text ".ugml") },                             \
		.local = { OPERATIONS(NAME, text ".slm") operations(NAME, text ".slm") }, .typed = {                   \
			OPERATIONS(NAME, text ".tgm") operations(NAME, text ".tgm")                                    \
		}                                                                                                      \
	}

static const struct names names[] = {
	[GT_OPCODE_SEND - GT_OPCODE_SEND] = NAMES("send", GATEWAY_TO_XE3, OPERATIONS_TO_XE3),
	[GT_OPCODE_SENDC - GT_OPCODE_SEND] = NAMES("sendc", GATEWAY_TO_XE3, OPERATIONS_TO_XE3),
	[GT_OPCODE_SENDG - GT_OPCODE_SEND] = NAMES("sendg", GATEWAY_XE3P, OPERATIONS_XE3P),
	[GT_OPCODE_SENDGC - GT_OPCODE_SEND] = NAMES("sendgc", GATEWAY_XE3P, OPERATIONS_XE3P),
	[GT_OPCODE_SENDGX - GT_OPCODE_SEND] = NAMES("sendgx", GATEWAY_XE3P, OPERATIONS_XE3P),
	[GT_OPCODE_SENDGXC - GT_OPCODE_SEND] = NAMES("sendgxc", GATEWAY_XE3P, OPERATIONS_XE3P),
};

/* Xe and XeHP have no load/store units with operations of this form: their data port operations are not decoded. */
static const char *operation_name(const struct names *of, unsigned unit, uint32_t message, bool has_load_store)
{
	unsigned operation = message % OPERATION_COUNT;
	switch (unit) {
	case UNIT_GATEWAY:
		return of->gateway[message %
				   (of->opcode[4] == 'g' ? GATEWAY_COUNT : 8)]; /* sendg has one more bit of it */
	case UNIT_UGML:
		return has_load_store ? of->ugml[operation] : NULL;
	case UNIT_TYPED:
		return has_load_store ? of->typed[operation] : NULL;
	case UNIT_LOCAL:
		return has_load_store ? of->local[operation] : NULL;
	case UNIT_UNTYPED:
		return has_load_store ? of->untyped[operation] : NULL;
	default:
		return NULL;
	}
}

const char *gt_message_name(enum gt_generation generation, const struct gt_instruction *instruction)
{
	unsigned index = (unsigned)instruction->opcode - GT_OPCODE_SEND, unit = instruction->function % UNIT_COUNT;
	if (index >= sizeof names / sizeof names[0])
		return "send";
	const struct names *of = &names[index];
	bool has_load_store = generation >= GT_XE_HPG;
	if (!has_load_store) {
		if (unit == UNIT_UGML || unit == UNIT_LOCAL || unit == UNIT_UNTYPED)
			return of->opcode;
		if (of->old_units[unit])
			return of->old_units[unit];
	}
	if (instruction->flags & GT_INDIRECT_MESSAGE)
		return of->indirect[unit];
	const char *name = operation_name(of, unit, instruction->message, has_load_store);
	return name ? name : of->units[unit];
}
