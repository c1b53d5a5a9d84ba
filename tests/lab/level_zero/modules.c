/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the device, creates modules from SPIR-V or native binaries, and reads where the runtime put them. */
#include "modules.h"
#include "loaded_elf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const module_names[MODULE_COUNT] = { "transformer", "systolic" };

struct bytes {
	uint8_t *data;
	size_t size;
};

static struct bytes file_read(const char *path)
{
	struct bytes bytes = { NULL, 0 };
	FILE *file = fopen(path, "re");
	long size;

	if (!file || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) <= 0 || fseek(file, 0, SEEK_SET) != 0)
		fail("%s: %s: build it with tests/lab/level_zero/build, or give --modules", path, strerror(errno));
	bytes.size = (size_t)size;
	bytes.data = malloc(bytes.size);
	if (!bytes.data || fread(bytes.data, bytes.size, 1, file) != 1)
		fail("%s: cannot be read: %s", path, strerror(errno));
	fclose(file);
	return bytes;
}

static void file_write(const char *folder, const char *module, const char *kind, const struct bytes *bytes)
{
	char path[4096];

	if (snprintf(path, sizeof path, "%s/%s.%s", folder, module, kind) >= (int)sizeof path)
		fail("%s: the path is too long: give --dump another folder", folder);
	FILE *file = fopen(path, "we");
	if (!file || fwrite(bytes->data, bytes->size, 1, file) != 1 || fclose(file) != 0)
		fail("%s: %s: give --dump a folder with space that may be written", path, strerror(errno));
}

void device_open(struct device *device)
{
	uint32_t count = 1;

	calls_load(&device->calls);
	const struct level_zero *calls = &device->calls;
	CALL(calls, zeInit, "GPUs", ZE_INIT_FLAG_GPU_ONLY);
	CALL(calls, zeDriverGet, "the first driver", &count, &device->driver);
	count = 1;
	CALL(calls, zeDeviceGet, "the first device", device->driver, &count, &device->device);
	if (count == 0)
		fail("zeDeviceGet: the driver has no device: run it with run-without-gpu");
	ze_context_desc_t description = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	CALL(calls, zeContextCreate, "the context", device->driver, &description, &device->context);
	CALL(calls, zeDriverGetExtensionFunctionAddress, "zexKernelGetBaseAddress", device->driver,
	     "zexKernelGetBaseAddress", (void **)&device->kernel_base_address);
}

void device_close(struct device *device)
{
	CALL(&device->calls, zeContextDestroy, "the context", device->context);
}

/* The runtime's answer to two calls: one for the size, one for the bytes. */
static struct bytes loaded_elf(const struct level_zero *calls, ze_module_handle_t module, const char *name)
{
	struct bytes bytes = { NULL, 0 };

	CALL(calls, zetModuleGetDebugInfo, name, module, ZET_MODULE_DEBUG_INFO_FORMAT_ELF_DWARF, &bytes.size, NULL);
	bytes.data = malloc(bytes.size + 1);
	if (!bytes.data)
		fail("no memory for the %zu bytes of %s", bytes.size, name);
	CALL(calls, zetModuleGetDebugInfo, name, module, ZET_MODULE_DEBUG_INFO_FORMAT_ELF_DWARF, &bytes.size,
	     bytes.data);
	return bytes;
}

static struct bytes native_binary(const struct level_zero *calls, ze_module_handle_t module, const char *name)
{
	struct bytes bytes = { NULL, 0 };

	CALL(calls, zeModuleGetNativeBinary, name, module, &bytes.size, NULL);
	bytes.data = malloc(bytes.size + 1);
	if (!bytes.data)
		fail("no memory for the %zu bytes of %s", bytes.size, name);
	CALL(calls, zeModuleGetNativeBinary, name, module, &bytes.size, bytes.data);
	return bytes;
}

/* zeModuleCreate; when it fails, the first line of the compiler's log is the reason. */
static ze_module_handle_t module_create(struct device *device, const ze_module_desc_t *description, const char *path)
{
	ze_module_build_log_handle_t log = NULL;
	ze_module_handle_t module;
	ze_result_t result = device->calls.zeModuleCreate(device->context, device->device, description, &module, &log);

	if (result != ZE_RESULT_SUCCESS) {
		char text[4096] = "";
		size_t size = sizeof text;

		if (!log || device->calls.zeModuleBuildLogGetString(log, &size, text) != ZE_RESULT_SUCCESS)
			text[0] = '\0';
		text[sizeof text - 1] = '\0';
		text[strcspn(text, "\n")] = '\0';
		call_fail(result, "zeModuleCreate", path, text);
	}
	CALL(&device->calls, zeModuleBuildLogDestroy, path, log);
	return module;
}

static void module_load(struct device *device, const struct options *options, struct load *load, enum module_id id)
{
	char path[512];
	bool native = options->native[id];

	if (native)
		snprintf(path, sizeof path, "%s/%s.%.100s.bin", options->modules, module_names[id], options->product);
	else
		snprintf(path, sizeof path, "%s/%s.spv", options->modules, module_names[id]);
	struct bytes input = file_read(path);
	const ze_module_desc_t description = {
		.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
		.format = native ? ZE_MODULE_FORMAT_NATIVE : ZE_MODULE_FORMAT_IL_SPIRV,
		.inputSize = input.size,
		.pInputModule = input.data,
		.pBuildFlags = native ? NULL : options->build_flags,
	};
	ze_module_handle_t module = module_create(device, &description, path);
	struct bytes elf = loaded_elf(&device->calls, module, module_names[id]);

	load->modules[id].handle = module;
	if (!loaded_elf_code(elf.data, elf.size, &load->modules[id].address, &load->modules[id].size))
		fail("zetModuleGetDebugInfo: %s: no code is in it: the runtime changed", module_names[id]);
	for (unsigned i = 0; i < KERNEL_COUNT; i++) {
		const struct kernel_description *kernel = &kernel_descriptions[i];
		uint64_t address;

		if (kernel->module == id &&
		    !loaded_elf_function(elf.data, elf.size, kernel->name, &address, &load->kernels[i].size))
			fail("zetModuleGetDebugInfo: %s: it has no kernel %s", module_names[id], kernel->name);
	}
	if (options->dump_folder) {
		struct bytes binary = native_binary(&device->calls, module, module_names[id]);

		file_write(options->dump_folder, module_names[id], "loaded-debug.elf", &elf);
		file_write(options->dump_folder, module_names[id], "native.bin", &binary);
		free(binary.data);
	}
	free(elf.data);
	free(input.data);
}

void modules_load(struct device *device, const struct options *options, unsigned number, struct load *load)
{
	const struct level_zero *calls = &device->calls;

	*load = (struct load){ 0 };
	for (unsigned i = 0; i < MODULE_COUNT; i++)
		module_load(device, options, load, options->alternate && number % 2 ? MODULE_COUNT - 1 - i : i);
	for (unsigned i = 0; i < KERNEL_COUNT; i++) {
		const char *name = kernel_descriptions[i].name;
		ze_kernel_desc_t description = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name };
		ze_kernel_handle_t kernel;

		CALL(calls, zeKernelCreate, name, load->modules[kernel_descriptions[i].module].handle, &description,
		     &kernel);
		call_check(device->kernel_base_address(kernel, &load->kernels[i].address), "zexKernelGetBaseAddress",
			   name);
		CALL(calls, zeKernelDestroy, name, kernel);
	}
}

void modules_unload(struct device *device, struct load *load)
{
	for (enum module_id id = 0; id < MODULE_COUNT; id++)
		CALL(&device->calls, zeModuleDestroy, module_names[id], load->modules[id].handle);
}
