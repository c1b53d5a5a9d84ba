/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process's OpenCL queues. Only launches on queues that were created with CL_QUEUE_PROFILING_ENABLE have times.
 * While a profiler wants times, queues that the program creates without get the flag, and the program does not see
 * that: the driver's answers about such a queue and its events are those that it would give without the flag.
 */
#ifndef ZE_TRACER_OPENCL_QUEUES_H
#define ZE_TRACER_OPENCL_QUEUES_H

#include <stdbool.h>
#include <stdint.h>

#include "opencl.h"

/* A call that creates a queue, at entry and at exit. */
void opencl_queue_creating(enum opencl_function function, const struct opencl_call *call);
void opencl_queue_created(const struct opencl_call *call);

/* Returns whether launches on a queue have times. */
bool opencl_queue_has_times(uintptr_t queue);

/* clGetCommandQueueInfo() and clGetEventProfilingInfo(), at entry and at exit. */
void opencl_queue_asked(const struct opencl_call *call);
void opencl_times_asked(const struct opencl_call *call);

#endif
