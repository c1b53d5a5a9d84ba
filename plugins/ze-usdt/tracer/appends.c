/* SPDX-License-Identifier: Apache-2.0 */
/* See appends.h. */
#include "appends.h"

#include <errno.h>

#include "captures.h"
#include "timed_events.h"

struct list *appends_list(struct registry_cache *cache, ze_command_list_handle_t handle, enum handle_owner owner)
{
	struct list *list = registry_get_list(&tracer.registry, cache, (uintptr_t)handle);
	ze_bool_t immediate = true;

	/* The loader's functions do not accept the driver's handles. */
	if (list || owner == HANDLES_DRIVER)
		return list;
	if (!tracer.calls.zeCommandListIsImmediate ||
	    tracer.calls.zeCommandListIsImmediate(handle, &immediate) != ZE_RESULT_SUCCESS)
		immediate = true;
	list = registry_add_list(&tracer.registry, (uintptr_t)handle,
				 immediate ? 0 : registry_next_recording(&tracer.registry));
	if (list && !immediate)
		list_add_launches(list, ZE_LAUNCHES_UNKNOWN);
	return list;
}

/* Returns the recording that launches appended to the list become part of, to which they are added; 0: they execute. */
static uint64_t target_add(struct list *list, ze_command_list_handle_t handle, enum handle_owner owner,
			   uint64_t launches)
{
	uint64_t recording = list ? atomic_load_explicit(&list->recording, memory_order_relaxed) : 0;

	if (recording) {
		list_add_launches(list, launches);
		return recording;
	}
	struct graph *graph = capture_of(list, handle, owner);
	if (!graph)
		return 0;
	graph_add_launches(graph, launches);
	return graph->recording;
}

/* The same for one launch, which has a recording of its own if the program may change its kernel later. */
static uint64_t launch_target(struct list *list, ze_command_list_handle_t handle, enum handle_owner owner)
{
	uint64_t command = list ? atomic_load_explicit(&list->next_command, memory_order_relaxed) : 0;

	if (command) {
		atomic_store_explicit(&list->next_command, 0, memory_order_relaxed);
		uint64_t recording = registry_add_changeable(&tracer.registry, list, command);
		if (recording)
			return recording;
	}
	return target_add(list, handle, owner, 1);
}

/* Returns the kernel of a launch, or NULL if nothing is known about it. */
static struct kernel *launched_kernel(struct registry_cache *cache, ze_kernel_handle_t handle, enum handle_owner owner)
{
	struct kernel *kernel = registry_get_kernel(&tracer.registry, cache, (uintptr_t)handle);

	return kernel || owner == HANDLES_DRIVER ? kernel
						 : announce_unseen_kernel(&tracer.announcer, (uintptr_t)handle);
}

static struct stack_chain stack_of(struct thread *thread, uintptr_t frame_pointer)
{
	return thread ? stack_take(&tracer.stacks, thread->stacks, frame_pointer, &thread->trace)
		      : (struct stack_chain){ 0 };
}

static void kernel_announce(struct thread *thread, ze_kernel_handle_t handle, enum handle_owner owner,
			    uint64_t recording, struct stack_chain stack, struct timed_launch *timed)
{
	struct kernel *kernel = launched_kernel(thread ? &thread->cache : NULL, handle, owner);

	if (kernel)
		launch_report(thread, kernel, (uintptr_t)handle, recording, stack, timed);
}

static void launches_append(uintptr_t frame_pointer, ze_command_list_handle_t handle, enum handle_owner owner,
			    const ze_kernel_handle_t *kernels, uint32_t count, struct timed_launch *timed)
{
	listeners_check();
	bool is_reported = launches_are_reported();
	struct thread *thread = thread_get();
	struct list *list = appends_list(thread ? &thread->cache : NULL, handle, owner);
	struct stack_chain stack = is_reported ? stack_of(thread, frame_pointer) : (struct stack_chain){ 0 };

	for (uint32_t i = 0; i < count; i++) {
		uint64_t recording = launch_target(list, handle, owner);

		if (is_reported)
			kernel_announce(thread, kernels[i], owner, recording, stack, timed);
	}
}

/* A driver has few groups of queues of one kind. */
#define QUEUE_GROUPS_MAX 16

/* Returns whether the list may launch kernels; it may if nothing is known. */
static bool list_may_compute(ze_command_list_handle_t handle)
{
	const struct level_zero *calls = &tracer.calls;
	ze_command_queue_group_properties_t groups[QUEUE_GROUPS_MAX];
	uint32_t count = QUEUE_GROUPS_MAX, ordinal;
	ze_device_handle_t device;

	for (unsigned i = 0; i < QUEUE_GROUPS_MAX; i++)
		groups[i] = (ze_command_queue_group_properties_t){
			.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES
		};
	if (!calls->zeCommandListGetDeviceHandle || !calls->zeCommandListGetOrdinal ||
	    !calls->zeDeviceGetCommandQueueGroupProperties ||
	    calls->zeCommandListGetDeviceHandle(handle, &device) != ZE_RESULT_SUCCESS ||
	    calls->zeCommandListGetOrdinal(handle, &ordinal) != ZE_RESULT_SUCCESS ||
	    calls->zeDeviceGetCommandQueueGroupProperties(device, &count, groups) != ZE_RESULT_SUCCESS ||
	    ordinal >= count)
		return true;
	return groups[ordinal].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE;
}

static bool list_is_of_copy_engine(struct list *list, ze_command_list_handle_t handle, enum handle_owner owner)
{
	int engine = list ? atomic_load_explicit(&list->engine, memory_order_relaxed) : LIST_ENGINE_COMPUTE;

	/* The loader's functions do not accept the driver's handles. */
	if (engine == LIST_ENGINE_UNKNOWN && owner == HANDLES_LOADER) {
		engine = list_may_compute(handle) ? LIST_ENGINE_COMPUTE : LIST_ENGINE_COPY;
		atomic_store_explicit(&list->engine, engine, memory_order_relaxed);
	}
	return engine == LIST_ENGINE_COPY;
}

static void driver_kernel_append(uintptr_t frame_pointer, ze_command_list_handle_t handle, enum handle_owner owner,
				 enum driver_kernel kernel)
{
	listeners_check();
	struct thread *thread = thread_get();
	struct list *list = appends_list(thread ? &thread->cache : NULL, handle, owner);

	if (list_is_of_copy_engine(list, handle, owner))
		return;
	uint64_t recording = target_add(list, handle, owner, 1);
	if (launches_are_reported())
		launch_report(thread, &driver_kernels[kernel], 0, recording, stack_of(thread, frame_pointer), NULL);
}

/*
 * Without a profiler, launches are only counted, and only those of recordings: a later profiler misses them. Returns
 * false if more has to be done.
 */
static bool launches_count(ze_command_list_handle_t handle, uint32_t count)
{
	struct thread *thread = thread_get();
	struct list *list = thread ? registry_get_list(&tracer.registry, &thread->cache, (uintptr_t)handle) : NULL;

	if (!list || atomic_load_explicit(&list->next_command, memory_order_relaxed))
		return false;
	if (atomic_load_explicit(&list->recording, memory_order_relaxed))
		list_add_launches(list, count);
	else if (atomic_load_explicit(&tracer.registry.captures, memory_order_acquire))
		return false;
	return true;
}

void appends_launches(uintptr_t frame_pointer, ze_command_list_handle_t list, enum handle_owner owner,
		      const ze_kernel_handle_t *kernels, uint32_t count, struct timed_launch *timed)
{
	if (!launches_have_profiler() && launches_count(list, count))
		return;
	int error = errno;
	launches_append(frame_pointer, list, owner, kernels, count, timed);
	errno = error;
}

void appends_driver_kernel(uintptr_t frame_pointer, ze_command_list_handle_t handle, enum handle_owner owner,
			   enum driver_kernel kernel)
{
	int error = errno;
	driver_kernel_append(frame_pointer, handle, owner, kernel);
	errno = error;
}

void appends_changed_launch(uintptr_t frame_pointer, uint64_t recording, ze_kernel_handle_t kernel,
			    enum handle_owner owner)
{
	listeners_check();
	if (!launches_are_reported())
		return;
	struct thread *thread = thread_get();
	kernel_announce(thread, kernel, owner, recording, stack_of(thread, frame_pointer), NULL);
}

struct timed_launch *appends_time_launch(ze_command_list_handle_t handle, ze_kernel_handle_t kernel_handle,
					 ze_event_handle_t *event)
{
	int error = errno;
	struct thread *thread = thread_get();
	struct list *list = thread ? registry_get_list(&tracer.registry, &thread->cache, (uintptr_t)handle) : NULL;
	struct kernel *kernel =
		list ? registry_get_kernel(&tracer.registry, &thread->cache, (uintptr_t)kernel_handle) : NULL;
	struct timed_launch *timed = NULL;

	/*
	 * The events of commands that execute repeatedly have one time stamp for all executions. While anything is
	 * captured, a launch that waits for it may become part of the capture.
	 */
	if (kernel && !atomic_load_explicit(&list->recording, memory_order_relaxed) &&
	    !atomic_load_explicit(&list->next_command, memory_order_relaxed) &&
	    !atomic_load_explicit(&tracer.registry.captures, memory_order_acquire) &&
	    timing_chooses(&thread->timing, kernel))
		timed = level_zero_launch_begin(list, handle, event);
	errno = error;
	return timed;
}

static bool executions_are_reported(void)
{
	listeners_check();
	return level_zero_execute_list_semaphore > 0;
}

static void list_execute(const struct list *list, uint64_t parent)
{
	uint64_t recording = atomic_load_explicit(&list->recording, memory_order_relaxed);

	if (!recording)
		return;
	probe_execute_list(recording, parent, atomic_load_explicit(&list->launches, memory_order_relaxed));
	/* Most lists have none, and take no lock. */
	for (size_t i = 0; i < list->changeable_count; i++) {
		recording = registry_get_changeable(&tracer.registry, list, i);
		if (recording)
			probe_execute_list(recording, parent, 1);
	}
}

/* Launches of a list, with those whose kernels may be changed. */
static uint64_t list_launches(const struct list *list)
{
	uint64_t launches = atomic_load_explicit(&list->launches, memory_order_relaxed);

	return launches_sum(launches, list->changeable_count);
}

void appends_lists(ze_command_list_handle_t handle, enum handle_owner owner, const ze_command_list_handle_t *executed,
		   uint32_t count)
{
	int error = errno;
	bool is_reported = executions_are_reported();
	struct thread *thread = thread_get();
	struct registry_cache *cache = thread ? &thread->cache : NULL;
	struct list *list = handle ? appends_list(cache, handle, owner) : NULL;

	for (uint32_t i = 0; i < count; i++) {
		struct list *child = appends_list(cache, executed[i], owner);

		if (!child)
			continue;
		uint64_t parent = handle ? target_add(list, handle, owner, list_launches(child)) : 0;
		if (is_reported)
			list_execute(child, parent);
	}
	errno = error;
}

void appends_graph(ze_command_list_handle_t handle, enum handle_owner owner, uintptr_t executable)
{
	int error = errno;
	bool is_reported = executions_are_reported();
	struct thread *thread = thread_get();
	struct list *list = appends_list(thread ? &thread->cache : NULL, handle, owner);
	const struct graph *graph = registry_get_executable(&tracer.registry, executable);
	uint64_t launches = graph ? atomic_load_explicit(&graph->launches, memory_order_relaxed) : ZE_LAUNCHES_UNKNOWN;
	uint64_t parent = target_add(list, handle, owner, launches);

	if (is_reported)
		probe_execute_list(graph ? graph->recording : 0, parent, launches);
	errno = error;
}
