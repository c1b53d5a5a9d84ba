/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks of Level Zero's tracing layer: they track objects, and fire the probes when a profiler is attached. */
#include "callbacks.h"

#include <errno.h>

#include "launch.h"

/* A list created before the tracer was loaded: launches recorded earlier are unknown. */
static struct list *list_adopt(ze_command_list_handle_t handle)
{
	ze_bool_t immediate = true;

	if (!tracer.calls.zeCommandListIsImmediate ||
	    tracer.calls.zeCommandListIsImmediate(handle, &immediate) != ZE_RESULT_SUCCESS)
		immediate = true;
	return registry_add_list(&tracer.registry, (uintptr_t)handle,
				 immediate ? 0 : registry_next_recording(&tracer.registry));
}

static uint64_t recording_of(struct registry_cache *cache, ze_command_list_handle_t handle)
{
	struct list *list = registry_get_list(&tracer.registry, cache, (uintptr_t)handle);

	if (!list)
		list = list_adopt(handle);
	return list ? atomic_load_explicit(&list->recording, memory_order_relaxed) : 0;
}

/* Returns the kernel of a launch, or NULL if nothing is known about it. */
static struct kernel *launched_kernel(struct registry_cache *cache, ze_kernel_handle_t handle)
{
	struct kernel *kernel = registry_get_kernel(&tracer.registry, cache, (uintptr_t)handle);

	return kernel ? kernel : announce_unseen_kernel(&tracer.announcer, (uintptr_t)handle);
}

__attribute__((noinline)) static void launches_tell(uintptr_t frame_pointer, ze_command_list_handle_t list,
						    const ze_kernel_handle_t *kernels, uint32_t count)
{
	int error = errno;

	look_for_listeners();
	if (level_zero_launch_kernel_semaphore > 0) {
		struct thread *thread = thread_get();
		struct registry_cache *cache = thread ? &thread->cache : NULL;
		uint64_t recording = recording_of(cache, list);
		struct stack_chain stack = { 0 };
		if (thread)
			stack = stack_take(&tracer.stacks, thread->stacks, frame_pointer, &thread->trace);

		for (uint32_t i = 0; i < count; i++) {
			struct kernel *kernel = launched_kernel(cache, kernels[i]);

			if (kernel)
				launch_tell(kernel, (uintptr_t)kernels[i], recording, stack);
		}
	}
	errno = error;
}

#define CALLBACK(name) static void name(void *arguments, ze_result_t result, void *data, void **call_data)
#define UNUSED_DATA (void)data, (void)call_data

CALLBACK(launch_appended)
{
	const struct append_parameters *parameters = arguments;

	UNUSED_DATA;
	if (result == ZE_RESULT_SUCCESS && is_listened_to(&level_zero_launch_kernel_semaphore))
		launches_tell((uintptr_t)__builtin_frame_address(0), *parameters->list, parameters->kernel, 1);
}

CALLBACK(launches_appended)
{
	const struct append_multiple_parameters *parameters = arguments;

	UNUSED_DATA;
	if (result == ZE_RESULT_SUCCESS && is_listened_to(&level_zero_launch_kernel_semaphore))
		launches_tell((uintptr_t)__builtin_frame_address(0), *parameters->list, *parameters->kernels,
			      *parameters->count);
}

CALLBACK(lists_executed)
{
	const struct execute_parameters *parameters = arguments;

	UNUSED_DATA;
	if (result != ZE_RESULT_SUCCESS || !is_listened_to(&level_zero_execute_list_semaphore))
		return;
	int error = errno;
	look_for_listeners();
	if (level_zero_execute_list_semaphore > 0) {
		struct thread *thread = thread_get();

		for (uint32_t i = 0; i < *parameters->count; i++) {
			uint64_t recording = recording_of(thread ? &thread->cache : NULL, (*parameters->lists)[i]);

			if (recording)
				probe_execute_list(recording);
		}
	}
	errno = error;
}

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
	look_for_listeners();
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
	look_for_listeners();
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

CALLBACK(list_created)
{
	const ze_command_list_create_params_t *parameters = arguments;

	UNUSED_DATA;
	if (result != ZE_RESULT_SUCCESS)
		return;
	int error = errno;
	registry_add_list(&tracer.registry, (uintptr_t) * *parameters->pphCommandList,
			  registry_next_recording(&tracer.registry));
	errno = error;
}

CALLBACK(immediate_list_created)
{
	const ze_command_list_create_immediate_params_t *parameters = arguments;

	UNUSED_DATA;
	if (result != ZE_RESULT_SUCCESS)
		return;
	int error = errno;
	registry_add_list(&tracer.registry, (uintptr_t) * *parameters->pphCommandList, 0);
	errno = error;
}

/* A copied list is the same recording. */
CALLBACK(list_cloned)
{
	const struct clone_parameters *parameters = arguments;

	UNUSED_DATA;
	if (result != ZE_RESULT_SUCCESS)
		return;
	int error = errno;
	registry_add_list(&tracer.registry, (uintptr_t) * *parameters->clone, recording_of(NULL, *parameters->list));
	errno = error;
}

CALLBACK(list_reset)
{
	const ze_command_list_reset_params_t *parameters = arguments;

	UNUSED_DATA;
	if (result != ZE_RESULT_SUCCESS)
		return;
	struct list *list = registry_get_list(&tracer.registry, NULL, (uintptr_t)*parameters->phCommandList);
	if (list && atomic_load_explicit(&list->recording, memory_order_relaxed))
		atomic_store_explicit(&list->recording, registry_next_recording(&tracer.registry),
				      memory_order_relaxed);
}

CALLBACK(list_destroying)
{
	const ze_command_list_destroy_params_t *parameters = arguments;

	UNUSED_DATA;
	(void)result;
	registry_remove_list(&tracer.registry, (uintptr_t)*parameters->phCommandList);
}

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
	AFTER(CommandListAppendLaunchKernel, launch_appended),
	AFTER(CommandListAppendLaunchKernelWithParameters, launch_appended),
	AFTER(CommandListAppendLaunchKernelWithArguments, launch_appended),
	AFTER(CommandListAppendLaunchCooperativeKernel, launch_appended),
	AFTER(CommandListAppendLaunchKernelIndirect, launch_appended),
	AFTER(CommandListAppendLaunchMultipleKernelsIndirect, launches_appended),
	AFTER(CommandQueueExecuteCommandLists, lists_executed),
	AFTER(CommandListImmediateAppendCommandListsExp, lists_executed),
	AFTER(CommandListImmediateAppendCommandListsWithParameters, lists_executed),
#undef BEFORE
#undef AFTER
};

const struct callback *callbacks_list(size_t *count)
{
	*count = sizeof callbacks / sizeof *callbacks;
	return callbacks;
}
