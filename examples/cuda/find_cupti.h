/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the libcupti.so that a program uses, its address range, and the profiler that may hold it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cupti.h"

/*
 * Opens the CUPTI at a path, if it is not "", or that of CUDA_CUPTI_VARIABLE; else the program's own, that of its
 * PyTorch, or the toolkit's, and finds all functions. Returns false if there is none; then cupti is unchanged.
 */
bool cupti_find(struct cupti_functions *cupti, const char *path);

/* Finds the address range of the library that has these functions. */
bool cupti_range(const struct cupti_functions *cupti, uint64_t *begin, uint64_t *end);

/* Returns the name of the profiler that is likely to hold CUPTI, by its libraries. */
const char *cupti_holder(void);
