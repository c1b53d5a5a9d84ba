/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Level Zero functions that the tracer calls. It is not linked to them, because it is known only at run time
 * whether a process uses a loader, and which one. Declares what the oldest supported headers (1.8) lack.
 */
#ifndef ZE_TRACER_LEVEL_ZERO_H
#define ZE_TRACER_LEVEL_ZERO_H

#include <stdint.h>

#include <level_zero/ze_api.h>
#include <level_zero/zet_api.h>

#include <level_zero/layers/zel_tracing_api.h>
#include <level_zero/layers/zel_tracing_register_cb.h>
#include <level_zero/loader/ze_loader.h>

#define LEVEL_ZERO_LOADER "libze_loader.so.1"

/*
 * Arguments of the tracing layer's callbacks start with the addresses of the call's arguments, in their order
 * (ze_..._params_t). All functions that append a launch start with list and kernel, and all that submit lists have
 * number and lists as second and third arguments: one callback each also serves those that are newer than the headers.
 */
struct append_parameters {
	const ze_command_list_handle_t *list;
	const ze_kernel_handle_t *kernel;
};
/* After them, one argument, or two or four of the newer functions, and then the event to signal. */
struct append_launch_parameters {
	const ze_command_list_handle_t *list;
	const ze_kernel_handle_t *kernel;
	const void *groups;
	ze_event_handle_t *event;
};
struct append_with_parameters_parameters {
	const ze_command_list_handle_t *list;
	const ze_kernel_handle_t *kernel;
	const void *groups, *next;
	ze_event_handle_t *event;
};
struct append_with_arguments_parameters {
	const ze_command_list_handle_t *list;
	const ze_kernel_handle_t *kernel;
	const void *groups, *sizes, *arguments, *next;
	ze_event_handle_t *event;
};
struct append_multiple_parameters {
	const ze_command_list_handle_t *list;
	const uint32_t *count;
	ze_kernel_handle_t *const *kernels;
};
struct execute_parameters {
	const ze_command_list_handle_t *list; /* the immediate list, or a queue */
	const uint32_t *count;
	ze_command_list_handle_t *const *lists;
};
struct clone_parameters {
	const ze_command_list_handle_t *list;
	ze_command_list_handle_t *const *clone;
};

/* Graphs and mutable command lists (since specifications 1.17 and 1.9); a graph's handle is an address. */
struct capture_parameters {
	const ze_command_list_handle_t *list;
};
struct end_capture_parameters {
	const ze_command_list_handle_t *list;
	const void *next;
	const uintptr_t *const *graph;
};
struct instantiate_parameters {
	const uintptr_t *graph;
	const void *next;
	const uintptr_t *const *executable;
};
struct append_graph_parameters {
	const ze_command_list_handle_t *list;
	const uintptr_t *executable;
};
struct destroy_graph_parameters {
	const uintptr_t *graph;
};
struct command_id_description {
	uint32_t type;
	const void *next;
	uint32_t flags;
};
#define COMMAND_FLAG_KERNEL UINT32_C(0x40) /* ZE_MUTABLE_COMMAND_EXP_FLAG_KERNEL_INSTRUCTION */
struct command_id_parameters {
	const ze_command_list_handle_t *list;
	const struct command_id_description *const *description;
	const uint64_t *const *command;
};
struct command_id_with_kernels_parameters {
	const ze_command_list_handle_t *list;
	const struct command_id_description *const *description;
	const void *count, *kernels;
	const uint64_t *const *command;
};
struct change_kernels_parameters {
	const ze_command_list_handle_t *list;
	const uint32_t *count;
	const uint64_t *const *commands;
	ze_kernel_handle_t *const *kernels;
};

/* Type of all callbacks, and of all functions that register one. */
typedef void traced_callback(void *parameters, ze_result_t result, void *data, void **call_data);
typedef ze_result_t callback_register(zel_tracer_handle_t tracer, zel_tracer_reg_t when, traced_callback *callback);

/* Since loader 1.15.8; before, the tracing layer is available only if ZE_ENABLE_TRACING_LAYER=1 was set at zeInit. */
typedef ze_result_t zelEnableTracingLayer_t(void);
/* Since specification 1.10. */
typedef ze_result_t zeCommandListIsImmediate_t(ze_command_list_handle_t list, ze_bool_t *immediate);
/* Since specification 1.9. */
typedef ze_result_t zeCommandListGetDeviceHandle_t(ze_command_list_handle_t list, ze_device_handle_t *device);
typedef ze_result_t zeCommandListGetOrdinal_t(ze_command_list_handle_t list, uint32_t *ordinal);
/* Since specification 1.15: events without a pool, of which each use has a time stamp of its own. */
struct counter_based_event_description {
	uint32_t type;
	const void *next;
	uint32_t flags, signal, wait;
};
#define STRUCTURE_COUNTER_BASED_EVENT UINT32_C(0x2003a)
#define COUNTER_BASED_IMMEDIATE UINT32_C(1)
#define COUNTER_BASED_HOST_VISIBLE UINT32_C(4)
#define COUNTER_BASED_DEVICE_TIMESTAMP UINT32_C(16)
typedef ze_result_t zeEventCounterBasedCreate_t(ze_context_handle_t context, ze_device_handle_t device,
						const struct counter_based_event_description *description,
						ze_event_handle_t *event);
#define QUEUE_FLAG_IN_ORDER UINT32_C(2) /* ZE_COMMAND_QUEUE_FLAG_IN_ORDER, since specification 1.8 */
/* Extensions of Intel's driver (compute-runtime, level_zero/include/level_zero/driver_experimental). */
typedef ze_result_t kernel_get_base_address(ze_kernel_handle_t kernel, uint64_t *address);
typedef ze_result_t kernel_get_binary(ze_kernel_handle_t kernel, size_t *size, char *binary);
/* Of the loader since specification 1.17 (Ext), and extensions of Intel's driver (Exp). */
typedef ze_result_t list_get_graph(ze_command_list_handle_t list, uintptr_t *graph);
typedef ze_result_t list_is_capturing(ze_command_list_handle_t list);
#define RESULT_QUERY_FALSE ((ze_result_t)0x7fff0001)

struct level_zero {
	__typeof__(zelTracerCreate) *zelTracerCreate;
	__typeof__(zelTracerDestroy) *zelTracerDestroy;
	__typeof__(zelTracerSetEnabled) *zelTracerSetEnabled;
	zelEnableTracingLayer_t *zelEnableTracingLayer;
	__typeof__(zelLoaderTranslateHandle) *zelLoaderTranslateHandle;
	__typeof__(zeDriverGet) *zeDriverGet;
	__typeof__(zeDriverGetExtensionFunctionAddress) *zeDriverGetExtensionFunctionAddress;
	__typeof__(zeModuleGetProperties) *zeModuleGetProperties;
	__typeof__(zeModuleGetNativeBinary) *zeModuleGetNativeBinary;
	__typeof__(zetModuleGetDebugInfo) *zetModuleGetDebugInfo;
	__typeof__(zeKernelGetName) *zeKernelGetName;
	zeCommandListIsImmediate_t *zeCommandListIsImmediate;
	zeCommandListGetDeviceHandle_t *zeCommandListGetDeviceHandle;
	zeCommandListGetOrdinal_t *zeCommandListGetOrdinal;
	__typeof__(zeDeviceGetCommandQueueGroupProperties) *zeDeviceGetCommandQueueGroupProperties;
	__typeof__(zeCommandListAppendSignalEvent) *zeCommandListAppendSignalEvent;
	zeEventCounterBasedCreate_t *zeEventCounterBasedCreate;
	__typeof__(zeEventPoolCreate) *zeEventPoolCreate;
	__typeof__(zeEventPoolDestroy) *zeEventPoolDestroy;
	__typeof__(zeEventCreate) *zeEventCreate;
	__typeof__(zeEventDestroy) *zeEventDestroy;
	__typeof__(zeEventHostReset) *zeEventHostReset;
	__typeof__(zeEventQueryStatus) *zeEventQueryStatus;
	__typeof__(zeEventQueryKernelTimestamp) *zeEventQueryKernelTimestamp;
	__typeof__(zeDeviceGetProperties) *zeDeviceGetProperties;
	__typeof__(zeDeviceGetGlobalTimestamps) *zeDeviceGetGlobalTimestamps;
	__typeof__(zeDevicePciGetPropertiesExt) *zeDevicePciGetPropertiesExt;
	list_get_graph *zeCommandListGetGraphExt;
	list_is_capturing *zeCommandListIsGraphCaptureEnabledExt;
	/* Since the first capture: number of drivers, and functions of the one that has graphs. */
	uint32_t driver_count;
	list_get_graph *get_graph;
	list_is_capturing *is_capturing;
};

#endif
