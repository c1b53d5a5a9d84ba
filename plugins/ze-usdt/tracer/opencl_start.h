/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the tracing of OpenCL, in Intel's driver. */
#ifndef ZE_TRACER_OPENCL_START_H
#define ZE_TRACER_OPENCL_START_H

#include "opencl.h"

/* What the driver exports. */
struct opencl_driver {
	opencl_get_extension *get_extension;
	opencl_get_platforms *get_platforms;
};

/*
 * Starts tracing in an initialised driver; any thread, any number of times. find is the C library's dlsym. Returns as
 * tracer_start().
 */
int opencl_start(const struct opencl_driver *driver, void *(*find)(void *library, const char *name));

/*
 * The same for a driver that the process has loaded, on a thread of its own: another thread may be initialising the
 * driver, and may wait for a lock of the dynamic linker that the caller holds.
 */
void opencl_start_loaded(void *(*find)(void *library, const char *name));

#endif
