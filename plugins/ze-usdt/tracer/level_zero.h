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
struct append_multiple_parameters {
	const ze_command_list_handle_t *list;
	const uint32_t *count;
	ze_kernel_handle_t *const *kernels;
};
struct execute_parameters {
	const void *queue; /* or the immediate list */
	const uint32_t *count;
	ze_command_list_handle_t *const *lists;
};
struct clone_parameters {
	const ze_command_list_handle_t *list;
	ze_command_list_handle_t *const *clone;
};

/* Type of all callbacks, and of all functions that register one. */
typedef void traced_callback(void *parameters, ze_result_t result, void *data, void **call_data);
typedef ze_result_t callback_register(zel_tracer_handle_t tracer, zel_tracer_reg_t when, traced_callback *callback);

/* Since loader 1.15.8; before, the tracing layer is available only if ZE_ENABLE_TRACING_LAYER=1 was set at zeInit. */
typedef ze_result_t zelEnableTracingLayer_t(void);
/* Since specification 1.10. */
typedef ze_result_t zeCommandListIsImmediate_t(ze_command_list_handle_t list, ze_bool_t *immediate);
/* Extensions of Intel's driver (compute-runtime, level_zero/include/level_zero/driver_experimental). */
typedef ze_result_t kernel_get_base_address(ze_kernel_handle_t kernel, uint64_t *address);
typedef ze_result_t kernel_get_binary(ze_kernel_handle_t kernel, size_t *size, char *binary);

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
};

#endif
