/* SPDX-License-Identifier: Apache-2.0 */
/* Modules: from a file to the device, their addresses there, and away again. */
#pragma once

#include "options.h"

struct device {
	struct level_zero calls;
	ze_driver_handle_t driver;
	ze_device_handle_t device;
	ze_context_handle_t context;
	/* Intel's extension: no header of the loader has it. */
	ze_result_t (*kernel_base_address)(ze_kernel_handle_t kernel, uint64_t *address);
};

struct module {
	ze_module_handle_t handle;
	uint64_t address, size; /* of the code in the device's memory, from the ELF file that the runtime gives */
};

struct kernel_place {
	uint64_t address; /* of the first instruction, from zexKernelGetBaseAddress */
	uint64_t size;    /* of the code, from the symbol in the ELF file */
};

struct load {
	struct module modules[MODULE_COUNT];
	struct kernel_place kernels[KERNEL_COUNT];
};

extern const char *const module_names[MODULE_COUNT];

void device_open(struct device *device);
void device_close(struct device *device);

/* Creates every module for load `number` and looks where it is; writes what --dump asks for. */
void modules_load(struct device *device, const struct options *options, unsigned number, struct load *load);
void modules_unload(struct device *device, struct load *load);
