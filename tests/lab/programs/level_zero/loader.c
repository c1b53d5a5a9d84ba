// SPDX-License-Identifier: Apache-2.0
/*
 * A stand-in for Level Zero's loader: hands each call on to the driver's library beside it, whose functions have the
 * same names. Some by a jump, as compilers make of a call at a function's end, and some by a call.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "functions.h"

static void *library;

static void *function_of(const char *name)
{
	void *function;

	if (!library)
		library = dlopen("libze_intel_npu.so.1", RTLD_NOW | RTLD_LOCAL);
	function = library ? dlsym(library, name) : NULL;
	if (!function) {
		fprintf(stderr, "%s: %s\n", name, dlerror());
		exit(1);
	}
	return function;
}

static struct {
	ze_init *init;
	ze_mem_alloc_host *allocate;
	ze_command_queue_create *create_queue;
	ze_command_list_create *create_list;
	ze_command_queue_execute_command_lists *execute;
	ze_fence_host_synchronize *wait;
	ze_event_host_synchronize *wait_event;
	ze_driver_get_extension_function_address *extension;
} driver;

__attribute__((constructor)) static void driver_load(void)
{
	driver.init = (ze_init *)function_of("zeInit");
	driver.allocate = (ze_mem_alloc_host *)function_of("zeMemAllocHost");
	driver.create_queue = (ze_command_queue_create *)function_of("zeCommandQueueCreate");
	driver.create_list = (ze_command_list_create *)function_of("zeCommandListCreate");
	driver.execute = (ze_command_queue_execute_command_lists *)function_of("zeCommandQueueExecuteCommandLists");
	driver.wait = (ze_fence_host_synchronize *)function_of("zeFenceHostSynchronize");
	driver.extension =
		(ze_driver_get_extension_function_address *)function_of("zeDriverGetExtensionFunctionAddress");
	driver.wait_event = (ze_event_host_synchronize *)function_of("zeEventHostSynchronize");
}

/* The compiler cannot jump when something is left to do. */
static int returned(int result)
{
	__asm__ volatile("" : "+r"(result));
	return result;
}

int zeDriverGetExtensionFunctionAddress(void *driver_handle, const char *name, void **address)
{
	return returned(driver.extension(driver_handle, name, address));
}

int zeInit(uint32_t flags)
{
	return returned(driver.init(flags));
}

int zeMemAllocHost(void *context, const void *description, size_t size, size_t alignment, void **memory)
{
	return driver.allocate(context, description, size, alignment, memory);
}

int zeCommandQueueCreate(void *context, void *device, const void *description, void **queue)
{
	return returned(driver.create_queue(context, device, description, queue));
}

int zeCommandListCreate(void *context, void *device, const void *description, void **list)
{
	return driver.create_list(context, device, description, list);
}

int zeCommandQueueExecuteCommandLists(void *queue, uint32_t count, void **lists, void *fence)
{
	return returned(driver.execute(queue, count, lists, fence));
}

int zeFenceHostSynchronize(void *fence, uint64_t timeout)
{
	return driver.wait(fence, timeout);
}

int zeEventHostSynchronize(void *event, uint64_t timeout)
{
	return returned(driver.wait_event(event, timeout));
}
