/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the Level Zero loader that programs are linked to, linked statically (the loader's BUILD_STATIC), as far
 * as copies.h needs it: zeInit() opens libze_loader.so.1, and all other functions call it. Since 1.21.9, they call what
 * it exports; with -DTABLES as before, through its tables, which lead to the driver.
 */
#include "copies.h"

#include <dlfcn.h>
#include <level_zero/ze_ddi.h>

#define FUNCTIONS(X)                                                                                                   \
	X(Driver, Get, zeDriverGet, (uint32_t * count, ze_driver_handle_t * drivers), (count, drivers))                \
	X(Device, Get, zeDeviceGet, (ze_driver_handle_t driver, uint32_t * count, ze_device_handle_t * devices),       \
	  (driver, count, devices))                                                                                    \
	X(Context, Create, zeContextCreate,                                                                            \
	  (ze_driver_handle_t driver, const ze_context_desc_t *description, ze_context_handle_t *context),             \
	  (driver, description, context))                                                                              \
	X(Context, Destroy, zeContextDestroy, (ze_context_handle_t context), (context))                                \
	X(Module, Create, zeModuleCreate,                                                                              \
	  (ze_context_handle_t context, ze_device_handle_t device, const ze_module_desc_t *description,                \
	   ze_module_handle_t *module, ze_module_build_log_handle_t *log),                                             \
	  (context, device, description, module, log))                                                                 \
	X(Module, Destroy, zeModuleDestroy, (ze_module_handle_t module), (module))                                     \
	X(Kernel, Create, zeKernelCreate,                                                                              \
	  (ze_module_handle_t module, const ze_kernel_desc_t *description, ze_kernel_handle_t *kernel),                \
	  (module, description, kernel))                                                                               \
	X(Kernel, Destroy, zeKernelDestroy, (ze_kernel_handle_t kernel), (kernel))                                     \
	X(Kernel, SetGroupSize, zeKernelSetGroupSize, (ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z), \
	  (kernel, x, y, z))                                                                                           \
	X(CommandList, CreateImmediate, zeCommandListCreateImmediate,                                                  \
	  (ze_context_handle_t context, ze_device_handle_t device, const ze_command_queue_desc_t *description,         \
	   ze_command_list_handle_t *list),                                                                            \
	  (context, device, description, list))                                                                        \
	X(CommandList, Destroy, zeCommandListDestroy, (ze_command_list_handle_t list), (list))                         \
	X(CommandList, AppendLaunchKernel, zeCommandListAppendLaunchKernel,                                            \
	  (ze_command_list_handle_t list, ze_kernel_handle_t kernel, const ze_group_count_t *groups,                   \
	   ze_event_handle_t signal, uint32_t count, ze_event_handle_t *events),                                       \
	  (list, kernel, groups, signal, count, events))

static ze_dditable_t table;

#define FIND(name) ((__typeof__(name) *)dlsym(loader, #name))
#define TABLE(part) CHECK(FIND(zeGet##part##ProcAddrTable)(ZE_API_VERSION_CURRENT, &table.part))

ze_result_t zeInit(ze_init_flags_t flags)
{
	void *loader = dlopen("libze_loader.so.1", RTLD_LAZY | RTLD_LOCAL);

	if (!loader)
		return ZE_RESULT_ERROR_UNINITIALIZED;
	CHECK(((ze_result_t(*)(void))dlsym(loader, "zeLoaderInit"))());
	TABLE(Driver);
	TABLE(Device);
	TABLE(Context);
	TABLE(Module);
	TABLE(Kernel);
	TABLE(CommandList);
#ifndef TABLES
#define FROM_EXPORT(part, action, name, declared, passed) table.part.pfn##action = FIND(name);
	FUNCTIONS(FROM_EXPORT)
#endif
	return FIND(zeInit)(flags);
}

#define FORWARD(part, action, name, declared, passed)                                                                  \
	ze_result_t name declared                                                                                      \
	{                                                                                                              \
		return table.part.pfn##action passed;                                                                  \
	}
FUNCTIONS(FORWARD)
