/* SPDX-License-Identifier: Apache-2.0 */
/* ELF images of device code: the functions of an image, and an image made for a single kernel. Pure. */
#ifndef ZE_TRACER_IMAGE_H
#define ZE_TRACER_IMAGE_H

#include <stddef.h>
#include <stdint.h>

/* Maximum length of a kernel's name; SYCL's mangled names have a few thousand bytes. */
#define NAME_SIZE_MAX (UINT64_C(1) << 20)

struct image_function {
	uint64_t address, size;
};

/*
 * Returns the number of functions in the symbol tables of a loaded image, and an array of them, ascending by address,
 * to be freed; 0 and NULL if there are none, the image is invalid, or when out of memory. Addresses are not in
 * canonical form.
 */
size_t image_functions(const uint8_t *bytes, size_t size, struct image_function **functions);

/* Returns the size of the function at the address, or 0. */
uint64_t image_function_size(const struct image_function *functions, size_t count, uint64_t address);

/*
 * Returns the size of code without trailing zeros, which are the driver's padding: no instruction ends in 8 zero bytes.
 */
size_t image_code_size(const uint8_t *code, size_t size);

/* Returns an image with one kernel loaded at an address, to be freed; NULL when out of memory. */
uint8_t *image_make(const char *name, uint64_t address, const uint8_t *code, size_t code_size, size_t *size);

/* Removes the canonical form: 48 or 57 bits are in use. */
uint64_t image_address(uint64_t address);

#endif
