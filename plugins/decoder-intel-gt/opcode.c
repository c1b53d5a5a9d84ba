/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The opcodes of each generation: see opcode.h. Numbers and sets are those of Intel's assembler
 * (intel-graphics-compiler, visa/iga/IGALibrary/Models), without those that libiga64 does not decode for a generation;
 * the opcodes with an 8-byte form were determined by letting it decode each of them.
 */
#include "opcode.h"

#include <stddef.h>

#define NONE 0
#define XE3P GT_SET(GT_XE3P)
#define XE_HPC_TO_XE3 (GT_SET(GT_XE_HPC) | GT_SET(GT_XE2) | GT_SET(GT_XE3))
#define XE_HP_AND_HPG (GT_SET(GT_XE_HP) | GT_SET(GT_XE_HPG))
#define FROM_XE_HPC (XE_HPC_TO_XE3 | XE3P)
#define FROM_XE_HP (XE_HP_AND_HPG | FROM_XE_HPC)
#define ALL (GT_SET(GT_XE) | FROM_XE_HP)
#define TO_XE3 (ALL & ~XE3P)
#define TO_XE2 (TO_XE3 & ~GT_SET(GT_XE3))

/* opcode, mnemonic, group, form, generations that have it, generations that have an 8-byte form of it */
#define OPCODE(number, mnemonic_, group_, form_, generations_, compacted_)                                             \
	[number] = { mnemonic_, GT_GROUP_##group_, GT_FORM_##form_, generations_, compacted_ }

static const struct gt_opcode opcodes[GT_OPCODE_COUNT] = {
	OPCODE(0x00, "illegal", ALU, PLAIN, ALL, NONE),
	OPCODE(0x01, "sync", SYNC, SYNC, ALL, ALL),
	OPCODE(0x20, "jmpi", CONTROL, BRANCH, ALL, NONE),
	OPCODE(0x21, "brd", CONTROL, BRANCH, TO_XE2, NONE),
	OPCODE(0x22, "if", CONTROL, FORK, ALL, NONE),
	OPCODE(0x23, "brc", CONTROL, FORK, TO_XE2, NONE),
	OPCODE(0x24, "else", CONTROL, FORK, ALL, NONE),
	OPCODE(0x25, "endif", CONTROL, BRANCH, ALL, NONE),
	OPCODE(0x27, "while", CONTROL, BRANCH, ALL, NONE),
	OPCODE(0x28, "break", CONTROL, FORK, ALL, NONE),
	OPCODE(0x29, "cont", CONTROL, FORK, ALL, NONE),
	OPCODE(0x2a, "halt", CONTROL, FORK, ALL, NONE),
	OPCODE(0x2b, "calla", CONTROL, BRANCH, ALL, NONE),
	OPCODE(0x2c, "call", CONTROL, BRANCH, ALL, NONE),
	OPCODE(0x2d, "ret", CONTROL, RETURN, ALL, NONE),
	OPCODE(0x2e, "goto", CONTROL, FORK, ALL, NONE),
	OPCODE(0x2f, "join", CONTROL, BRANCH, ALL, NONE),
	OPCODE(0x31, "send", MEMORY, SEND, ALL, NONE),
	OPCODE(0x32, "sendc", MEMORY, SEND, ALL, NONE),
	OPCODE(0x33, "sendg", MEMORY, SENDG, XE3P, NONE),
	OPCODE(0x34, "sendgc", MEMORY, SENDG, XE3P, NONE),
	OPCODE(0x35, "sendgx", MEMORY, SENDG, XE3P, NONE),
	OPCODE(0x36, "sendgxc", MEMORY, SENDG, XE3P, NONE),
	OPCODE(0x38, "math", MATH, MATH, ALL, NONE),
	OPCODE(0x39, "lfsr", ALU, BINARY, XE3P, XE3P),
	OPCODE(0x40, "add", ALU, BINARY, ALL, ALL),
	OPCODE(0x41, "mul", ALU, BINARY, ALL, ALL),
	OPCODE(0x42, "avg", ALU, BINARY, ALL, ALL),
	OPCODE(0x43, "frc", ALU, UNARY, ALL, ALL),
	OPCODE(0x44, "rndu", ALU, UNARY, ALL, ALL),
	OPCODE(0x45, "rndd", ALU, UNARY, ALL, ALL),
	OPCODE(0x46, "rnde", ALU, UNARY, ALL, ALL),
	OPCODE(0x47, "rndz", ALU, UNARY, ALL, ALL),
	OPCODE(0x48, "mac", ALU, BINARY, TO_XE3, TO_XE3),
	OPCODE(0x49, "mach", ALU, BINARY, TO_XE3, TO_XE3),
	OPCODE(0x4a, "lzd", ALU, UNARY, ALL, ALL),
	OPCODE(0x4b, "fbh", ALU, UNARY, ALL, ALL),
	OPCODE(0x4c, "fbl", ALU, UNARY, ALL, ALL),
	OPCODE(0x4d, "cbit", ALU, UNARY, ALL, ALL),
	OPCODE(0x4e, "addc", ALU, BINARY, ALL, ALL),
	OPCODE(0x4f, "subb", ALU, BINARY, ALL, ALL),
	OPCODE(0x50, "shfl", ALU, BINARY, XE3P, NONE),
	OPCODE(0x52, "add3", ALU, TERNARY, FROM_XE_HP, FROM_XE_HP),
	OPCODE(0x53, "macl", ALU, BINARY, XE_HPC_TO_XE3, XE_HPC_TO_XE3),
	OPCODE(0x54, "srnd", ALU, BINARY, FROM_XE_HPC, XE3P),
	OPCODE(0x55, "dnscl", ALU, TERNARY, XE3P, XE3P),
	OPCODE(0x58, "dp4a", ALU, TERNARY, ALL, ALL),
	OPCODE(0x59, "dpas", MATRIX, MATRIX, FROM_XE_HP, FROM_XE_HP),
	OPCODE(0x5a, "dpasw", MATRIX, MATRIX, XE_HP_AND_HPG, XE_HP_AND_HPG),
	OPCODE(0x5b, "mad", ALU, TERNARY, ALL, ALL),
	OPCODE(0x5c, "bdpas", MATRIX, MATRIX, XE3P, NONE),
	OPCODE(0x5d, "madm", ALU, TERNARY, FROM_XE_HP, FROM_XE_HPC),
	OPCODE(0x5f, "mullh", ALU, BINARY, XE3P, XE3P),
	OPCODE(0x60, "nop", ALU, PLAIN, ALL, NONE),
	OPCODE(0x61, "mov", ALU, UNARY, ALL, ALL),
	OPCODE(0x62, "sel", ALU, BINARY, ALL, ALL),
	OPCODE(0x63, "movi", ALU, UNARY, ALL, ALL),
	OPCODE(0x64, "not", ALU, UNARY, ALL, ALL),
	OPCODE(0x65, "and", ALU, BINARY, ALL, ALL),
	OPCODE(0x66, "or", ALU, BINARY, ALL, ALL),
	OPCODE(0x67, "xor", ALU, BINARY, ALL, ALL),
	OPCODE(0x68, "shr", ALU, BINARY, ALL, ALL),
	OPCODE(0x69, "shl", ALU, BINARY, ALL, ALL),
	OPCODE(0x6b, "bfn", ALU, TERNARY, FROM_XE_HP, FROM_XE_HP),
	OPCODE(0x6c, "asr", ALU, BINARY, ALL, ALL),
	OPCODE(0x6e, "ror", ALU, BINARY, ALL, ALL),
	OPCODE(0x6f, "rol", ALU, BINARY, ALL, ALL),
	OPCODE(0x70, "cmp", ALU, BINARY, ALL, ALL),
	OPCODE(0x71, "cmpn", ALU, BINARY, ALL, ALL),
	OPCODE(0x72, "csel", ALU, TERNARY, ALL, ALL),
	OPCODE(0x77, "bfrev", ALU, UNARY, ALL, ALL),
	OPCODE(0x78, "bfe", ALU, TERNARY, ALL, ALL),
	OPCODE(0x79, "bfi1", ALU, BINARY, ALL, ALL),
	OPCODE(0x7a, "bfi2", ALU, TERNARY, ALL, ALL),
};

const struct gt_opcode *gt_opcode_find(enum gt_generation generation, unsigned opcode)
{
	if (opcode >= GT_OPCODE_COUNT || (unsigned)generation >= GT_GENERATION_COUNT ||
	    !(opcodes[opcode].generations & GT_SET(generation)))
		return NULL;
	return &opcodes[opcode];
}
