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
#include "opencl_queues.h"
#include "timed_events.h"

static const enum opencl_function functions[] = {
	OPENCL_BUILD_PROGRAM,
	OPENCL_CREATE_QUEUE,
	OPENCL_CREATE_QUEUE_WITH_PROPERTIES,
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
	OPENCL_FINISH,
	OPENCL_QUEUE_INFO,
	OPENCL_EVENT_INFO,
	OPENCL_EVENT_PROFILING_INFO,
	OPENCL_RELEASE_QUEUE,
	OPENCL_RELEASE_KERNEL,
	OPENCL_RELEASE_PROGRAM,
	OPENCL_SET_EVENT_CALLBACK,
	OPENCL_WAIT_FOR_EVENTS,
	OPENCL_MEMSET,
	OPENCL_MEM_FILL,
	OPENCL_MEM_COPY,
	OPENCL_CREATE_COUNTER_QUEUE,
	OPENCL_CREATE_QUEUE_WITH_PROPERTIES_KHR,
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

static uintptr_t **event_argument(int32_t function, const struct opencl_call *call)
{
	return (uintptr_t **)call->arguments[function == OPENCL_ENQUEUE_TASK ? 4 : 8];
}

static bool has_mapped(const struct opencl_call *call)
{
	return call->is_exit && call->result && *(void *const *)call->result;
}

static bool has_succeeded(const struct opencl_call *call)
{
	return call->is_exit && call->result && *(const int32_t *)call->result == OPENCL_SUCCESS;
}

/* Returns NULL if nothing is known about the kernel. */
static struct kernel *kernel_get(struct thread *thread, uintptr_t handle)
{
	struct kernel *kernel = registry_get_kernel(&tracer.registry, thread ? &thread->cache : NULL, handle);

	return kernel ? kernel : announce_opencl_kernel(&tracer.announcer, handle);
}

/* Sets *event if the launch is to be timed, and returns it. */
static struct timed_launch *kernel_launching(uintptr_t queue, uintptr_t handle, uintptr_t **event)
{
	struct thread *thread = thread_get();

	if (!thread || !opencl_queue_has_times(queue))
		return NULL;
	struct kernel *kernel = kernel_get(thread, handle);
	return kernel && timing_chooses(&thread->timing, kernel) ? opencl_launch_begin(queue, event) : NULL;
}

__attribute__((noinline)) static void kernel_launched(uintptr_t frame_pointer, uintptr_t handle,
						      struct timed_launch *timed)
{
	listeners_check();
	if (!launches_are_reported())
		return;
	struct thread *thread = thread_get();
	struct kernel *kernel = kernel_get(thread, handle);
	if (!kernel)
		return;
	struct stack_chain stack = { 0 };
	if (thread)
		stack = stack_take(&tracer.stacks, thread->stacks, frame_pointer, &thread->trace);
	launch_report(thread, kernel, handle, 0, stack, timed);
}

static void launch_called(uintptr_t frame_pointer, const struct opencl_call *call)
{
	struct timed_launch *timed = (struct timed_launch *)*call->data;
	bool is_enqueued = has_succeeded(call);

	if (is_enqueued && launches_have_profiler())
		kernel_launched(frame_pointer, argument(call, 1), timed);
	if (timed)
		opencl_launch_end(timed, is_enqueued);
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

/* Returns whether a call that enqueues a copy or fill has succeeded. */
static bool has_enqueued(int32_t function, const struct opencl_call *call)
{
	return function == OPENCL_MAP_BUFFER || function == OPENCL_MAP_IMAGE ? has_mapped(call) : has_succeeded(call);
}

/* Returns whether a call has waited for all commands of its queue. */
static bool has_waited(int32_t function, const struct opencl_call *call)
{
	if (!has_enqueued(function, call))
		return false;
	switch (function) {
	case OPENCL_FINISH:
		return true;
	case OPENCL_READ_BUFFER:
	case OPENCL_READ_BUFFER_RECT:
	case OPENCL_READ_IMAGE:
	case OPENCL_WRITE_BUFFER:
	case OPENCL_WRITE_BUFFER_RECT:
	case OPENCL_WRITE_IMAGE:
	case OPENCL_MAP_BUFFER:
	case OPENCL_MAP_IMAGE:
		return *(const uint32_t *)call->arguments[2];
	case OPENCL_SVM_MAP:
	case OPENCL_SVM_COPY:
	case OPENCL_MEM_COPY:
		return *(const uint32_t *)call->arguments[1];
	default:
		return false;
	}
}

/* Returns the kernel that a successful call may have launched, DRIVER_KERNELS if none. */
static enum driver_kernel driver_kernel_of(int32_t function, const struct opencl_call *call)
{
	if (!has_enqueued(function, call))
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
		if (!call->is_exit)
			*call->data = timing_is_on() ? (uintptr_t)kernel_launching(argument(call, 0), argument(call, 1),
										   event_argument(function, call))
						     : 0;
		else
			launch_called((uintptr_t)__builtin_frame_address(0), call);
		break;
	case OPENCL_CREATE_QUEUE:
	case OPENCL_CREATE_QUEUE_WITH_PROPERTIES:
	case OPENCL_CREATE_QUEUE_WITH_PROPERTIES_KHR:
	case OPENCL_CREATE_COUNTER_QUEUE:
		if (call->is_exit)
			opencl_queue_created(call);
		else
			opencl_queue_creating(function, call);
		break;
	case OPENCL_QUEUE_INFO:
		opencl_queue_asked(call);
		break;
	case OPENCL_EVENT_INFO:
		opencl_event_asked(call);
		break;
	case OPENCL_EVENT_PROFILING_INFO:
		opencl_times_asked(call);
		break;
	case OPENCL_SET_EVENT_CALLBACK:
		if (!call->is_exit)
			timing_forget_event(&tracer.timing, argument(call, 0));
		break;
	case OPENCL_WAIT_FOR_EVENTS:
		if (has_succeeded(call))
			opencl_events_awaited((const uintptr_t *)argument(call, 1),
					      *(const uint32_t *)call->arguments[0]);
		break;
	case OPENCL_RELEASE_QUEUE:
		if (!call->is_exit)
			*call->data = opencl_is_last(tracer.opencl.queue_info, argument(call, 0),
						     OPENCL_QUEUE_REFERENCE_COUNT);
		else if (*call->data)
			timing_end_source(&tracer.timing, (const void *)argument(call, 0));
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
		if (!call->is_exit)
			*call->data = timing_is_pending(&tracer.timing) ? timing_now() : 0;
		else if (*call->data && has_waited(function, call))
			opencl_queue_awaited(argument(call, 0), *call->data);
		break;
	}
	errno = error;
}
