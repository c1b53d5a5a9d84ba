/* SPDX-License-Identifier: Apache-2.0 */
/* ELF images of device code: what functions one has, and one made for a single kernel. Pure functions of bytes. */
#ifndef ZE_TRACER_IMAGE_H
#define ZE_TRACER_IMAGE_H

#include <stddef.h>
#include <stdint.h>

struct image_function {
	uint64_t address, size;
};

/*
 * The functions in the symbol tables of a loaded image, ascending by address. Returns how many, and an array to be
 * freed; 0 and NULL when there are none, the image is broken or there is no memory. Addresses are without the canonical
 * form.
 */
size_t image_functions(const uint8_t *bytes, size_t size, struct image_function **functions);

/* Size of the function that begins at the address, 0 when there is none. */
uint64_t image_function_size(const struct image_function *functions, size_t count, uint64_t address);

/* Bytes of code without the zeros that fill up what the driver allocated: no instruction ends in 8 zero bytes. */
size_t image_code_size(const uint8_t *code, size_t size);

/* An image with one kernel, loaded at that address; to be freed. NULL when there is no memory. */
uint8_t *image_make(const char *name, uint64_t address, const uint8_t *code, size_t code_size, size_t *size);

/* The address that the hardware knows: without the copies of the highest bit (48 or 57 bits are in use). */
uint64_t image_address(uint64_t address);

#endif
