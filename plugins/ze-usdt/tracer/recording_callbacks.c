/* SPDX-License-Identifier: Apache-2.0 */
/* See recording_callbacks.h. */
#include "recording_callbacks.h"

#include <errno.h>

#include "appends.h"
#include "captures.h"
#include "timed_events.h"

#define CALLBACK(name) void name(void *arguments, ze_result_t result, void *data, void **call_data)
#define UNUSED_DATA (void)data, (void)call_data

/* Wrappers of the driver's own functions (extensions.c) pass no data. */
static enum handle_owner owner_of(const void *data)
{
	return data ? HANDLES_LOADER : HANDLES_DRIVER;
}

/* A launch without an event of the program may get one of the tracer's: *call_data until it has been appended. */
#define TIMED_LAUNCH(callback, type)                                                                                   \
	CALLBACK(callback)                                                                                             \
	{                                                                                                              \
		const struct type *parameters = arguments;                                                             \
                                                                                                                       \
		(void)result;                                                                                          \
		(void)data;                                                                                            \
		if (timing_is_on() && !*parameters->event)                                                             \
			*call_data = appends_time_launch(*parameters->list, *parameters->kernel, parameters->event);   \
	}
TIMED_LAUNCH(launch_appending, append_launch_parameters)
TIMED_LAUNCH(launch_appending_with_parameters, append_with_parameters_parameters)
TIMED_LAUNCH(launch_appending_with_arguments, append_with_arguments_parameters)

CALLBACK(launch_appended)
{
	const struct append_parameters *parameters = arguments;
	struct timed_launch *timed = call_data ? *call_data : NULL;

	if (result == ZE_RESULT_SUCCESS)
		appends_launches((uintptr_t)__builtin_frame_address(0), *parameters->list, owner_of(data),
				 parameters->kernel, 1, timed);
	if (timed)
		level_zero_launch_end(timed, result == ZE_RESULT_SUCCESS);
}

CALLBACK(work_awaited)
{
	UNUSED_DATA;
	(void)arguments;
	(void)result;
	timing_read(&tracer.timing, TIMED_LAUNCHES_MAX);
}

CALLBACK(context_destroying)
{
	const ze_context_destroy_params_t *parameters = arguments;

	UNUSED_DATA;
	(void)result;
	timing_end_context(&tracer.timing, *parameters->phContext);
}

CALLBACK(launches_appended)
{
	const struct append_multiple_parameters *parameters = arguments;

	(void)call_data;
	if (result == ZE_RESULT_SUCCESS)
		appends_launches((uintptr_t)__builtin_frame_address(0), *parameters->list, owner_of(data),
				 *parameters->kernels, *parameters->count, NULL);
}

#define DRIVER_KERNEL(callback, kernel)                                                                                \
	CALLBACK(callback)                                                                                             \
	{                                                                                                              \
		const struct append_parameters *parameters = arguments;                                                \
                                                                                                                       \
		(void)call_data;                                                                                       \
		if (result == ZE_RESULT_SUCCESS)                                                                       \
			appends_driver_kernel((uintptr_t)__builtin_frame_address(0), *parameters->list,                \
					      owner_of(data), kernel);                                                 \
	}
DRIVER_KERNEL(memory_filled, DRIVER_MEMORY_FILL)
DRIVER_KERNEL(memory_copied, DRIVER_MEMORY_COPY)
DRIVER_KERNEL(image_copied, DRIVER_IMAGE_COPY)
DRIVER_KERNEL(timestamps_queried, DRIVER_KERNEL_TIMESTAMPS)

CALLBACK(lists_executed)
{
	const struct execute_parameters *parameters = arguments;

	(void)call_data;
	if (result == ZE_RESULT_SUCCESS && is_attached(&level_zero_execute_list_semaphore))
		appends_lists(NULL, owner_of(data), *parameters->lists, *parameters->count);
}

CALLBACK(lists_appended)
{
	const struct execute_parameters *parameters = arguments;

	(void)call_data;
	if (result == ZE_RESULT_SUCCESS)
		appends_lists(*parameters->list, owner_of(data), *parameters->lists, *parameters->count);
}

static void list_add(uintptr_t handle, uint64_t recording, uintptr_t context, bool in_order)
{
	struct list *list = registry_add_list(&tracer.registry, handle, recording);

	if (!list)
		return;
	atomic_store_explicit(&list->context, context, memory_order_relaxed);
	atomic_store_explicit(&list->in_order, in_order, memory_order_relaxed);
}

CALLBACK(list_created)
{
	const ze_command_list_create_params_t *parameters = arguments;

	UNUSED_DATA;
	if (result != ZE_RESULT_SUCCESS)
		return;
	int error = errno;
	list_add((uintptr_t) * *parameters->pphCommandList, registry_next_recording(&tracer.registry),
		 (uintptr_t)*parameters->phContext, false);
	errno = error;
}

CALLBACK(immediate_list_created)
{
	const ze_command_list_create_immediate_params_t *parameters = arguments;

	UNUSED_DATA;
	if (result != ZE_RESULT_SUCCESS)
		return;
	int error = errno;
	list_add((uintptr_t) * *parameters->pphCommandList, 0, (uintptr_t)*parameters->phContext,
		 (*parameters->paltdesc)->flags & QUEUE_FLAG_IN_ORDER);
	errno = error;
}

/* A copied list is the same recording. */
CALLBACK(list_cloned)
{
	const struct clone_parameters *parameters = arguments;

	(void)call_data;
	if (result != ZE_RESULT_SUCCESS)
		return;
	int error = errno;
	const struct list *list = appends_list(NULL, *parameters->list, owner_of(data));
	if (list)
		registry_clone_list(&tracer.registry, list, (uintptr_t) * *parameters->clone);
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
		registry_reset_list(&tracer.registry, list);
}

CALLBACK(list_destroying)
{
	const ze_command_list_destroy_params_t *parameters = arguments;

	UNUSED_DATA;
	(void)result;
	timing_end_source(&tracer.timing, *parameters->phCommandList);
	capture_list_destroyed(*parameters->phCommandList);
	registry_remove_list(&tracer.registry, (uintptr_t)*parameters->phCommandList);
}

CALLBACK(capture_has_begun)
{
	const struct capture_parameters *parameters = arguments;

	(void)call_data;
	if (result != ZE_RESULT_SUCCESS)
		return;
	int error = errno;
	capture_begun(*parameters->list, owner_of(data));
	errno = error;
}

CALLBACK(capture_has_ended)
{
	const struct end_capture_parameters *parameters = arguments;

	(void)call_data;
	int error = errno;
	capture_ended(*parameters->list, owner_of(data), result == ZE_RESULT_SUCCESS ? **parameters->graph : 0);
	errno = error;
}

CALLBACK(graph_instantiated)
{
	const struct instantiate_parameters *parameters = arguments;

	UNUSED_DATA;
	if (result != ZE_RESULT_SUCCESS)
		return;
	int error = errno;
	registry_add_executable(&tracer.registry, *parameters->graph, **parameters->executable);
	errno = error;
}

CALLBACK(graph_appended)
{
	const struct append_graph_parameters *parameters = arguments;

	(void)call_data;
	if (result == ZE_RESULT_SUCCESS)
		appends_graph(*parameters->list, owner_of(data), *parameters->executable);
}

CALLBACK(graph_destroying)
{
	const struct destroy_graph_parameters *parameters = arguments;

	UNUSED_DATA;
	(void)result;
	registry_remove_graph(&tracer.registry, *parameters->graph);
}

CALLBACK(executable_destroying)
{
	const struct destroy_graph_parameters *parameters = arguments;

	UNUSED_DATA;
	(void)result;
	registry_remove_executable(&tracer.registry, *parameters->graph);
}

/* The next launch has this number, with which its kernel may be changed later. */
static void command_numbered(ze_command_list_handle_t handle, enum handle_owner owner,
			     const struct command_id_description *description, uint64_t command)
{
	int error = errno;
	struct list *list = appends_list(NULL, handle, owner);

	if (list)
		atomic_store_explicit(&list->next_command, description->flags & COMMAND_FLAG_KERNEL ? command : 0,
				      memory_order_relaxed);
	errno = error;
}

CALLBACK(command_has_number)
{
	const struct command_id_parameters *parameters = arguments;

	(void)call_data;
	if (result == ZE_RESULT_SUCCESS)
		command_numbered(*parameters->list, owner_of(data), *parameters->description, **parameters->command);
}

CALLBACK(command_has_number_and_kernels)
{
	const struct command_id_with_kernels_parameters *parameters = arguments;

	(void)call_data;
	if (result == ZE_RESULT_SUCCESS)
		command_numbered(*parameters->list, owner_of(data), *parameters->description, **parameters->command);
}

CALLBACK(kernels_changed)
{
	const struct change_kernels_parameters *parameters = arguments;

	(void)call_data;
	if (result != ZE_RESULT_SUCCESS)
		return;
	int error = errno;
	struct list *list = appends_list(NULL, *parameters->list, owner_of(data));
	for (uint32_t i = 0; list && i < *parameters->count; i++) {
		uint64_t recording = registry_change_launch(&tracer.registry, list, (*parameters->commands)[i]);

		if (recording)
			appends_changed_launch((uintptr_t)__builtin_frame_address(0), recording,
					       (*parameters->kernels)[i], owner_of(data));
		else /* which launch it was is not known */
			list_add_launches(list, ZE_LAUNCHES_UNKNOWN);
	}
	errno = error;
}
