/* SPDX-License-Identifier: Apache-2.0 */
/* One copy of the Level Zero loader, and what a program makes with it. */
#pragma once

#include <level_zero/ze_api.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

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

#define COPY_CHECK(call)                                                                                               \
	do {                                                                                                           \
		ze_result_t result_ = (call);                                                                          \
		if (result_ != ZE_RESULT_SUCCESS) {                                                                    \
			fprintf(stderr, "%s: 0x%x\n", #call, result_);                                                 \
			_exit(1);                                                                                      \
		}                                                                                                      \
	} while (0)

static inline void copy_load(struct copy *copy, void *library, void *(*find)(void *library, const char *name))
{
#define FIND(name) copy->name = (__typeof__(name) *)find(library, #name);
	COPY_FUNCTIONS(FIND)
#undef FIND
}

static inline void copy_begin(struct copy *copy, const char *module_path, const char *kernel_name)
{
	static uint8_t bytes[1 << 24];
	ze_context_desc_t context = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_kernel_desc_t kernel = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = kernel_name };
	ze_command_queue_desc_t queue = { .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
					  .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS };
	ze_driver_handle_t driver;
	ze_device_handle_t device;
	uint32_t one = 1;
	FILE *file = fopen(module_path, "rb");

	if (!file) {
		perror(module_path);
		_exit(1);
	}
	ze_module_desc_t module = { .stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
				    .format = ZE_MODULE_FORMAT_NATIVE,
				    .inputSize = fread(bytes, 1, sizeof bytes, file),
				    .pInputModule = bytes };
	fclose(file);
	COPY_CHECK(copy->zeInit(0));
	COPY_CHECK(copy->zeDriverGet(&one, &driver));
	COPY_CHECK(copy->zeDeviceGet(driver, &one, &device));
	COPY_CHECK(copy->zeContextCreate(driver, &context, &copy->context));
	COPY_CHECK(copy->zeModuleCreate(copy->context, device, &module, &copy->module, NULL));
	COPY_CHECK(copy->zeKernelCreate(copy->module, &kernel, &copy->kernel));
	COPY_CHECK(copy->zeKernelSetGroupSize(copy->kernel, 1, 1, 1));
	COPY_CHECK(copy->zeCommandListCreateImmediate(copy->context, device, &queue, &copy->list));
}

static inline void copy_launch(const struct copy *copy, int count)
{
	static const ze_group_count_t groups = { 1, 1, 1 };

	for (int i = 0; i < count; i++)
		COPY_CHECK(copy->zeCommandListAppendLaunchKernel(copy->list, copy->kernel, &groups, NULL, 0, NULL));
}

static inline void copy_end(const struct copy *copy)
{
	COPY_CHECK(copy->zeCommandListDestroy(copy->list));
	COPY_CHECK(copy->zeKernelDestroy(copy->kernel));
	COPY_CHECK(copy->zeModuleDestroy(copy->module));
	COPY_CHECK(copy->zeContextDestroy(copy->context));
}
