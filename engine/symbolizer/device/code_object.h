/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A code object: one ELF image with device code, as produced by a compiler (relocatable, without load addresses; or
 * loaded as a whole, with a bias) or as described by a runtime that loaded it. Provides names, source lines and inlined
 * functions of its kernels, and attributes from the compiler. Owned by one thread; not locked.
 *
 * An image has its own addresses: those in the file or, if it has none, chosen ones far from 0, which cannot be
 * mistaken for addresses that were never assigned. Where each section was loaded is not part of the image: all loads of
 * one image share one code object.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "plugin/decoder.h"
#include "symbolizer/debug_info.h"
#include "symbolizer/device/code_identity.h"
#include "symbolizer/device/code_table.h"

struct code_object;

/* Numbers of malformed items. */
struct code_damage {
	uint64_t sections; /* sections with code that are outside the file or address space, overlap, or have no name */
	uint64_t symbols;  /* rejected: outside their section, without a name, or a duplicate at the same address */
	uint64_t clamped;  /* symbols without a size, with a too large one, or overlapping the next one */
	uint64_t relocations; /* relocations of debug information that failed */
	uint64_t unnamed;     /* relocations of debug information whose target has no name; units has their effect */
	uint64_t units;       /* units of debug information that were not relocated and fit no function, or several */
	uint64_t parts;       /* unusable tables, debug information, units of it, and attribute lists */
	uint64_t attributes;  /* refused by the decoder, or not of any function in the image */
};

/*
 * Opens an image and takes ownership of its malloc'ed bytes. machine: required e_machine; EM_NONE: any. decoder: reads
 * what is specific to its machine, and outlives the object; NULL: only generic ELF data is read. Returns 0, -ENOEXEC
 * (another format, or no code), -EFBIG or -ENOMEM. The object has one reference.
 */
int code_object_open(struct code_object **object, char *bytes, size_t size, uint16_t machine, struct decoder *decoder);
/*
 * Reads a regular file into memory that the caller frees. Returns 0 or a negative errno: -ENOEXEC if it was truncated
 * meanwhile, -EFBIG.
 */
int code_object_read_file(int descriptor, char **bytes, size_t *size);
/* Calls code_object_open() with the bytes of a file; also returns the errors of regular_file_open() and read(). */
int code_object_open_file(struct code_object **object, const char *path, uint16_t machine, struct decoder *decoder);
struct code_object *code_object_reference(struct code_object *object);
/* Releases a reference; the last one frees the object. Accepts NULL. */
void code_object_release(struct code_object *object);

uint16_t code_object_machine(const struct code_object *object);
/* Returns the bytes of the image (with relocated debug information), valid for the lifetime of the object. */
const char *code_object_image(const struct code_object *object, size_t *size);
/*
 * Returns the kind of its addresses (enum iaprof_image_addresses, except UNSTATED): with DEVICE,
 * device_address_plain(section->address) is where a section was loaded; with RELATIVE, *base is the image address that
 * load addresses refer to.
 */
uint32_t code_object_addresses(const struct code_object *object, uint64_t *base);
const struct code_section *code_object_sections(const struct code_object *object, size_t *count);
/* Returns the functions, sorted by address. */
const struct code_function *code_object_functions(const struct code_object *object, size_t *count);
struct code_damage code_object_damage(const struct code_object *object);

/*
 * Finds the functions at an image address: the kernel, the function that it calls (if the code is not its own), and the
 * functions inlined there, with display names. Without debug information, inlined functions are not known. If several
 * kernels call the function, the first name is "[a or b]"; if none is known to, there is no kernel. Returns the number
 * of frames, at most capacity (the innermost are omitted); 0 if the address is in no function or in the padding after
 * one.
 */
size_t code_object_find(struct code_object *object, uint64_t address, struct code_location *location,
			struct debug_frame *frames, size_t capacity);
