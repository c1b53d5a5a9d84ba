/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decodes one instruction of a kernel: see instruction.h. The positions of the fields were determined by flipping each
 * bit of assembled instructions of each generation and letting libiga64 disassemble the result.
 */
#include "instruction.h"

#include <errno.h>
#include <stdbool.h>

#include "compaction.h"
#include "message.h"
#include "opcode.h"

/* The 16 bytes, or the 8 bytes of the short form followed by zeros; little-endian like the GPU. */
struct words {
	uint64_t low, high;
};

static uint64_t read_word(const unsigned char *bytes)
{
	uint64_t word = 0;
	for (unsigned i = 0; i < sizeof word; i++)
		word |= (uint64_t)bytes[i] << 8 * i;
	return word;
}

static uint32_t field(uint64_t word, unsigned first, unsigned count)
{
	return (uint32_t)(word >> first & (((uint64_t)1 << count) - 1));
}

static enum gt_scoreboard_class scoreboard_class(enum gt_form form)
{
	switch (form) {
	case GT_FORM_MATH:
		return GT_SCOREBOARD_MATH;
	case GT_FORM_SEND:
	case GT_FORM_SENDG:
		return GT_SCOREBOARD_SEND;
	case GT_FORM_MATRIX:
		return GT_SCOREBOARD_MATRIX;
	default:
		return GT_SCOREBOARD_ORDERED;
	}
}

/* Execution size, first channel, predicate and mask of the 16-byte form. */
static void read_control(enum gt_generation generation, uint64_t word, struct gt_instruction *instruction)
{
	bool narrow = generation < GT_XE_HPC; /* 8 scoreboard bits, so these fields are at lower positions */
	unsigned size = field(word, narrow ? 16 : 18, 3);
	instruction->execution_size = size <= 5 ? (uint8_t)(1u << size) : 0;
	instruction->channel_offset = (uint8_t)(narrow ? field(word, 19, 3) * 4 : field(word, 24, 2) * 8);
	if (narrow ? field(word, 24, 4) : field(word, 26, 2))
		instruction->flags |= GT_PREDICATED | (field(word, 28, 1) ? GT_INVERTED : 0);
	if (field(word, 31, 1))
		instruction->flags |= GT_NO_MASK;
}

/* Types of the 16-byte form: size in the low two bits, bit 3 for floats; the ternary form has one such bit for all. */
static uint8_t type_pipe(unsigned size, bool is_float)
{
	if (!is_float)
		return GT_PIPE_INTEGER;
	return size == 3 ? GT_PIPE_LONG : GT_PIPE_FLOAT;
}

/* Writes to the scalar register (number 6 of the architecture registers), introduced with Xe3, have their own pipe. */
static bool is_scalar(enum gt_generation generation, bool to_architecture, unsigned register_byte)
{
	return generation >= GT_XE3 && to_architecture && register_byte >> 4 == 6;
}

/* The pipe for each type, determined from the waits that libiga64 inserts after each opcode and type. */
static void read_pipes(enum gt_generation generation, const struct words *words, struct gt_instruction *instruction)
{
	unsigned destination_size, source_size;
	bool destination_float, source_float;
	if (instruction->flags & GT_COMPACTED) {
		struct gt_compact_types types = gt_compact_types(generation, instruction->form, words->low);
		instruction->pipe = types.destination;
		instruction->source_pipe = types.source == GT_PIPE_UNKNOWN ? GT_PIPE_ALL : types.source;
		if (is_scalar(generation, types.to_architecture, field(words->low, 32, 8)))
			instruction->pipe = GT_PIPE_SCALAR;
		return;
	}
	destination_size = field(words->low, 36, 2);
	destination_float = field(words->low, 39, 1);
	source_size = field(words->low, 40, 2);
	source_float = field(words->low, instruction->form == GT_FORM_TERNARY ? 39 : 43, 1);
	if (generation == GT_XE3P && (instruction->form == GT_FORM_BINARY || instruction->form == GT_FORM_MATH))
		source_float = destination_float;
	instruction->pipe = type_pipe(destination_size, destination_float);
	instruction->source_pipe = type_pipe(source_size, source_float);
	if (generation < GT_XE_HPC) { /* 64-bit integers also use the long pipe here, as source or destination */
		if (source_size == 3)
			instruction->source_pipe = GT_PIPE_LONG;
		if (source_size == 3 || destination_size == 3)
			instruction->pipe = GT_PIPE_LONG;
	}
	/* Xe3P converts to float in the integer pipe. */
	if (generation == GT_XE3P && instruction->pipe == GT_PIPE_FLOAT &&
	    (instruction->opcode == GT_OPCODE_SRND ||
	     (instruction->opcode == GT_OPCODE_MOV && field(words->low, 36, 4) != field(words->low, 40, 4))))
		instruction->pipe = GT_PIPE_INTEGER;
	if (is_scalar(generation, !field(words->low, 50, 1), field(words->low, 56, 8)))
		instruction->pipe = GT_PIPE_SCALAR;
}

static void read_pipe(enum gt_generation generation, const struct words *words, struct gt_instruction *instruction)
{
	instruction->source_pipe = GT_PIPE_ALL;
	switch (instruction->form) {
	case GT_FORM_UNARY:
	case GT_FORM_BINARY:
	case GT_FORM_TERNARY:
		read_pipes(generation, words, instruction);
		break;
	case GT_FORM_MATH: /* out of order before XeHPC, with tokens */
		read_pipes(generation, words, instruction);
		instruction->pipe = generation < GT_XE_HPC ? GT_PIPE_NONE : GT_PIPE_MATH;
		break;
	case GT_FORM_BRANCH:
	case GT_FORM_FORK:
	case GT_FORM_RETURN: /* as Intel's compilers count: their distances then lead to the instructions that write the
				registers */
		instruction->pipe = generation == GT_XE ? GT_PIPE_NONE : GT_PIPE_INTEGER;
		break;
	default:
		break;
	}
	if (generation == GT_XE) { /* one pipe, regardless of the type */
		if (instruction->pipe != GT_PIPE_NONE)
			instruction->pipe = GT_PIPE_INTEGER;
		instruction->source_pipe = GT_PIPE_INTEGER;
	}
}

static void read_sync(enum gt_generation generation, const struct words *words, struct gt_instruction *instruction)
{
	instruction->message = GT_ALL_TOKENS;
	if (!(instruction->flags & GT_COMPACTED)) {
		instruction->function = (uint8_t)field(words->high, 28, 4);
		if (field(words->low, 46, 1)) /* the source is an immediate */
			instruction->message = field(words->high, 32, 32);
		return;
	}
	instruction->function = gt_compact_control(generation, GT_FORM_SYNC, words->low)->function;
	/* Only XeHPC's short form has usable masks: types 14 and 19 are 12-bit immediates. */
	unsigned type = field(words->low, 26, 3) | field(words->low, 30, 2) << 3;
	if (generation == GT_XE_HPC && (type == 14 || type == 19))
		instruction->message = field(words->low, 52, 12);
}

/* The descriptor's 32 bits are scattered over the space between other fields. */
static void read_send(const struct words *words, struct gt_instruction *instruction)
{
	instruction->function = (uint8_t)field(words->high, 28, 4);
	instruction->message = field(words->high, 17, 11) | field(words->high, 49, 9) << 11 |
			       field(words->low, 51, 5) << 20 | field(words->high, 3, 5) << 25 |
			       field(words->high, 58, 2) << 30;
	if (field(words->low, 34, 1))
		instruction->flags |= GT_END_OF_THREAD;
	if (field(words->low, 48, 1))
		instruction->flags |= GT_INDIRECT_MESSAGE;
	if (!field(words->low, 50, 1)) /* of the architecture registers, only the null register is possible */
		instruction->flags |= GT_NO_DESTINATION;
}

/* sendg's descriptor has 46 bits; the operation is in the low 16, which are contiguous. */
static void read_sendg(const struct words *words, struct gt_instruction *instruction)
{
	instruction->function = (uint8_t)field(words->high, 28, 4);
	instruction->message = field(words->high, 48, 16);
	if (field(words->low, 32, 1))
		instruction->flags |= GT_END_OF_THREAD;
	if (!field(words->low, 33, 1))
		instruction->flags |= GT_NO_DESTINATION;
}

/* Targets are 32-bit distances from the start of the instruction, in the two high words. */
static int32_t read_target(uint32_t offset, uint32_t distance)
{
	int64_t target = (int64_t)offset + (int32_t)distance;
	return target >= 0 && target <= INT32_MAX ? (int32_t)target : GT_NO_TARGET;
}

static void read_branch(const struct words *words, struct gt_instruction *instruction)
{
	if (field(words->low, 33, 1))
		instruction->flags |= GT_BRANCH_CONTROL;
	if (!field(words->low, 46, 1) || instruction->opcode == GT_OPCODE_CALLA ||
	    instruction->form == GT_FORM_RETURN) {
		instruction->flags |= GT_INDIRECT_TARGET;
		return;
	}
	instruction->target = read_target(instruction->offset, field(words->high, 32, 32));
	if (instruction->form == GT_FORM_FORK)
		instruction->target_2 = read_target(instruction->offset, field(words->high, 0, 32));
}

static void read_form(enum gt_generation generation, const struct words *words, struct gt_instruction *instruction)
{
	switch (instruction->form) {
	case GT_FORM_SYNC:
		read_sync(generation, words, instruction);
		break;
	case GT_FORM_MATH:
		instruction->function = (uint8_t)field(words->high, 28, 4);
		break;
	case GT_FORM_SEND:
		read_send(words, instruction);
		break;
	case GT_FORM_SENDG:
		read_sendg(words, instruction);
		break;
	case GT_FORM_BRANCH:
	case GT_FORM_FORK:
	case GT_FORM_RETURN:
		read_branch(words, instruction);
		break;
	default:
		break;
	}
}

int gt_instruction_decode(enum gt_generation generation, const void *code, size_t code_size, size_t offset,
			  struct gt_instruction *instruction)
{
	if (offset >= code_size || code_size - offset < GT_INSTRUCTION_UNIT || offset % GT_INSTRUCTION_UNIT != 0 ||
	    offset > INT32_MAX)
		return -EINVAL;
	const unsigned char *bytes = (const unsigned char *)code + offset;
	struct words words = { .low = read_word(bytes) };
	const struct gt_opcode *opcode = gt_opcode_find(generation, field(words.low, 0, 7));
	bool compacted = field(words.low, 29, 1);
	if (!opcode || (compacted && !(opcode->compacted & GT_SET(generation))))
		return -EINVAL;
	if (!compacted) {
		if (code_size - offset < 2 * GT_INSTRUCTION_UNIT)
			return -EINVAL;
		words.high = read_word(bytes + GT_INSTRUCTION_UNIT);
	}
	*instruction = (struct gt_instruction){
		.offset = (uint32_t)offset,
		.size = compacted ? GT_INSTRUCTION_UNIT : 2 * GT_INSTRUCTION_UNIT,
		.opcode = (uint8_t)field(words.low, 0, 7),
		.group = opcode->group,
		.form = opcode->form,
		.flags = compacted                 ? GT_COMPACTED /* bit 30 is part of an index there */
			 : field(words.low, 30, 1) ? GT_BREAKPOINT
						   : 0,
		.scoreboard = gt_scoreboard_decode(generation, scoreboard_class(opcode->form),
						   field(words.low, 8, generation < GT_XE_HPC ? 8 : 10)),
		.target = GT_NO_TARGET,
		.target_2 = GT_NO_TARGET,
	};
	if (!compacted) {
		read_control(generation, words.low, instruction);
	} else if (opcode->form == GT_FORM_MATRIX) { /* always as wide as the matrix unit */
		instruction->execution_size = generation < GT_XE_HPC ? 8 : 16;
	} else {
		const struct gt_compact_control *control = gt_compact_control(generation, opcode->form, words.low);
		instruction->execution_size = control->execution_size;
		instruction->channel_offset = control->channel_offset;
		instruction->flags |= control->flags;
	}
	if (opcode->form == GT_FORM_SYNC) /* always runs, regardless of the bits */
		instruction->flags &= (uint16_t) ~(GT_PREDICATED | GT_INVERTED);
	read_form(generation, &words, instruction);
	read_pipe(generation, &words, instruction);
	return 0;
}

static const char *sync_name(unsigned function)
{
	static const char *const names[16] = {
		[0] = "sync.nop",    [2] = "sync.allrd", [3] = "sync.allwr", [12] = "sync.flush",
		[13] = "sync.fence", [14] = "sync.bar",  [15] = "sync.host"
	};
	return names[function & 15] ? names[function & 15] : "sync";
}

static const char *math_name(unsigned function)
{
	static const char *const names[16] = {
		[1] = "math.inv",   [2] = "math.log",   [3] = "math.exp",   [4] = "math.sqt",   [5] = "math.rsqt",
		[6] = "math.sin",   [7] = "math.cos",   [9] = "math.tanh",  [10] = "math.sigm", [11] = "math.idiv",
		[12] = "math.iqot", [13] = "math.irem", [14] = "math.invm", [15] = "math.rsqtm"
	};
	return names[function & 15] ? names[function & 15] : "math";
}

const char *gt_instruction_mnemonic(enum gt_generation generation, const struct gt_instruction *instruction)
{
	switch (instruction->form) {
	case GT_FORM_SYNC:
		return sync_name(instruction->function);
	case GT_FORM_MATH:
		return math_name(instruction->function);
	case GT_FORM_SEND:
	case GT_FORM_SENDG:
		return gt_message_name(generation, instruction);
	default: {
		const struct gt_opcode *opcode = gt_opcode_find(generation, instruction->opcode);
		return opcode ? opcode->mnemonic : "illegal";
	}
	}
}
