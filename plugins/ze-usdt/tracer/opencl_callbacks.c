/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The callback of OpenCL's tracing. Nothing is registered while no profiler is attached: at a launch, the driver still
 * has the kernel's name, address and program.
 */
#include "opencl_callbacks.h"

#include <errno.h>

#include "driver_kernels.h"
#include "launch.h"
#include "opencl_queries.h"

static const enum opencl_function functions[] = {
	OPENCL_BUILD_PROGRAM,
	OPENCL_COPY_BUFFER,
	OPENCL_COPY_BUFFER_RECT,
	OPENCL_COPY_BUFFER_TO_IMAGE,
	OPENCL_COPY_IMAGE,
	OPENCL_FILL_BUFFER,
	OPENCL_FILL_IMAGE,
	OPENCL_MAP_BUFFER,
	OPENCL_COPY_IMAGE_TO_BUFFER,
	OPENCL_MAP_IMAGE,
	OPENCL_ENQUEUE_ND_RANGE,
	OPENCL_READ_BUFFER,
	OPENCL_READ_BUFFER_RECT,
	OPENCL_READ_IMAGE,
	OPENCL_SVM_MAP,
	OPENCL_SVM_FILL,
	OPENCL_SVM_COPY,
	OPENCL_SVM_UNMAP,
	OPENCL_ENQUEUE_TASK,
	OPENCL_UNMAP,
	OPENCL_WRITE_BUFFER,
	OPENCL_WRITE_BUFFER_RECT,
	OPENCL_WRITE_IMAGE,
	OPENCL_RELEASE_KERNEL,
	OPENCL_RELEASE_PROGRAM,
	OPENCL_MEMSET,
	OPENCL_MEM_FILL,
	OPENCL_MEM_COPY,
	OPENCL_ENQUEUE_ND_COUNT,
};

const enum opencl_function *opencl_functions(size_t *count)
{
	*count = sizeof functions / sizeof *functions;
	return functions;
}

static uintptr_t argument(const struct opencl_call *call, unsigned index)
{
	return *(const uintptr_t *)call->arguments[index];
}

static bool has_mapped(const struct opencl_call *call)
{
	return call->is_exit && call->result && *(void *const *)call->result;
}

static bool has_succeeded(const struct opencl_call *call)
{
	return call->is_exit && call->result && *(const int32_t *)call->result == OPENCL_SUCCESS;
}

__attribute__((noinline)) static void kernel_launched(uintptr_t frame_pointer, uintptr_t handle)
{
	listeners_check();
	if (!launches_are_reported())
		return;
	struct thread *thread = thread_get();
	struct kernel *kernel = registry_get_kernel(&tracer.registry, thread ? &thread->cache : NULL, handle);
	if (!kernel)
		kernel = announce_opencl_kernel(&tracer.announcer, handle);
	if (!kernel)
		return;
	struct stack_chain stack = { 0 };
	if (thread)
		stack = stack_take(&tracer.stacks, thread->stacks, frame_pointer, &thread->trace);
	launch_report(thread, kernel, handle, 0, stack, NULL);
}

/* A call for which the driver launches a kernel of its own, unless the processor or a copy engine serves it. */
__attribute__((noinline)) static void driver_kernel_launched(uintptr_t frame_pointer, enum driver_kernel kernel)
{
	listeners_check();
	if (!launches_are_reported())
		return;
	struct thread *thread = thread_get();
	struct stack_chain stack = { 0 };
	if (thread)
		stack = stack_take(&tracer.stacks, thread->stacks, frame_pointer, &thread->trace);
	launch_report(thread, &driver_kernels[kernel], 0, 0, stack, NULL);
}

/* Returns the kernel that a successful call may have launched, DRIVER_KERNELS if none. */
static enum driver_kernel driver_kernel_of(int32_t function, const struct opencl_call *call)
{
	bool is_map = function == OPENCL_MAP_BUFFER || function == OPENCL_MAP_IMAGE;

	if (is_map ? !has_mapped(call) : !has_succeeded(call))
		return DRIVER_KERNELS;
	switch (function) {
	case OPENCL_FILL_BUFFER:
	case OPENCL_SVM_FILL:
	case OPENCL_MEMSET:
	case OPENCL_MEM_FILL:
		return DRIVER_MEMORY_FILL;
	case OPENCL_COPY_BUFFER:
	case OPENCL_COPY_BUFFER_RECT:
	case OPENCL_MAP_BUFFER:
	case OPENCL_READ_BUFFER:
	case OPENCL_READ_BUFFER_RECT:
	case OPENCL_WRITE_BUFFER:
	case OPENCL_WRITE_BUFFER_RECT:
	case OPENCL_SVM_MAP:
	case OPENCL_SVM_UNMAP:
	case OPENCL_SVM_COPY:
	case OPENCL_MEM_COPY:
		return DRIVER_MEMORY_COPY;
	case OPENCL_FILL_IMAGE:
		return DRIVER_IMAGE_FILL;
	case OPENCL_COPY_BUFFER_TO_IMAGE:
	case OPENCL_COPY_IMAGE:
	case OPENCL_COPY_IMAGE_TO_BUFFER:
	case OPENCL_MAP_IMAGE:
	case OPENCL_READ_IMAGE:
	case OPENCL_WRITE_IMAGE:
		return DRIVER_IMAGE_COPY;
	case OPENCL_UNMAP:
		return opencl_is_image(&tracer.opencl, argument(call, 1)) ? DRIVER_IMAGE_COPY : DRIVER_MEMORY_COPY;
	default:
		return DRIVER_KERNELS;
	}
}

static void program_ends(uintptr_t handle)
{
	struct module *module = registry_remove_module(&tracer.registry, handle);

	if (module)
		announce_module_end(&tracer.announcer, module);
}

/* A program that is built again has other code. */
static void program_built(uintptr_t handle)
{
	program_ends(handle);
	listeners_check();
	announce_opencl_program(&tracer.announcer, handle);
}

/* Kernels hold references to their program. */
static void kernel_releasing(uintptr_t handle)
{
	const struct kernel *known = registry_get_kernel(&tracer.registry, NULL, handle);

	if (!known || !opencl_kernel_is_last(&tracer.opencl, handle))
		return;
	uintptr_t program = opencl_kernel_program(&tracer.opencl, handle);
	bool last = program && opencl_program_is_last(&tracer.opencl, program);
	struct kernel *kernel = registry_remove_kernel(&tracer.registry, handle);
	if (kernel)
		announce_kernel_end(&tracer.announcer, kernel);
	if (last)
		program_ends(program);
}

static void program_releasing(uintptr_t handle)
{
	if (registry_get_module(&tracer.registry, handle) && opencl_program_is_last(&tracer.opencl, handle))
		program_ends(handle);
}

void opencl_called(int32_t function, struct opencl_call *call, void *data)
{
	int error = errno;

	(void)data;
	switch (function) {
	case OPENCL_ENQUEUE_ND_RANGE:
	case OPENCL_ENQUEUE_TASK:
	case OPENCL_ENQUEUE_ND_COUNT:
		if (has_succeeded(call) && launches_have_profiler())
			kernel_launched((uintptr_t)__builtin_frame_address(0), argument(call, 1));
		break;
	case OPENCL_BUILD_PROGRAM:
		if (!call->is_exit)
			announce_module_call();
		else if (has_succeeded(call))
			program_built(argument(call, 0));
		break;
	case OPENCL_RELEASE_KERNEL:
		if (!call->is_exit)
			kernel_releasing(argument(call, 0));
		break;
	case OPENCL_RELEASE_PROGRAM:
		if (!call->is_exit)
			program_releasing(argument(call, 0));
		break;
	default:
		if (launches_have_profiler()) {
			enum driver_kernel kernel = driver_kernel_of(function, call);
			if (kernel != DRIVER_KERNELS)
				driver_kernel_launched((uintptr_t)__builtin_frame_address(0), kernel);
		}
		break;
	}
	errno = error;
}
