/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of OpenCL that the tracer uses: constants and types of the Khronos headers (CL/cl.h, CL/cl_icd.h), and the
 * tracing extension of Intel's GPU driver (compute-runtime, opencl/source/tracing/tracing_types.h), which no header
 * package has. Nothing is linked: the functions are found in the process's driver.
 */
#ifndef ZE_TRACER_OPENCL_H
#define ZE_TRACER_OPENCL_H

#include <stddef.h>
#include <stdint.h>

/* Intel's driver. It serves OpenCL itself, or passes calls on to libze_intel_gpu.so.1 ("LEO"). */
#define OPENCL_DRIVER "libigdrcl.so"
#define OPENCL_DRIVER_ON_LEVEL_ZERO "libze_intel_gpu.so"
#define OPENCL_LOADER "libOpenCL.so"

#define OPENCL_SUCCESS 0
#define OPENCL_PROFILING_INFO_NOT_AVAILABLE (-7)
#define OPENCL_INVALID_VALUE (-30)
#define OPENCL_MEMORY_BUFFER 0x10f0
#define OPENCL_DEVICE_TYPE_ALL UINT64_C(0xffffffff)

enum opencl_query {
	OPENCL_DEVICE_VERSION = 0x102f,
	OPENCL_QUEUE_DEVICE = 0x1091,
	OPENCL_QUEUE_REFERENCE_COUNT = 0x1092,
	OPENCL_QUEUE_PROPERTIES = 0x1093,
	OPENCL_QUEUE_PROPERTIES_ARRAY = 0x1098,
	OPENCL_MEMORY_TYPE = 0x1100,
	OPENCL_PROGRAM_REFERENCE_COUNT = 0x1160,
	OPENCL_PROGRAM_BINARY_SIZES = 0x1165,
	OPENCL_PROGRAM_BINARIES = 0x1166,
	OPENCL_PROGRAM_DEBUG_INFO = 0x4100,
	OPENCL_PROGRAM_DEBUG_INFO_SIZES = 0x4101,
	OPENCL_KERNEL_FUNCTION_NAME = 0x1190,
	OPENCL_KERNEL_REFERENCE_COUNT = 0x1192,
	OPENCL_KERNEL_PROGRAM = 0x1194,
	OPENCL_EVENT_QUEUE = 0x11d0,
	OPENCL_EVENT_REFERENCE_COUNT = 0x11d2,
	OPENCL_EVENT_STATUS = 0x11d3,
	OPENCL_EVENT_QUEUED = 0x1280,
	OPENCL_EVENT_START = 0x1282,
	OPENCL_EVENT_END = 0x1283,
	OPENCL_DEVICE_PCI_BUS = 0x410f,
	OPENCL_KERNEL_GPU_ADDRESS = 0x10010,
};

/* Status of an event whose command has ended; above: not yet; below: with an error. */
#define OPENCL_COMPLETE 0

/* Properties of queues, beside OPENCL_QUEUE_PROPERTIES, and its flags. */
#define OPENCL_QUEUE_PRIORITY 0x1096
#define OPENCL_QUEUE_THROTTLE 0x1097
#define OPENCL_QUEUE_FAMILY 0x418c
#define OPENCL_QUEUE_INDEX 0x418d
#define OPENCL_QUEUE_SLICES 0x10021
#define OPENCL_OUT_OF_ORDER UINT64_C(1)
#define OPENCL_PROFILING UINT64_C(2)

struct opencl_pci_bus {
	uint32_t domain, bus, device, function;
};

/* Every object begins with a pointer to the driver's functions, in the order of cl_icd_dispatch. */
struct opencl_object {
	void *const *functions;
};
enum opencl_dispatch {
	OPENCL_DISPATCH_GET_DEVICES = 2,
	OPENCL_DISPATCH_GET_DEVICE_INFO = 3,
	OPENCL_DISPATCH_GET_QUEUE_INFO = 12,
	OPENCL_DISPATCH_GET_MEMORY_INFO = 20,
	OPENCL_DISPATCH_GET_PROGRAM_INFO = 32,
	OPENCL_DISPATCH_GET_KERNEL_INFO = 39,
	OPENCL_DISPATCH_GET_EVENT_INFO = 42,
	OPENCL_DISPATCH_RETAIN_EVENT = 43,
	OPENCL_DISPATCH_RELEASE_EVENT = 44,
	OPENCL_DISPATCH_GET_EVENT_PROFILING_INFO = 45,
	OPENCL_DISPATCH_GET_DEVICE_TIMER = 140,
};

/* All clGet...Info() of one object. */
typedef int32_t opencl_get_info(const struct opencl_object *object, uint32_t query, size_t size, void *value,
				size_t *size_returned);
typedef int32_t opencl_count_reference(const struct opencl_object *object); /* retain, release */
typedef int32_t opencl_get_timer(const struct opencl_object *device, uint64_t *device_time, uint64_t *host_time);
typedef int32_t opencl_get_devices(const struct opencl_object *platform, uint64_t type, uint32_t room,
				   struct opencl_object **devices, uint32_t *count);
/* The driver's exported entry points. */
typedef int32_t opencl_get_platforms(uint32_t room, struct opencl_object **platforms, uint32_t *count);
typedef void *opencl_get_extension(const char *name);

/* Numbers of the traced functions. */
enum opencl_function {
	OPENCL_BUILD_PROGRAM = 0,
	OPENCL_CREATE_QUEUE = 4,
	OPENCL_CREATE_QUEUE_WITH_PROPERTIES = 5,
	OPENCL_COPY_BUFFER = 31,
	OPENCL_COPY_BUFFER_RECT = 32,
	OPENCL_COPY_BUFFER_TO_IMAGE = 33,
	OPENCL_COPY_IMAGE = 34,
	OPENCL_COPY_IMAGE_TO_BUFFER = 35,
	OPENCL_FILL_BUFFER = 36,
	OPENCL_FILL_IMAGE = 37,
	OPENCL_MAP_BUFFER = 38,
	OPENCL_MAP_IMAGE = 39,
	OPENCL_ENQUEUE_ND_RANGE = 43,
	OPENCL_READ_BUFFER = 45,
	OPENCL_READ_BUFFER_RECT = 46,
	OPENCL_READ_IMAGE = 47,
	OPENCL_SVM_MAP = 50,
	OPENCL_SVM_FILL = 51,
	OPENCL_SVM_COPY = 52,
	OPENCL_SVM_UNMAP = 54,
	OPENCL_ENQUEUE_TASK = 55,
	OPENCL_UNMAP = 56,
	OPENCL_WRITE_BUFFER = 58,
	OPENCL_WRITE_BUFFER_RECT = 59,
	OPENCL_WRITE_IMAGE = 60,
	OPENCL_FINISH = 61,
	OPENCL_QUEUE_INFO = 63,
	OPENCL_EVENT_INFO = 68,
	OPENCL_EVENT_PROFILING_INFO = 69,
	OPENCL_RELEASE_QUEUE = 89,
	OPENCL_RELEASE_KERNEL = 93,
	OPENCL_RELEASE_PROGRAM = 94,
	OPENCL_SET_EVENT_CALLBACK = 109,
	OPENCL_WAIT_FOR_EVENTS = 117,
	OPENCL_CREATE_COUNTER_QUEUE = 125, /* clCreatePerfCountersCommandQueueINTEL() */
	OPENCL_MEMSET = 132,               /* of clEnqueueMemsetINTEL() */
	OPENCL_MEM_FILL = 133,             /* of clEnqueueMemFillINTEL() */
	OPENCL_MEM_COPY = 134,             /* of clEnqueueMemcpyINTEL() */
	OPENCL_CREATE_QUEUE_WITH_PROPERTIES_KHR = 137,
	OPENCL_ENQUEUE_ND_COUNT = 153, /* of clEnqueueNDCountKernelINTEL() */
};

struct opencl_call {
	int32_t is_exit;
	uint32_t correlation;
	uint64_t *data; /* the callback's own, the same at entry and exit */
	const char *function;
	const void *const *arguments; /* addresses of the call's arguments */
	void *result;                 /* of its return value, at exit */
};
typedef void opencl_callback(int32_t function, struct opencl_call *call, void *data);

struct opencl_tracing; /* a handle */
typedef int32_t opencl_tracing_create(struct opencl_object *device, opencl_callback *callback, void *data,
				      struct opencl_tracing **tracing);
typedef int32_t opencl_tracing_set(struct opencl_tracing *tracing, int32_t function, uint32_t enable);
typedef int32_t opencl_tracing_change(struct opencl_tracing *tracing); /* enable, destroy */

/* The driver's functions that the tracer calls. */
struct opencl {
	opencl_get_info *program_info, *kernel_info, *memory_info, *device_info, *queue_info, *event_info, *event_times;
	opencl_count_reference *event_retain, *event_release;
	opencl_get_timer *timer;
};

#endif
