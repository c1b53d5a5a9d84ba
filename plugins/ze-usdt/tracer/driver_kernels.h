/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels inside Intel's driver, which run for fills, copies and queries where no copy engine does. Nothing reports
 * their addresses: a launch has only a name, which is the class of what was called, and code that may be several
 * classes' is none's. No class shares a kernel with another one (compute-runtime, builtin_functions_lib.h and
 * built_ins/kernels).
 */
#ifndef ZE_TRACER_DRIVER_KERNELS_H
#define ZE_TRACER_DRIVER_KERNELS_H

#include "registry.h"

enum driver_kernel {
	DRIVER_MEMORY_FILL,
	DRIVER_MEMORY_COPY,
	DRIVER_IMAGE_FILL,
	DRIVER_IMAGE_COPY,
	DRIVER_KERNEL_TIMESTAMPS,
	DRIVER_KERNELS
};

/* By enum driver_kernel. They have no handle, and are not in the registry. */
extern struct kernel driver_kernels[DRIVER_KERNELS];

#endif
