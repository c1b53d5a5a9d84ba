/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that can be said of an address in a code object: source file, kernel, functions inlined into it with their
 * lines, and the instruction with what it waits for, by a decoder plugin. Belongs to one thread; not locked.
 */
#ifndef IAPROF_CORE_SYMBOLIZER_DEVICE_CODE_FRAMES_H
#define IAPROF_CORE_SYMBOLIZER_DEVICE_CODE_FRAMES_H

#include <iaprof/record.h>
#include "plugin/decoder.h"
#include "symbolizer/device/code_object.h"

/* A code object with the decoder of its machine. */
struct code_reader;

/* Takes a reference of the object. decoder: NULL none; it outlives the reader. NULL: out of memory. */
struct code_reader *code_reader_new(struct code_object *object, struct instance *decoder);
void code_reader_free(struct code_reader *reader);
struct code_object *code_reader_object(const struct code_reader *reader);

struct code_place {
	struct code_location location;              /* function, kernel, offset */
	struct iaprof_code_instruction instruction; /* mnemonic NULL: no decoder, or no instruction begins there */
	size_t function_count;
	struct debug_frame functions[CODE_INLINE_DEPTH_MAX]; /* the outermost first, what is inlined into it after */
};

/* What is at one of the image's own addresses. False when it is in no function. */
bool code_reader_find(struct code_reader *reader, uint64_t address, struct code_place *place);

/*
 * The function that an address is in, as it is decoded: the kernel as a whole, or one that kernels call. base: what
 * code_location.offset is from, which is before it for what lies behind a kernel's end. NULL: it is in none.
 */
const struct code_function *code_reader_function(struct code_reader *reader, uint64_t address, uint64_t *base);

/*
 * What the instruction at an address can be waiting for, as decoder_code_producers() does, with the offsets of
 * producers made into the image's own addresses.
 */
size_t code_reader_producers(struct code_reader *reader, uint64_t address, struct iaprof_producer *producers,
			     size_t capacity, uint32_t *flags);

/* One frame of a stack; texts live as long as the reader, or as the place that it was made of. */
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
