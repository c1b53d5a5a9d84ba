/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The 8-byte form of instructions: see compaction.h. The tables were determined by letting libiga64 decode words with
 * each index and random other bits.
 */
#include "compaction.h"

#include "instruction.h"
#include "scoreboard.h"

#define W GT_NO_MASK
#define P GT_PREDICATED

/*
 * Execution size, channel offset, flags, function. The table of Xe also applies to XeHP and XeHPG, that of Xe2 to all
 * later generations.
 */
static const struct gt_compact_control xe_basic[] = {
	{ 16, 0, 0, 0 },  { 8, 0, 0, 0 },   { 1, 0, W, 0 },  { 16, 0, W, 0 }, { 8, 0, W, 0 },  { 16, 0, 0, 4 },
	{ 16, 16, 0, 0 }, { 16, 0, 0, 5 },  { 1, 0, 0, 0 },  { 16, 0, 0, 0 }, { 8, 8, 0, 0 },  { 16, 0, 0, 3 },
	{ 16, 0, 0, 1 },  { 16, 0, W, 1 },  { 16, 0, 0, 2 }, { 16, 0, P, 0 }, { 8, 0, 0, 5 },  { 16, 0, P, 0 },
	{ 2, 0, W, 0 },   { 16, 0, P, 0 },  { 16, 0, P, 0 }, { 16, 0, W, 4 }, { 8, 16, 0, 0 }, { 8, 24, 0, 0 },
	{ 16, 0, W, 5 },  { 8, 0, 0, 4 },   { 1, 0, W, 1 },  { 8, 0, 0, 0 },  { 16, 0, 0, 5 }, { 8, 0, 0, 1 },
	{ 8, 0, 0, 0 },   { 16, 16, W, 0 },
};
static const struct gt_compact_control xe_hpc_basic[] = {
	{ 16, 0, 0, 0 }, { 1, 0, W, 0 },  { 16, 16, 0, 0 }, { 1, 0, 0, 0 },  { 4, 0, W, 0 },  { 32, 0, 0, 0 },
	{ 8, 0, W, 0 },  { 16, 0, W, 0 }, { 4, 0, W, 5 },   { 4, 0, W, 4 },  { 2, 0, W, 0 },  { 1, 0, W, 4 },
	{ 1, 0, W, 5 },  { 8, 0, W, 5 },  { 16, 0, 0, 5 },  { 8, 0, W, 4 },  { 16, 0, 0, 4 }, { 1, 0, 0, 2 },
	{ 32, 0, 0, 5 }, { 1, 0, 0, 3 },  { 32, 0, 0, 4 },  { 1, 0, W, 3 },  { 1, 0, W, 1 },  { 16, 16, W, 0 },
	{ 1, 0, W, 14 }, { 8, 0, 0, 0 },  { 16, 0, 0, 1 },  { 16, 0, P, 0 }, { 32, 0, P, 0 }, { 4, 0, 0, 0 },
	{ 32, 0, 0, 5 }, { 32, 0, 0, 5 },
};
static const struct gt_compact_control xe2_basic[] = {
	{ 16, 0, 0, 0 }, { 1, 0, W, 0 },  { 16, 16, 0, 0 }, { 1, 0, 0, 0 },  { 16, 0, W, 0 }, { 16, 0, 0, 4 },
	{ 16, 0, 0, 5 }, { 4, 0, W, 0 },  { 32, 0, 0, 0 },  { 8, 0, W, 0 },  { 1, 0, W, 3 },  { 16, 0, 0, 0 },
	{ 16, 0, 0, 1 }, { 2, 0, W, 0 },  { 16, 0, 0, 3 },  { 1, 0, W, 1 },  { 4, 0, W, 5 },  { 1, 0, W, 4 },
	{ 4, 0, W, 4 },  { 1, 0, W, 5 },  { 16, 0, 0, 2 },  { 16, 0, P, 0 }, { 8, 0, W, 5 },  { 16, 0, P, 0 },
	{ 8, 0, W, 4 },  { 16, 0, P, 0 }, { 16, 0, P, 0 },  { 16, 0, P, 0 }, { 16, 0, P, 0 }, { 16, 0, P, 0 },
	{ 16, 0, P, 0 }, { 16, 0, 0, 5 },
};
static const struct gt_compact_control xe_ternary[] = {
	{ 16, 0, 0, 0 },  { 8, 0, 0, 0 },  { 8, 0, 0, 0 },   { 8, 0, W, 0 },  { 8, 0, W, 0 },   { 8, 8, 0, 0 },
	{ 8, 8, 0, 0 },   { 8, 8, W, 0 },  { 8, 8, W, 0 },   { 16, 0, W, 0 }, { 16, 0, 0, 0 },  { 16, 0, 0, 0 },
	{ 16, 16, 0, 0 }, { 16, 0, W, 0 }, { 1, 0, W, 0 },   { 8, 0, 0, 0 },  { 8, 24, W, 0 },  { 8, 16, W, 0 },
	{ 8, 24, W, 0 },  { 8, 16, W, 0 }, { 8, 16, 0, 0 },  { 8, 24, 0, 0 }, { 8, 16, 0, 0 },  { 8, 24, 0, 0 },
	{ 16, 0, 0, 0 },  { 16, 0, W, 0 }, { 16, 16, W, 0 }, { 1, 0, W, 0 },  { 16, 16, 0, 0 }, { 16, 16, 0, 0 },
	{ 4, 0, W, 0 },   { 8, 0, 0, 0 },
};
static const struct gt_compact_control xe_hp_ternary[] = {
	{ 16, 0, 0, 3 },  { 8, 0, 0, 3 },  { 8, 0, 0, 3 },  { 8, 0, W, 3 },  { 8, 0, W, 3 },  { 8, 8, 0, 3 },
	{ 8, 8, 0, 3 },   { 8, 8, W, 3 },  { 8, 8, W, 3 },  { 16, 0, W, 3 }, { 16, 0, 0, 3 }, { 16, 0, 0, 3 },
	{ 16, 16, 0, 3 }, { 16, 0, W, 3 }, { 1, 0, W, 3 },  { 8, 0, 0, 3 },  { 8, 16, W, 3 }, { 8, 24, W, 3 },
	{ 8, 16, W, 3 },  { 8, 24, W, 3 }, { 8, 24, 0, 3 }, { 8, 16, 0, 3 }, { 8, 0, 0, 3 },  { 8, 0, 0, 3 },
	{ 8, 0, 0, 3 },   { 8, 0, 0, 3 },  { 8, 0, 0, 3 },  { 8, 0, 0, 3 },  { 8, 0, 0, 3 },  { 8, 0, 0, 3 },
	{ 8, 0, 0, 0 },   { 8, 0, 0, 0 },
};
static const struct gt_compact_control xe_hpc_ternary[] = {
	{ 16, 0, 0, 0 }, { 16, 16, 0, 0 }, { 16, 0, 0, 0 }, { 32, 0, 0, 0 }, { 32, 0, 0, 0 }, { 16, 16, 0, 0 },
	{ 16, 0, 0, 0 }, { 32, 0, 0, 0 },  { 16, 0, 0, 0 }, { 1, 0, W, 0 },  { 8, 0, 0, 0 },  { 16, 0, 0, 0 },
	{ 16, 0, 0, 0 }, { 16, 0, 0, 0 },  { 16, 0, 0, 0 }, { 1, 0, W, 0 },
};
static const struct gt_compact_control xe2_ternary[] = {
	{ 16, 0, 0, 0 }, { 16, 0, 0, 0 }, { 16, 0, W, 0 }, { 16, 0, W, 0 }, { 16, 0, 0, 0 }, { 16, 16, 0, 0 },
	{ 16, 0, 0, 0 }, { 32, 0, 0, 0 }, { 32, 0, 0, 0 }, { 16, 0, 0, 0 }, { 16, 0, 0, 0 }, { 16, 16, 0, 0 },
	{ 1, 0, W, 0 },  { 16, 0, 0, 0 }, { 32, 0, 0, 0 }, { 8, 0, 0, 0 },
};

#undef W
#undef P

/*
 * For each index, the pipe of a type: F for floats of up to 32 bits, L for 64 bits, I for integers. From
 * Xe2 on, a lower-case letter means that the destination is an architecture register.
 */
static const char xe_destination[] = "FFFFFFFIFIIFIFIIFIIIIIIIIFIIFFFF",
		  xe_source[] = "FFFFFFFIFIIFIFIIFIIIIIIFIIIIIIIF";
static const char xe_hpc_types[] = "IIIFIFIFIILIIIIIIIIIFIIIIIFIIIII";
static const char xe2_types[] = "FfFIFFIiFIIfffFIIIfIFIIiLFIIIIfi";
/* Xe3P has a table for instructions with one source; those that convert the type use the integer pipe. */
static const char xe3p_unary[] = "FfIFIiIIfFIIIiLIIiiiiiiiiiiiiiii", xe3p_types[] = "FfFIFFIiFIIfffFIIIfIFIIiLFIIIIfi";
static const char xe_ternary_types[] = "FFFFFFFFFFFFFFFFFFFFFFFFFFFIFFFF";
static const char xe_hp_ternary_types[] = "FFFFFFFFFFFFFFFFFFFFFFIIIIIIIIFF";
static const char xe_hpc_ternary_types[] = "LLLFFLFIFLLFFIFI";
static const char xe2_ternary_types[] = "FfFfLLlFffFlFIIl";

/* Positions of the indices. */
static unsigned control_index(enum gt_generation generation, enum gt_form form, uint64_t word)
{
	if (generation < GT_XE_HPC)
		return word >> 24 & 0x1f;
	return form == GT_FORM_TERNARY ? word >> 18 & 0xf : word >> 18 & 0x1f;
}

static unsigned type_index(enum gt_generation generation, uint64_t word)
{
	if (generation < GT_XE_HPC)
		return word >> 30 & 0x1f;
	return (word >> 26 & 7) | (word >> 30 & 3) << 3; /* bit 29 marks the 8-byte form */
}

const struct gt_compact_control *gt_compact_control(enum gt_generation generation, enum gt_form form, uint64_t word)
{
	unsigned index = control_index(generation, form, word);
	if (form == GT_FORM_TERNARY)
		return generation == GT_XE       ? &xe_ternary[index]
		       : generation < GT_XE_HPC  ? &xe_hp_ternary[index]
		       : generation == GT_XE_HPC ? &xe_hpc_ternary[index]
						 : &xe2_ternary[index];
	return generation < GT_XE_HPC    ? &xe_basic[index]
	       : generation == GT_XE_HPC ? &xe_hpc_basic[index]
					 : &xe2_basic[index];
}

static uint8_t pipe_of(char letter)
{
	int type = letter & ~('a' - 'A');
	return type == 'F'   ? GT_PIPE_FLOAT
	       : type == 'L' ? GT_PIPE_LONG
	       : type == 'I' ? GT_PIPE_INTEGER
			     : GT_PIPE_UNKNOWN;
}

struct gt_compact_types gt_compact_types(enum gt_generation generation, enum gt_form form, uint64_t word)
{
	if (form == GT_FORM_TERNARY) {
		const char *types = generation == GT_XE       ? xe_ternary_types
				    : generation < GT_XE_HPC  ? xe_hp_ternary_types
				    : generation == GT_XE_HPC ? xe_hpc_ternary_types
							      : xe2_ternary_types;
		unsigned index = control_index(generation, form, word);
		uint8_t pipe = pipe_of(types[index]);
		return (struct gt_compact_types){ pipe, pipe, types[index] >= 'a' };
	}
	unsigned index = type_index(generation, word);
	if (generation < GT_XE_HPC)
		return (struct gt_compact_types){ pipe_of(xe_destination[index]), pipe_of(xe_source[index]), false };
	const char *types = generation == GT_XE_HPC ? xe_hpc_types
			    : generation < GT_XE3P  ? xe2_types
			    : form == GT_FORM_UNARY ? xe3p_unary
						    : xe3p_types;
	return (struct gt_compact_types){ pipe_of(types[index]), pipe_of(types[index]), types[index] >= 'a' };
}
