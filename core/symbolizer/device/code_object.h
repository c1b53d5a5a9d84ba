/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A code object: one ELF image with code for a device, as a compiler made it (relocatable: where its sections will be
 * loaded is not known) or as a runtime describes what it loaded (with addresses). Names, lines and inlined functions
 * of its kernels, and what else the compiler says of them. Belongs to one thread; not locked.
 *
 * An image has addresses of its own: those in the file, or, where it has none, some that are chosen here and are far
 * from 0, so that nothing can be taken for one that has not been placed. Where each section was loaded is not the
 * image's affair: all loads of one image share one code object.
 */
#ifndef IAPROF_CORE_SYMBOLIZER_DEVICE_CODE_OBJECT_H
#define IAPROF_CORE_SYMBOLIZER_DEVICE_CODE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "symbolizer/debug_info.h"
#include "symbolizer/device/code_identity.h"
#include "symbolizer/device/code_table.h"

struct code_object;

/* What was not as it should be, each a number of cases. */
struct code_damage {
	uint64_t sections;    /* with code, that are outside of the file or of all addresses, overlap or have no name */
	uint64_t symbols;     /* refused: outside of their section, without a name, a second one for the same place */
	uint64_t clamped;     /* symbols without a size, or a too large one, or one that reaches into the next */
	uint64_t relocations; /* of debug information, that could not be made; or its target has no name */
	uint64_t parts;       /* tables, debug information, units of it and lists of attributes that are unusable */
	uint64_t attributes;  /* kernels and attributes that were refused, or are of no kernel of the image */
};

/*
 * Opens an image, whose malloc'ed bytes it takes over. machine: what the ELF header must say (e_machine), EM_NONE: any.
 * Returns 0, -ENOEXEC (no such image, or one without code), -EFBIG or -ENOMEM. The object has one reference.
 */
int code_object_open(struct code_object **object, char *bytes, size_t size, uint16_t machine);
/* Reads all bytes of a regular file, which the caller frees. -ENOEXEC: it became shorter meanwhile; -EFBIG, ... */
int code_object_read_file(int descriptor, char **bytes, size_t *size);
/* code_object_open() with a file's bytes; also the errors of regular_file_open() and read(). */
int code_object_open_file(struct code_object **object, const char *path, uint16_t machine);
struct code_object *code_object_reference(struct code_object *object);
/* The last one frees the object. NULL is allowed. */
void code_object_release(struct code_object *object);

uint16_t code_object_machine(const struct code_object *object);
/* The bytes of the image (with relocations made in its debug information); they live as long as the object. */
const char *code_object_image(const struct code_object *object, size_t *size);
/* Whether the image has addresses of a device: then device_address_plain(section->address) is where it was loaded. */
bool code_object_is_placed(const struct code_object *object);
const struct code_section *code_object_sections(const struct code_object *object, size_t *count);
/* In order of addresses. */
const struct code_function *code_object_functions(const struct code_object *object, size_t *count);
/* The function with a name of the symbol table; NULL when there is none. Of several the first. */
const struct code_function *code_object_function(const struct code_object *object, const char *name);
struct code_damage code_object_damage(const struct code_object *object);

/* Where a section is when all are loaded behind each other from base on, each at a multiple of alignment (> 0). */
uint64_t code_object_section_place(const struct code_object *object, size_t section, uint64_t base, uint64_t alignment);

/*
 * What is at one of the image's own addresses: the functions, the outermost first and what is inlined into it after,
 * with names as they are shown; without debug information the function's name alone. Returns how many, at most
 * capacity (the innermost are left out), 0 when the address is in no function: also in the padding behind one.
 */
size_t code_object_find(struct code_object *object, uint64_t address, struct code_location *location,
			struct debug_frame *frames, size_t capacity);

#endif
