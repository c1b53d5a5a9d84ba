/* SPDX-License-Identifier: Apache-2.0 */
/* The callbacks of Level Zero's tracing layer: they keep the books, and fire the probes when somebody listens. */
#include "callbacks.h"

#include <errno.h>
#include <stdlib.h>

#include "probe_sites.h"
#include "tracer.h"

/* What a thread remembers. */
struct thread {
	struct registry_cache cache;
	struct stack_memory *stacks; /* NULL when there was no memory */
};
static __thread struct thread *this_thread;
static __thread bool this_thread_ended;

/* glibc 2.18: runs at the thread's end, and keeps this library loaded until then. */
extern int __cxa_thread_atexit_impl(void (*end)(void *), void *object, void *library);
extern void *__dso_handle __attribute__((visibility("hidden")));

static void thread_end(void *object)
{
	struct thread *thread = object;

	this_thread = NULL;
	this_thread_ended = true;
	stack_memory_free(thread->stacks);
	free(thread);
}

/* NULL when there is no memory, or when the thread's own end has begun. */
static struct thread *thread_get(void)
{
	if (this_thread || this_thread_ended)
		return this_thread;
	struct thread *thread = calloc(1, sizeof *thread);
	if (!thread)
		return NULL;
	if (__cxa_thread_atexit_impl(thread_end, thread, &__dso_handle) != 0) {
		free(thread);
		return NULL;
	}
	thread->stacks = stack_memory_create(&tracer.stacks);
	this_thread = thread;
	return thread;
}

/* The two loads that a launch costs when nobody listens, besides the tracing layer's own work. */
static inline bool is_listened_to(volatile const uint16_t *semaphore)
{
	return *semaphore > 0 || announcer_is_behind(&tracer.announcer, level_zero_compile_kernel_semaphore);
}

static void look_for_listeners(void)
{
	if (announcer_is_behind(&tracer.announcer, level_zero_compile_kernel_semaphore))
		announcer_look(&tracer.announcer);
}

/* A list that was created before the tracer was there: what it holds of launches is not known, what comes will be. */
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

/*
 * The driver keeps all code of a process in one heap of 4 GiB and makes its start the instruction base. Heaps are
 * aligned to their size where addresses have 48 bits.
 */
static uint64_t instruction_base(uint64_t address)
{
	return address & ~UINT64_C(0xffffffff);
}

static void launch_tell(struct registry_cache *cache, ze_kernel_handle_t handle, uint64_t recording,
			struct stack_chain stack)
{
	struct kernel *kernel = registry_get_kernel(&tracer.registry, cache, (uintptr_t)handle);

	if (!kernel)
		kernel = announce_unseen_kernel(&tracer.announcer, (uintptr_t)handle);
	if (!kernel)
		return;
	if (atomic_load_explicit(&kernel->prepared, memory_order_acquire) !=
	    atomic_load_explicit(&tracer.announcer.epoch, memory_order_relaxed))
		announce_kernel(&tracer.announcer, kernel, (uintptr_t)handle);
	/* NULL for a moment when another thread destroys the kernel and a new one takes its place. */
	const struct module *module = __atomic_load_n(&kernel->module, __ATOMIC_RELAXED);
	probe_launch_kernel(instruction_base(kernel->address), kernel->address, kernel->size, kernel->name,
			    module ? module->number : 0, recording, stack.identity, stack.innermost);
}

__attribute__((noinline)) static void launches_tell(uintptr_t frame_pointer, ze_command_list_handle_t list,
						    const ze_kernel_handle_t *kernels, uint32_t count)
{
	int error = errno;
	struct stack_trace trace; /* large: only when somebody listens */

	look_for_listeners();
	if (level_zero_launch_kernel_semaphore > 0) {
		struct thread *thread = thread_get();
		struct registry_cache *cache = thread ? &thread->cache : NULL;
		uint64_t recording = recording_of(cache, list);
		struct stack_chain stack =
			stack_take(&tracer.stacks, thread ? thread->stacks : NULL, frame_pointer, &trace);

		for (uint32_t i = 0; i < count; i++)
			launch_tell(cache, kernels[i], recording, stack);
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

CALLBACK(module_created)
{
	const ze_module_create_params_t *parameters = arguments;

	UNUSED_DATA;
	if (result != ZE_RESULT_SUCCESS)
		return;
	int error = errno;
	uintptr_t handle = (uintptr_t) * *parameters->pphModule;
	struct module *stale = registry_remove_module(&tracer.registry, handle);
	if (stale) /* it went unseen */
		announce_module_end(&tracer.announcer, stale);
	struct module *module = registry_add_module(&tracer.registry, handle);
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

/* Before the call: afterwards the handle may be another's already. */
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

/* A copy holds what the list held: it is the same recording. */
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

/* What the tracing layer is asked for; a loader may not have the newer ones. */
static const struct callback callbacks[] = {
#define BEFORE(function, callback)                                                                                     \
	{                                                                                                              \
		"zelTracer" #function "RegisterCallback", ZEL_REGISTER_PROLOGUE, callback                              \
	}
#define AFTER(function, callback)                                                                                      \
	{                                                                                                              \
		"zelTracer" #function "RegisterCallback", ZEL_REGISTER_EPILOGUE, callback                              \
	}
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
