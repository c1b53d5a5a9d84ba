/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks of Level Zero's tracing layer: those that track modules and kernels, and the list of all. */
#include "callbacks.h"

#include <errno.h>

#include "appends.h"
#include "extensions.h"
#include "recording_callbacks.h"

#define CALLBACK(name) static void name(void *arguments, ze_result_t result, void *data, void **call_data)
#define UNUSED_DATA (void)data, (void)call_data

/* The compiler may end the process if the module is invalid. */
CALLBACK(module_creating)
{
	UNUSED_DATA;
	(void)arguments;
	(void)result;
	announce_module_call();
}

CALLBACK(module_created)
{
	const ze_module_create_params_t *parameters = arguments;

	UNUSED_DATA;
	if (result != ZE_RESULT_SUCCESS)
		return;
	int error = errno;
	uintptr_t handle = (uintptr_t) * *parameters->pphModule;
	struct module *stale = registry_remove_module(&tracer.registry, handle);
	if (stale) /* its end was not seen */
		announce_module_end(&tracer.announcer, stale);
	struct module *module = registry_add_module(&tracer.registry, handle, RUNTIME_LEVEL_ZERO);
	listeners_check();
	if (module)
		announce_module(&tracer.announcer, module);
	errno = error;
}

CALLBACK(modules_linked)
{
	const ze_module_dynamic_link_params_t *parameters = arguments;

	UNUSED_DATA;
	if (result != ZE_RESULT_SUCCESS)
		return;
	int error = errno;
	listeners_check();
	for (uint32_t i = 0; i < *parameters->pnumModules; i++) {
		struct module *module = registry_get_module(&tracer.registry, (uintptr_t)(*parameters->pphModules)[i]);

		if (module)
			announce_linked_module(&tracer.announcer, module);
	}
	errno = error;
}

/* Done before the call: afterwards, the handle may be reused. */
CALLBACK(module_destroying)
{
	const ze_module_destroy_params_t *parameters = arguments;

	UNUSED_DATA;
	(void)result;
	int error = errno;
	timing_read(&tracer.timing, TIMED_LAUNCHES_MAX);
	struct module *module = registry_remove_module(&tracer.registry, (uintptr_t)*parameters->phModule);
	if (module)
		announce_module_end(&tracer.announcer, module);
	errno = error;
}

CALLBACK(kernel_created)
{
	const ze_kernel_create_params_t *parameters = arguments;

	UNUSED_DATA;
	if (result != ZE_RESULT_SUCCESS)
		return;
	int error = errno;
	struct module *module = registry_get_module(&tracer.registry, (uintptr_t)*parameters->phModule);
	registry_add_kernel(&tracer.registry, (uintptr_t) * *parameters->pphKernel, (*parameters->pdesc)->pKernelName,
			    module);
	errno = error;
}

CALLBACK(kernel_destroying)
{
	const ze_kernel_destroy_params_t *parameters = arguments;

	UNUSED_DATA;
	(void)result;
	int error = errno;
	struct kernel *kernel = registry_remove_kernel(&tracer.registry, (uintptr_t)*parameters->phKernel);
	if (kernel)
		announce_kernel_end(&tracer.announcer, kernel);
	errno = error;
}

CALLBACK(drivers_found)
{
	UNUSED_DATA;
	(void)arguments;
	(void)result;
	callbacks_saw_call = true;
}

__thread bool callbacks_saw_call;

/* Callbacks to register; a loader may lack the newer ones. */
static const struct callback callbacks[] = {
#define BEFORE(function, callback)                                                                                     \
	{                                                                                                              \
		"zelTracer" #function "RegisterCallback", ZEL_REGISTER_PROLOGUE, callback                              \
	}
#define AFTER(function, callback)                                                                                      \
	{                                                                                                              \
		"zelTracer" #function "RegisterCallback", ZEL_REGISTER_EPILOGUE, callback                              \
	}
	BEFORE(ModuleCreate, module_creating),
	AFTER(ModuleCreate, module_created),
	AFTER(ModuleDynamicLink, modules_linked),
	BEFORE(ModuleDestroy, module_destroying),
	AFTER(KernelCreate, kernel_created),
	BEFORE(KernelDestroy, kernel_destroying),
	AFTER(CommandListCreate, list_created),
	AFTER(CommandListCreateImmediate, immediate_list_created),
	AFTER(CommandListCreateCloneExp, list_cloned),
	AFTER(CommandListReset, list_reset),
	BEFORE(CommandListDestroy, list_destroying),
	BEFORE(CommandListAppendLaunchKernel, launch_appending),
	BEFORE(CommandListAppendLaunchKernelWithParameters, launch_appending_with_parameters),
	BEFORE(CommandListAppendLaunchKernelWithArguments, launch_appending_with_arguments),
	BEFORE(CommandListAppendLaunchKernelIndirect, launch_appending),
	AFTER(CommandListHostSynchronize, work_awaited),
	AFTER(CommandQueueSynchronize, work_awaited),
	AFTER(FenceHostSynchronize, work_awaited),
	AFTER(EventHostSynchronize, work_awaited),
	BEFORE(ContextDestroy, context_destroying),
	AFTER(CommandListAppendLaunchKernel, launch_appended),
	AFTER(CommandListAppendLaunchKernelWithParameters, launch_appended),
	AFTER(CommandListAppendLaunchKernelWithArguments, launch_appended),
	AFTER(CommandListAppendLaunchCooperativeKernel, launch_appended),
	AFTER(CommandListAppendLaunchKernelIndirect, launch_appended),
	AFTER(CommandListAppendLaunchMultipleKernelsIndirect, launches_appended),
	AFTER(CommandListAppendMemoryFill, memory_filled),
	AFTER(CommandListAppendMemoryFillWithParameters, memory_filled),
	AFTER(CommandListAppendMemoryCopy, memory_copied),
	AFTER(CommandListAppendMemoryCopyRegion, memory_copied),
	AFTER(CommandListAppendMemoryCopyFromContext, memory_copied),
	AFTER(CommandListAppendMemoryCopyWithParameters, memory_copied),
	AFTER(CommandListAppendImageCopy, image_copied),
	AFTER(CommandListAppendImageCopyRegion, image_copied),
	AFTER(CommandListAppendImageCopyToMemory, image_copied),
	AFTER(CommandListAppendImageCopyToMemoryExt, image_copied),
	AFTER(CommandListAppendImageCopyFromMemory, image_copied),
	AFTER(CommandListAppendImageCopyFromMemoryExt, image_copied),
	AFTER(CommandListAppendQueryKernelTimestamps, timestamps_queried),
	AFTER(CommandQueueExecuteCommandLists, lists_executed),
	AFTER(CommandListImmediateAppendCommandListsExp, lists_appended),
	AFTER(CommandListImmediateAppendCommandListsWithParameters, lists_appended),
	AFTER(CommandListBeginGraphCaptureExt, capture_has_begun),
	AFTER(CommandListBeginCaptureIntoGraphExt, capture_has_begun),
	AFTER(CommandListEndGraphCaptureExt, capture_has_ended),
	AFTER(GraphInstantiateExt, graph_instantiated),
	AFTER(CommandListAppendGraphExt, graph_appended),
	BEFORE(GraphDestroyExt, graph_destroying),
	BEFORE(ExecutableGraphDestroyExt, executable_destroying),
	AFTER(CommandListGetNextCommandIdExp, command_has_number),
	AFTER(CommandListGetNextCommandIdWithKernelsExp, command_has_number_and_kernels),
	AFTER(CommandListUpdateMutableCommandKernelsExp, kernels_changed),
	AFTER(DriverGetExtensionFunctionAddress, extension_found),
	AFTER(DriverGet, drivers_found),
#undef BEFORE
#undef AFTER
};

const struct callback *callbacks_list(size_t *count)
{
	*count = sizeof callbacks / sizeof *callbacks;
	return callbacks;
}
