/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A code object with the decoder of its machine: says of an address the kernel, the functions that are inlined into it
 * with their lines, and the instruction with what it waits for. Belongs to one thread; not locked.
 */
#ifndef IAPROF_CORE_SYMBOLIZER_DEVICE_CODE_READER_H
#define IAPROF_CORE_SYMBOLIZER_DEVICE_CODE_READER_H

#include "plugin/decoder.h"
#include "symbolizer/device/code_object.h"
#include "symbolizer/device/code_place.h"

struct code_reader;

/* Takes a reference of the object. decoder: NULL none; it outlives the reader. NULL: out of memory. */
struct code_reader *code_reader_new(struct code_object *object, struct instance *decoder);
void code_reader_free(struct code_reader *reader);
struct code_object *code_reader_object(const struct code_reader *reader);

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

#endif
