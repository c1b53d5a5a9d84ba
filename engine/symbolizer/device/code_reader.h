/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A code object with the decoder of its machine: resolves an address to the GPU kernel, its inlined functions with
 * source lines, and the instruction with its producers. Owned by one thread; not locked.
 */
#pragma once

#include "plugin/decoder.h"
#include "symbolizer/device/code_object.h"
#include "symbolizer/device/code_place.h"

struct code_reader;

/* Takes a reference of the object. decoder: NULL if none; it outlives the reader. Returns NULL if out of memory. */
struct code_reader *code_reader_new(struct code_object *object, struct decoder *decoder);
void code_reader_free(struct code_reader *reader);
struct code_object *code_reader_object(const struct code_reader *reader);

/* Resolves an image address. Returns false if it is in no function. */
bool code_reader_find(struct code_reader *reader, uint64_t address, struct code_place *place);

/*
 * Returns the unit of decoding that contains an address: the kernel as a whole, or a function that kernels call; NULL
 * if there is none. base: address to which code_location.offset refers, which may precede the function for code after
 * the end of a kernel.
 */
const struct code_function *code_reader_function(struct code_reader *reader, uint64_t address, uint64_t *base);

/*
 * Finds the instructions that the one at an address may wait for, as decoder_code_producers(), with image addresses
 * instead of offsets.
 */
size_t code_reader_producers(struct code_reader *reader, uint64_t address, struct iaprof_producer *producers,
			     size_t capacity, uint32_t *flags);
