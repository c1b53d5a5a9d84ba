/* SPDX-License-Identifier: Apache-2.0 */
/* See opencl_start.h. */
#include "opencl_start.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "opencl_callbacks.h"
#include "tracer.h"

#define PLATFORMS_MAX 16

/* Returns a device of the driver, which only its tracing wants to see, or NULL. */
static struct opencl_object *device_find(const struct opencl_driver *driver)
{
	struct opencl_object *platforms[PLATFORMS_MAX], *device = NULL;
	uint32_t count = 0;

	if (driver->get_platforms(PLATFORMS_MAX, platforms, &count) != OPENCL_SUCCESS)
		return NULL;
	for (uint32_t i = 0; i < count && i < PLATFORMS_MAX && !device; i++) {
		opencl_get_devices *get = (opencl_get_devices *)platforms[i]->functions[OPENCL_DISPATCH_GET_DEVICES];

		if (get(platforms[i], OPENCL_DEVICE_TYPE_ALL, 1, &device, NULL) != OPENCL_SUCCESS)
			device = NULL;
	}
	return device;
}

/* "OpenCL 3.0 LEO": on Level Zero, where the query for a kernel's address crashes (compute-runtime 26.27). */
static bool has_addresses(const struct opencl_object *device)
{
	opencl_get_info *info = (opencl_get_info *)device->functions[OPENCL_DISPATCH_GET_DEVICE_INFO];
	char version[128] = "";

	return info(device, OPENCL_DEVICE_VERSION, sizeof version - 1, version, NULL) == OPENCL_SUCCESS &&
	       strstr(version, " NEO");
}

static int tracing_enable(const struct opencl_driver *driver, struct opencl_object *device)
{
	opencl_tracing_create *create = (opencl_tracing_create *)driver->get_extension("clCreateTracingHandleINTEL");
	opencl_tracing_set *set = (opencl_tracing_set *)driver->get_extension("clSetTracingPointINTEL");
	opencl_tracing_change *enable = (opencl_tracing_change *)driver->get_extension("clEnableTracingINTEL");
	opencl_tracing_change *destroy = (opencl_tracing_change *)driver->get_extension("clDestroyTracingHandleINTEL");
	struct opencl_tracing *tracing;
	size_t count;
	const enum opencl_function *functions = opencl_functions(&count);

	if (!create || !set || !enable || !destroy)
		return -ENOSYS;
	if (create(device, opencl_called, NULL, &tracing) != OPENCL_SUCCESS)
		return -EAGAIN;
	/* An older driver does not know the newest functions. */
	for (size_t i = 0; i < count; i++)
		set(tracing, functions[i], 1);
	if (enable(tracing) == OPENCL_SUCCESS)
		return 0;
	destroy(tracing);
	return -ENOSYS;
}

static int begin(const struct opencl_driver *driver, void *(*find)(void *library, const char *name))
{
	static const char *const left_out[] = { OPENCL_DRIVER, OPENCL_DRIVER_ON_LEVEL_ZERO, OPENCL_LOADER };
	struct opencl_object *device = device_find(driver);

	if (!device)
		return -EAGAIN;
	/* Kernels without an address cannot be distinguished. */
	if (!has_addresses(device))
		return -ENOSYS;
	void *const *functions = device->functions;
	tracer.opencl = (struct opencl){
		.program_info = (opencl_get_info *)functions[OPENCL_DISPATCH_GET_PROGRAM_INFO],
		.memory_info = (opencl_get_info *)functions[OPENCL_DISPATCH_GET_MEMORY_INFO],
		.kernel_info = (opencl_get_info *)functions[OPENCL_DISPATCH_GET_KERNEL_INFO],
		.device_info = (opencl_get_info *)functions[OPENCL_DISPATCH_GET_DEVICE_INFO],
		.queue_info = (opencl_get_info *)functions[OPENCL_DISPATCH_GET_QUEUE_INFO],
		.event_info = (opencl_get_info *)functions[OPENCL_DISPATCH_GET_EVENT_INFO],
		.event_times = (opencl_get_info *)functions[OPENCL_DISPATCH_GET_EVENT_PROFILING_INFO],
		.event_retain = (opencl_count_reference *)functions[OPENCL_DISPATCH_RETAIN_EVENT],
		.event_release = (opencl_count_reference *)functions[OPENCL_DISPATCH_RELEASE_EVENT],
		.timer = (opencl_get_timer *)functions[OPENCL_DISPATCH_GET_DEVICE_TIMER],
	};
	int error = tracer_prepare(find, left_out, sizeof left_out / sizeof *left_out);
	return error ? error : tracing_enable(driver, device);
}

int opencl_start(const struct opencl_driver *driver, void *(*find)(void *library, const char *name))
{
	int state = TRACER_OFF;

	if (!atomic_compare_exchange_strong(&tracer.opencl_state, &state, TRACER_STARTING))
		return state == TRACER_RUNNING ? 0 : -EBUSY;
	int error = begin(driver, find);
	atomic_store(&tracer.opencl_state, error ? TRACER_OFF : TRACER_RUNNING);
	return error;
}

typedef void *find_function(void *library, const char *name);

static void *loaded_start(void *argument)
{
	find_function *find = *(find_function **)argument;
	void *(*open_library)(const char *, int) = (void *(*)(const char *, int))find(RTLD_DEFAULT, "dlopen");
	/* Never closed: it calls back. */
	void *library = open_library(OPENCL_DRIVER, RTLD_NOW | RTLD_NOLOAD);
	struct opencl_driver driver = { NULL, NULL };

	if (library) {
		driver.get_extension = (opencl_get_extension *)find(library, "clGetExtensionFunctionAddress");
		driver.get_platforms = (opencl_get_platforms *)find(library, "clIcdGetPlatformIDsKHR");
	}
	if (driver.get_extension && driver.get_platforms)
		opencl_start(&driver, find);
	return NULL;
}

void opencl_start_loaded(find_function *find)
{
	static find_function *kept;
	void *(*open_library)(const char *, int) = (void *(*)(const char *, int))find(RTLD_DEFAULT, "dlopen");
	/* Older C libraries have it in a library of its own, which an OpenCL driver needs. */
	__typeof__(pthread_create) *create = (__typeof__(pthread_create) *)find(RTLD_DEFAULT, "pthread_create");
	__typeof__(pthread_detach) *detach = (__typeof__(pthread_detach) *)find(RTLD_DEFAULT, "pthread_detach");
	sigset_t all, before;
	pthread_t thread;

	if (!create || !detach || !open_library || !open_library(OPENCL_DRIVER, RTLD_NOW | RTLD_NOLOAD))
		return;
	kept = find;
	/*
	 * The program's signals are not for this thread. pthread_sigmask(), which does the same, has another version
	 * since glibc 2.32.
	 */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	if (create(&thread, NULL, loaded_start, &kept) == 0)
		detach(thread);
	sigprocmask(SIG_SETMASK, &before, NULL);
}
