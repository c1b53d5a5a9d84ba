/* SPDX-License-Identifier: Apache-2.0 */
/* One copy of the Level Zero loader, and what a program makes with it. */
#pragma once

#include "../module_file.h"

#define COPY_FUNCTIONS(X)                                                                                              \
	X(zeInit)                                                                                                      \
	X(zeDriverGet)                                                                                                 \
	X(zeDeviceGet)                                                                                                 \
	X(zeContextCreate)                                                                                             \
	X(zeContextDestroy)                                                                                            \
	X(zeModuleCreate)                                                                                              \
	X(zeModuleDestroy)                                                                                             \
	X(zeKernelCreate)                                                                                              \
	X(zeKernelDestroy)                                                                                             \
	X(zeKernelSetGroupSize)                                                                                        \
	X(zeCommandListCreateImmediate)                                                                                \
	X(zeCommandListDestroy)                                                                                        \
	X(zeCommandListAppendLaunchKernel)

struct copy {
#define MEMBER(name) __typeof__(name) *name;
	COPY_FUNCTIONS(MEMBER)
#undef MEMBER
	ze_context_handle_t context;
	ze_module_handle_t module;
	ze_kernel_handle_t kernel;
	ze_command_list_handle_t list;
};

/* plugin_open() of plugin.c: fills the copy and begins. */
typedef void copy_open(struct copy *copy, const char *module_path, const char *kernel_name);

static inline void copy_load(struct copy *copy, void *library, void *(*find)(void *library, const char *name))
{
#define FIND(name) copy->name = (__typeof__(name) *)find(library, #name);
	COPY_FUNCTIONS(FIND)
#undef FIND
}

static inline void copy_begin(struct copy *copy, const char *module_path, const char *kernel_name)
{
	ze_module_desc_t module = module_read(module_path);
	ze_context_desc_t context = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_kernel_desc_t kernel = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = kernel_name };
	ze_command_queue_desc_t queue = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
					  .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS };
	ze_driver_handle_t driver;
	ze_device_handle_t device;
	uint32_t one = 1;

	CHECK(copy->zeInit(0));
	CHECK(copy->zeDriverGet(&one, &driver));
	CHECK(copy->zeDeviceGet(driver, &one, &device));
	CHECK(copy->zeContextCreate(driver, &context, &copy->context));
	CHECK(copy->zeModuleCreate(copy->context, device, &module, &copy->module, NULL));
	CHECK(copy->zeKernelCreate(copy->module, &kernel, &copy->kernel));
	CHECK(copy->zeKernelSetGroupSize(copy->kernel, 1, 1, 1));
	CHECK(copy->zeCommandListCreateImmediate(copy->context, device, &queue, &copy->list));
}

static inline void copy_launch(const struct copy *copy, int count)
{
	static const ze_group_count_t groups = { 1, 1, 1 };

	for (int i = 0; i < count; i++)
		CHECK(copy->zeCommandListAppendLaunchKernel(copy->list, copy->kernel, &groups, NULL, 0, NULL));
}

static inline void copy_end(const struct copy *copy)
{
	CHECK(copy->zeCommandListDestroy(copy->list));
	CHECK(copy->zeKernelDestroy(copy->kernel));
	CHECK(copy->zeModuleDestroy(copy->module));
	CHECK(copy->zeContextDestroy(copy->context));
}
