/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The callback of OpenCL's tracing. Nothing is registered while no profiler is attached: at a launch, the driver still
 * has the kernel's name, address and program.
 */
#include "opencl_callbacks.h"

#include <errno.h>

#include "launch.h"
#include "opencl_queries.h"

static const enum opencl_function functions[] = {
	OPENCL_BUILD_PROGRAM,  OPENCL_ENQUEUE_ND_RANGE, OPENCL_ENQUEUE_TASK,
	OPENCL_RELEASE_KERNEL, OPENCL_RELEASE_PROGRAM,  OPENCL_ENQUEUE_ND_COUNT,
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
	launch_report(thread, kernel, handle, 0, stack);
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
		break;
	}
	errno = error;
}
