/* SPDX-License-Identifier: Apache-2.0 */
/* All that is known of an address in device code, and the frames of a stack that it becomes. */
#ifndef IAPROF_CORE_SYMBOLIZER_DEVICE_CODE_PLACE_H
#define IAPROF_CORE_SYMBOLIZER_DEVICE_CODE_PLACE_H

#include <iaprof/plugin.h>
#include <iaprof/record.h>
#include "symbolizer/debug_unit.h"
#include "symbolizer/device/code_table.h"

/* The most functions that are given for one address. */
#define CODE_INLINE_DEPTH_MAX 64

struct code_place {
	struct code_location location;              /* function, kernel, offset */
	struct iaprof_code_instruction instruction; /* mnemonic NULL: no decoder, or no instruction begins there */
	size_t function_count;
	struct debug_frame functions[CODE_INLINE_DEPTH_MAX]; /* the outermost first, what is inlined into it after */
};

/* One frame of a stack; texts live as long as what the place was found in, or as the place. */
struct code_frame {
	const char *name; /* never NULL */
	const char *file; /* NULL not known */
	uint32_t line;    /* 0 not known */
	uint32_t kind;    /* enum iaprof_frame_kind */
	uint32_t flags;   /* enum iaprof_frame_flag */
	uint64_t offset;  /* from the start of the kernel */
	uint64_t address; /* the image's own */
};

/* Source file, functions, instruction. What is behind them in a stack, such as a stall reason, is not the code's. */
#define CODE_FRAMES_MAX (CODE_INLINE_DEPTH_MAX + 2)

/*
 * A place as frames, the root first: its source file (IAPROF_FRAME_DEVICE_SOURCE), its functions, and its instruction.
 * What is not known is not there, but for the function. Returns how many of frames, which has room for CODE_FRAMES_MAX.
 */
size_t code_place_frames(const struct code_place *place, uint64_t address, struct code_frame *frames);

#endif
