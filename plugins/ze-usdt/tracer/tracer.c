/* SPDX-License-Identifier: Apache-2.0 */
/* Starts tracing, keeps the state consistent across fork(), and ends with the process. */
#include "tracer.h"

#include <dlfcn.h>
#include <errno.h>

#include "callbacks.h"

struct tracer tracer = { .registry = REGISTRY_INITIALIZER,
			 .announcer.lock = PTHREAD_MUTEX_INITIALIZER,
			 .prepare_lock = PTHREAD_MUTEX_INITIALIZER };

/* Around fork() the registry is consistent, and in the child no announcement is in progress. */
static void fork_begins(void)
{
	registry_lock(&tracer.registry);
}

static void fork_in_parent(void)
{
	registry_unlock(&tracer.registry);
}

static void fork_in_child(void)
{
	registry_unlock(&tracer.registry);
	announcer_forked(&tracer.announcer);
	timing_forked(&tracer.timing);
}

static int prepare_once(void)
{
	if (tracer.prepared)
		return 0;
	announcer_begin(&tracer.announcer, &tracer.calls, &tracer.opencl, &tracer.registry);
	if (pthread_atfork(fork_begins, fork_in_parent, fork_in_child) != 0)
		return -ENOMEM;
	tracer.prepared = true;
	return 0;
}

int tracer_prepare(void *(*find)(void *library, const char *name), const char *const libraries[], size_t count)
{
	pthread_mutex_lock(&tracer.prepare_lock);
	int error = prepare_once();
	if (error == 0)
		stack_process_begin(&tracer.stacks, find, libraries, count, (uintptr_t)tracer_prepare);
	pthread_mutex_unlock(&tracer.prepare_lock);
	return error;
}

static void calls_find(struct level_zero *calls, void *library, void *(*find)(void *library, const char *name))
{
#define FIND(function) calls->function = (__typeof__(calls->function))find(library, #function)
	FIND(zelTracerCreate);
	FIND(zelTracerDestroy);
	FIND(zelTracerSetEnabled);
	FIND(zelEnableTracingLayer);
	FIND(zelLoaderTranslateHandle);
	FIND(zeDriverGet);
	FIND(zeDriverGetExtensionFunctionAddress);
	FIND(zeModuleGetProperties);
	FIND(zeModuleGetNativeBinary);
	FIND(zetModuleGetDebugInfo);
	FIND(zeKernelGetName);
	FIND(zeCommandListIsImmediate);
	FIND(zeCommandListGetDeviceHandle);
	FIND(zeCommandListGetOrdinal);
	FIND(zeDeviceGetCommandQueueGroupProperties);
	FIND(zeCommandListAppendSignalEvent);
	FIND(zeEventCounterBasedCreate);
	FIND(zeEventPoolCreate);
	FIND(zeEventPoolDestroy);
	FIND(zeEventCreate);
	FIND(zeEventDestroy);
	FIND(zeEventHostReset);
	FIND(zeEventQueryStatus);
	FIND(zeEventQueryKernelTimestamp);
	FIND(zeDeviceGetProperties);
	FIND(zeDeviceGetGlobalTimestamps);
	FIND(zeDevicePciGetPropertiesExt);
	FIND(zeCommandListGetGraphExt);
	FIND(zeCommandListIsGraphCaptureEnabledExt);
#undef FIND
}

/* Registers the callbacks. Only an initialised loader provides a tracer. */
static int callbacks_register(const struct level_zero *calls, void *library,
			      void *(*find)(void *library, const char *name))
{
	const zel_tracer_desc_t description = { .stype = ZEL_STRUCTURE_TYPE_TRACER_DESC, .pUserData = &tracer };
	zel_tracer_handle_t handle;
	unsigned registered = 0;
	size_t count;
	const struct callback *callbacks = callbacks_list(&count);

	if (!calls->zelTracerCreate || !calls->zelTracerDestroy || !calls->zelTracerSetEnabled)
		return -ENOSYS;
	if (calls->zelTracerCreate(&description, &handle) != ZE_RESULT_SUCCESS)
		return -EAGAIN;
	for (size_t i = 0; i < count; i++) {
		callback_register *enter = (callback_register *)find(library, callbacks[i].register_name);

		if (enter && enter(handle, callbacks[i].when, callbacks[i].callback) == ZE_RESULT_SUCCESS)
			registered++;
	}
	if (registered == 0 || (calls->zelEnableTracingLayer && calls->zelEnableTracingLayer() != ZE_RESULT_SUCCESS) ||
	    calls->zelTracerSetEnabled(handle, true) != ZE_RESULT_SUCCESS) {
		calls->zelTracerDestroy(handle);
		return -ENOSYS;
	}
	return 0;
}

static bool is_traced(const void *library)
{
	for (unsigned i = 0; i < tracer.loader_count; i++)
		if (tracer.loaders[i] == library)
			return true;
	return false;
}

/* Copies that open their layers by name share the tracing layer, and the callbacks that are registered in it. */
static bool shares_layer(const struct level_zero *calls)
{
	uint32_t count = 0;

	if (tracer.loader_count == 0 || !calls->zeDriverGet)
		return false;
	if (calls->zelEnableTracingLayer)
		calls->zelEnableTracingLayer();
	callbacks_saw_call = false;
	calls->zeDriverGet(&count, NULL);
	return callbacks_saw_call;
}

/* Returns 1 if its reference is to be kept: callbacks are registered in it, and stand-ins call it. */
static int loader_add(void *library, void *(*find)(void *library, const char *name))
{
	static const char *const left_out[] = { "libze_loader", "libze_tracing_layer", "libze_validation_layer" };

	if (is_traced(library))
		return 0;
	if (tracer.loader_count == LOADERS_MAX)
		return -ENOSPC;
	struct level_zero calls = { 0 };
	calls_find(&calls, library, find);
	/* No callback reads them before it is registered. */
	if (tracer.loader_count == 0)
		tracer.calls = calls;
	int error = tracer_prepare(find, left_out, sizeof left_out / sizeof *left_out);
	if (error == 0 && !shares_layer(&calls))
		error = callbacks_register(&calls, library, find);
	if (error)
		return error;
	tracer.loaders[tracer.loader_count++] = library;
	return 1;
}

static int begin(void *(*find)(void *library, const char *name), const char *path, const char *name, const void *init)
{
	void *(*open_library)(const char *, int) = (void *(*)(const char *, int))find(RTLD_DEFAULT, "dlopen");
	int (*close_library)(void *) = (int (*)(void *))find(RTLD_DEFAULT, "dlclose");

	if (!open_library || !close_library)
		return -ENOSYS;
	void *library = open_library(path ? path : LEVEL_ZERO_LOADER, RTLD_NOW | RTLD_NOLOAD);
	if (!library)
		return -ENOENT;
	/* A copy of this path may be in another namespace as well. */
	int result = init && find(library, name) != init ? -ENOENT : loader_add(library, find);
	if (result != 1)
		close_library(library);
	return result == 1 ? 0 : result;
}

int tracer_start(void *(*find)(void *library, const char *name), const char *path, const char *name, const void *init)
{
	int state = atomic_load(&tracer.state);

	if (state == TRACER_STARTING || !atomic_compare_exchange_strong(&tracer.state, &state, TRACER_STARTING))
		return -EBUSY;
	int error = begin(find, path, name, init);
	atomic_store(&tracer.state, tracer.loader_count ? TRACER_RUNNING : TRACER_OFF);
	return error;
}

__attribute__((destructor)) static void process_ends(void)
{
	if (atomic_load(&tracer.state) == TRACER_RUNNING || atomic_load(&tracer.opencl_state) == TRACER_RUNNING)
		announcer_end(&tracer.announcer);
}
