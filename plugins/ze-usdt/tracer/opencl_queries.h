/* SPDX-License-Identifier: Apache-2.0 */
/* What the tracer asks Intel's OpenCL driver. Handles are cl_program, cl_kernel, cl_mem and others. */
#ifndef ZE_TRACER_OPENCL_QUERIES_H
#define ZE_TRACER_OPENCL_QUERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opencl.h"

/* Returns whether an object's info function answered. */
bool opencl_query(opencl_get_info *info, uintptr_t handle, enum opencl_query query, void *value, size_t size);

/*
 * Returns the image of a program for its first device, to be freed, and whether it has addresses (*loaded). Returns
 * NULL if there is none.
 */
uint8_t *opencl_image(const struct opencl *calls, uintptr_t program, size_t *size, bool *loaded);

/* Returns the name of a kernel, to be freed, or NULL. */
char *opencl_kernel_name(const struct opencl *calls, uintptr_t kernel);
/* Returns 0 if it is not known. */
uintptr_t opencl_kernel_program(const struct opencl *calls, uintptr_t kernel);
bool opencl_kernel_address(const struct opencl *calls, uintptr_t kernel, uint64_t *address);

/* Returns whether a memory object (cl_mem) is an image. */
bool opencl_is_image(const struct opencl *calls, uintptr_t memory);

/* These return whether the program's next release destroys the object. */
bool opencl_is_last(opencl_get_info *info, uintptr_t handle, enum opencl_query reference_count);
bool opencl_kernel_is_last(const struct opencl *calls, uintptr_t kernel);
bool opencl_program_is_last(const struct opencl *calls, uintptr_t program);

#endif
