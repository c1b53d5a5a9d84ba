/* SPDX-License-Identifier: Apache-2.0 */
/* See captures.h. */
#include "captures.h"

#define DRIVERS_MAX 16
#define CONTEXTS (sizeof tracer.registry.capture_contexts / sizeof *tracer.registry.capture_contexts)

/* Returns whether a driver has both functions; names end in Exp since 2025, and in Ext in the specification. */
static bool driver_functions(ze_driver_handle_t driver, const char *get_graph, const char *is_capturing)
{
	struct level_zero *calls = &tracer.calls;
	void *get = NULL, *is = NULL;

	if (calls->zeDriverGetExtensionFunctionAddress(driver, get_graph, &get) != ZE_RESULT_SUCCESS || !get ||
	    calls->zeDriverGetExtensionFunctionAddress(driver, is_capturing, &is) != ZE_RESULT_SUCCESS || !is)
		return false;
	__atomic_store_n(&calls->is_capturing, (list_is_capturing *)is, __ATOMIC_RELAXED);
	__atomic_store_n(&calls->get_graph, (list_get_graph *)get, __ATOMIC_RELEASE);
	return true;
}

/* Before the first capture. A program with graphs has one driver that supports them. */
static void functions_find(void)
{
	const struct level_zero *calls = &tracer.calls;
	ze_driver_handle_t drivers[DRIVERS_MAX];
	uint32_t count = DRIVERS_MAX;

	if (__atomic_load_n(&calls->get_graph, __ATOMIC_RELAXED) || !calls->zeDriverGet ||
	    !calls->zeDriverGetExtensionFunctionAddress || calls->zeDriverGet(&count, drivers) != ZE_RESULT_SUCCESS)
		return;
	tracer.calls.driver_count = count;
	for (uint32_t i = 0; i < count && i < DRIVERS_MAX; i++)
		if (driver_functions(drivers[i], "zeCommandListGetGraphExt", "zeCommandListIsGraphCaptureEnabledExt") ||
		    driver_functions(drivers[i], "zeCommandListGetGraphExp", "zeCommandListIsGraphCaptureEnabledExp"))
			return;
}

/* Returns the handle of the graph, or 0: the list is not captured. */
static uintptr_t graph_handle(ze_command_list_handle_t handle, enum handle_owner owner)
{
	const struct level_zero *calls = &tracer.calls;
	list_get_graph *get = __atomic_load_n(&calls->get_graph, __ATOMIC_ACQUIRE);
	list_is_capturing *is = __atomic_load_n(&calls->is_capturing, __ATOMIC_RELAXED);
	void *list = handle;
	uintptr_t graph = 0;

	if (get && owner == HANDLES_LOADER && calls->zelLoaderTranslateHandle &&
	    calls->zelLoaderTranslateHandle(ZEL_HANDLE_COMMAND_LIST, handle, &list) != ZE_RESULT_SUCCESS)
		list = handle;
	if (!get && owner == HANDLES_LOADER) {
		get = calls->zeCommandListGetGraphExt;
		is = calls->zeCommandListIsGraphCaptureEnabledExt;
	}
	/* A paused capture has a graph as well. */
	if (!get || (is && is((ze_command_list_handle_t)list) == RESULT_QUERY_FALSE) ||
	    get((ze_command_list_handle_t)list, &graph) != ZE_RESULT_SUCCESS)
		return 0;
	return graph;
}

/* Returns whether the list is known to be of the driver that has graphs: its functions accept no other one's handles.
 */
static bool is_of_graph_driver(const struct list *list, enum handle_owner owner)
{
	uintptr_t context = list ? atomic_load_explicit(&list->context, memory_order_relaxed) : 0;
	_Atomic uintptr_t *contexts = tracer.registry.capture_contexts;

	if (owner == HANDLES_DRIVER || tracer.calls.driver_count <= 1)
		return true;
	for (unsigned i = 0; i < CONTEXTS && context; i++)
		if (atomic_load_explicit(&contexts[i], memory_order_relaxed) == context)
			return true;
	return false;
}

/* Returns false if there are too many, or the context is unknown. */
static bool context_remember(const struct list *list)
{
	uintptr_t context = list ? atomic_load_explicit(&list->context, memory_order_relaxed) : 0;
	_Atomic uintptr_t *contexts = tracer.registry.capture_contexts;

	for (unsigned i = 0; i < CONTEXTS && context; i++) {
		uintptr_t known = 0;

		if (atomic_compare_exchange_strong(&contexts[i], &known, context) || known == context)
			return true;
	}
	return false;
}

struct graph *capture_of(const struct list *list, ze_command_list_handle_t handle, enum handle_owner owner)
{
	if (atomic_load_explicit(&tracer.registry.captures, memory_order_acquire) == 0 ||
	    !is_of_graph_driver(list, owner))
		return NULL;
	uintptr_t graph = graph_handle(handle, owner);
	return graph ? registry_get_graph(&tracer.registry, graph) : NULL;
}

void capture_begun(ze_command_list_handle_t handle, enum handle_owner owner)
{
	functions_find();
	uintptr_t graph_known = graph_handle(handle, owner);
	if (!graph_known)
		return;
	struct graph *graph = registry_begin_capture(&tracer.registry, graph_known);
	struct list *list = appends_list(NULL, handle, owner);
	if (list)
		atomic_store_explicit(&list->capture, graph_known, memory_order_relaxed);
	/* Which lists may be asked about is not known: their launches are taken for executions. */
	if (!context_remember(list) && tracer.calls.driver_count > 1 && graph)
		graph_add_launches(graph, ZE_LAUNCHES_UNKNOWN);
}

/* The list no longer captures. */
static void list_release(struct list *list)
{
	uintptr_t graph = list ? atomic_exchange_explicit(&list->capture, 0, memory_order_relaxed) : 0;

	if (graph)
		registry_end_capture(&tracer.registry, graph);
}

void capture_ended(ze_command_list_handle_t handle, enum handle_owner owner, uintptr_t graph)
{
	struct list *list = registry_get_list(&tracer.registry, NULL, (uintptr_t)handle);

	if (graph)
		registry_end_capture(&tracer.registry, graph);
	else if (!is_of_graph_driver(list, owner) || graph_handle(handle, owner))
		return; /* the call failed, and the capture goes on */
	list_release(list);
}

void capture_list_destroyed(ze_command_list_handle_t handle)
{
	list_release(registry_get_list(&tracer.registry, NULL, (uintptr_t)handle));
}
