/* SPDX-License-Identifier: Apache-2.0 */
/* Data about an address in device code, and its conversion to stack frames. */
#pragma once

#include <iaprof/plugin.h>
#include <iaprof/record.h>
#include "symbolizer/debug_unit.h"
#include "symbolizer/device/code_table.h"

/* Limit on functions for one address. */
#define CODE_INLINE_DEPTH_MAX 64

struct code_place {
	struct code_location location;              /* function, kernel, offset */
	struct iaprof_code_instruction instruction; /* mnemonic NULL: no decoder, or no instruction begins here */
	bool is_undecodable;                        /* a decoder knows the code, and no instruction begins here */
	size_t function_count;
	struct debug_frame functions[CODE_INLINE_DEPTH_MAX]; /* the outermost first, followed by inlined functions */
};

/* One frame of a stack; texts are valid as long as the place and its object. */
struct code_frame {
	const char *name; /* never NULL */
	const char *file; /* NULL if unknown */
	uint32_t line;    /* 0 if unknown */
	uint32_t kind;    /* enum iaprof_frame_kind */
	uint32_t flags;   /* enum iaprof_frame_flag */
	uint64_t offset;  /* from the start of the kernel */
	uint64_t address; /* image address */
};

/* Source file, functions, instruction. Further frames of a stack, such as a stall reason, do not depend on the code. */
#define CODE_FRAMES_MAX (CODE_INLINE_DEPTH_MAX + 2)

/*
 * Converts a place to frames, root first: its source file (IAPROF_FRAME_DEVICE_SOURCE), its functions, and its
 * instruction. Unknown parts are omitted, except the function. Returns the number of frames, at most CODE_FRAMES_MAX.
 */
size_t code_place_frames(const struct code_place *place, uint64_t address, struct code_frame *frames);
