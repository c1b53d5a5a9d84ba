/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes instructions of GPUs from sm_75 on: 128 bits each, as two little-endian words. */
#ifndef SASS_H
#define SASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SASS_SIZE 16u
#define SASS_BARRIERS 6u
#define SASS_OPCODE_DEPBAR 0x91au
#define SASS_TEXT 256
#define SASS_WAITS 32

struct sass_word {
	uint64_t low, high;
};

/* One form of an instruction: the operands that it has, and where their bits are. */
struct sass_form {
	uint32_t sms; /* bits by sass_sm_bit() */
	struct sass_word mask, value;
	const char *guard; /* prefix of the predicate register in bits 12 to 14, "-": not known */
	const char *name;
	const char *template;
};

/* Dependencies of an instruction. A barrier is 7 if it sets none. */
struct sass_control {
	uint8_t stall;         /* cycles until the next instruction */
	uint8_t write_barrier; /* released when the result is written */
	uint8_t read_barrier;  /* released when the operands are read */
	uint8_t waits;         /* mask of barriers */
};

/* Returns the bit of an architecture such as 90, or 0 if its table was not learned. */
uint32_t sass_sm_bit(unsigned sm);

struct sass_word sass_word_read(const void *bytes);
struct sass_control sass_control_of(const struct sass_word *word);

/* Returns the form of an instruction, or NULL. */
const struct sass_form *sass_form_find(uint32_t sm, const struct sass_word *word);
/* Returns the name without modifiers, "?" if the opcode is not known. Static. */
const char *sass_name(uint32_t sm, const struct sass_word *word);
/* Writes the text of an instruction as nvdisasm prints it, with targets as offsets; empty if it is not known. */
void sass_text(uint32_t sm, const struct sass_word *word, uint64_t offset, char text[SASS_TEXT]);
/* Writes the barriers that an instruction waits for, and those released when its result is written and its operands are
   read, and the cycles until the next instruction: "wait 0,2 wr 1 rd 3 stall 4". */
void sass_waits(const struct sass_word *word, char text[SASS_WAITS]);
/* enum iaprof_instruction_group of a name. */
uint32_t sass_group(const char *name);
/* Returns the offset of the instruction that a form's label names, UINT64_MAX if it has none. */
uint64_t sass_target(const struct sass_form *form, const struct sass_word *word, uint64_t offset);

/* One bit for each register. */
struct sass_registers {
	uint64_t general[4], uniform[4];
	uint8_t predicates, uniform_predicates;
};

/* Finds the registers that an instruction reads and writes; of those of several registers, only the first, and the
   second of a 64-bit result. Returns false if the form is not known. */
bool sass_registers(uint32_t sm, const struct sass_word *word, struct sass_registers *reads,
		    struct sass_registers *writes);

#endif
