/* SPDX-License-Identifier: Apache-2.0 */
/* The callback of the driver's tracing, and the functions that it is called for. */
#ifndef ZE_TRACER_OPENCL_CALLBACKS_H
#define ZE_TRACER_OPENCL_CALLBACKS_H

#include "opencl.h"

opencl_callback opencl_called;

const enum opencl_function *opencl_functions(size_t *count);

#endif
