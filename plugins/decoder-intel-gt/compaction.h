/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The 8-byte form of instructions: some fields are replaced by indices into tables of the most frequent values, which
 * differ between generations. Contains only the fields that this decoder uses.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "generation.h"
#include "opcode.h"

/* Fields encoded by the control index. */
struct gt_compact_control {
	uint8_t execution_size;
	uint8_t channel_offset;
	uint8_t flags;    /* GT_NO_MASK, GT_PREDICATED */
	uint8_t function; /* bits 95:92 of the 16-byte form: the function of a sync */
};

/* Never NULL for a generation that has an 8-byte form of the opcode's form. */
const struct gt_compact_control *gt_compact_control(enum gt_generation generation, enum gt_form form, uint64_t word);

/* The pipes (enum gt_pipe) of the types of the destination and of the first source. */
struct gt_compact_types {
	uint8_t destination, source;
	bool to_architecture; /* the destination is one of the architecture registers; known from Xe2 on */
};

struct gt_compact_types gt_compact_types(enum gt_generation generation, enum gt_form form, uint64_t word);
