/* SPDX-License-Identifier: Apache-2.0 */
/* Announces modules and kernels. */
#include "announce.h"

#include <stdlib.h>

#include "device_binary.h"
#include "opencl_queries.h"
#include "probe_sites.h"

#define DRIVERS_MAX 16

void announcer_begin(struct announcer *announcer, const struct level_zero *calls, const struct opencl *opencl,
		     struct registry *registry)
{
	announcer->calls = calls;
	announcer->opencl = opencl;
	announcer->registry = registry;
	atomic_store(&announcer->epoch, 1);
}

void announcer_forked(struct announcer *announcer)
{
	pthread_mutex_init(&announcer->lock, NULL);
	atomic_store(&announcer->busy, false);
}

void announcer_check(struct announcer *announcer)
{
	uint32_t before = atomic_load(&announcer->listeners), listeners = compile_kernel_listeners();

	if (listeners > before)
		atomic_fetch_add(&announcer->epoch, 1);
	/* Last: another thread that finds nothing changed launches in the new epoch. */
	atomic_store_explicit(&announcer->listeners, listeners, memory_order_release);
}

/* No cancellation point: the thread is not ours. */
static void announcer_lock(struct announcer *announcer, int *state)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, state);
	pthread_mutex_lock(&announcer->lock);
	atomic_store(&announcer->busy, true);
}

static void announcer_unlock(struct announcer *announcer, int state)
{
	atomic_store(&announcer->busy, false);
	pthread_mutex_unlock(&announcer->lock);
	pthread_setcancelstate(state, NULL);
}

/*
 * Queries a driver's extension functions, which must not be given another driver's handle: with two drivers, neither is
 * called.
 */
static void driver_find(struct announcer *announcer)
{
	const struct level_zero *calls = announcer->calls;
	ze_driver_handle_t drivers[DRIVERS_MAX];
	uint32_t count = DRIVERS_MAX;
	unsigned found = 0;

	if (announcer->driver_known || !calls->zeDriverGet || !calls->zeDriverGetExtensionFunctionAddress ||
	    calls->zeDriverGet(&count, drivers) != ZE_RESULT_SUCCESS)
		return;
	for (uint32_t i = 0; i < count && i < DRIVERS_MAX; i++) {
		void *base_address = NULL, *binary = NULL;

		if (calls->zeDriverGetExtensionFunctionAddress(drivers[i], "zexKernelGetBaseAddress", &base_address) !=
			    ZE_RESULT_SUCCESS ||
		    !base_address)
			continue;
		if (calls->zeDriverGetExtensionFunctionAddress(drivers[i], "zeIntelKernelGetBinaryExp", &binary) !=
		    ZE_RESULT_SUCCESS)
			binary = NULL;
		if (found > 0 && (kernel_get_base_address *)base_address == announcer->base_address)
			continue;
		announcer->base_address = (kernel_get_base_address *)base_address;
		announcer->binary = (kernel_get_binary *)binary;
		found++;
	}
	/* A program may initialise an NPU driver first and the GPU driver later. */
	announcer->driver_known = found > 0;
	if (found > 1) {
		announcer->base_address = NULL;
		announcer->binary = NULL;
	}
}

/* The driver's own handle: with several drivers the loader returns wrappers, which extensions do not accept. */
static ze_kernel_handle_t driver_kernel(const struct announcer *announcer, uintptr_t handle)
{
	void *kernel = (void *)handle;

	if (announcer->calls->zelLoaderTranslateHandle &&
	    announcer->calls->zelLoaderTranslateHandle(ZEL_HANDLE_KERNEL, (void *)handle, &kernel) != ZE_RESULT_SUCCESS)
		kernel = (void *)handle;
	return (ze_kernel_handle_t)kernel;
}

/* Returns the module's image, to be freed, and whether it has addresses (*loaded). Returns NULL if there is none. */
static uint8_t *module_image(const struct level_zero *calls, ze_module_handle_t module, size_t *size, bool *loaded)
{
	uint8_t *image;

	*loaded = true;
	*size = 0;
	if (calls->zetModuleGetDebugInfo &&
	    calls->zetModuleGetDebugInfo((zet_module_handle_t)module, ZET_MODULE_DEBUG_INFO_FORMAT_ELF_DWARF, size,
					 NULL) == ZE_RESULT_SUCCESS &&
	    *size > 0) {
		image = malloc(*size);
		if (image &&
		    calls->zetModuleGetDebugInfo((zet_module_handle_t)module, ZET_MODULE_DEBUG_INFO_FORMAT_ELF_DWARF,
						 size, image) == ZE_RESULT_SUCCESS)
			return image;
		free(image);
	}
	*loaded = false;
	*size = 0;
	if (!calls->zeModuleGetNativeBinary ||
	    calls->zeModuleGetNativeBinary(module, size, NULL) != ZE_RESULT_SUCCESS || *size == 0)
		return NULL;
	image = malloc(*size);
	if (image && calls->zeModuleGetNativeBinary(module, size, image) == ZE_RESULT_SUCCESS)
		return image;
	free(image);
	return NULL;
}

static void image_announce(struct announcer *announcer, struct module *module, const uint8_t *image, size_t size)
{
	private_files_sweep(&announcer->files);
	const char *path = private_files_write(&announcer->files, image, size);
	if (path)
		probe_compile_kernel(path, module->number);
}

/* With the lock. */
static void module_announce(struct announcer *announcer, struct module *module)
{
	bool listened = compile_kernel_listeners() > 0;
	bool is_reported = module->announced == atomic_load(&announcer->epoch);
	size_t size;
	bool loaded;

	if (announcer->ended || module->handle == 0 || ((is_reported || !listened) && module->read))
		return;
	uint8_t *image = module->runtime == RUNTIME_OPENCL
				 ? opencl_image(announcer->opencl, module->handle, &size, &loaded)
				 : module_image(announcer->calls, (ze_module_handle_t)module->handle, &size, &loaded);
	if (image && loaded && !module->read)
		module->function_count = image_functions(image, size, &module->functions);
	module->read = true;
	if (listened && !is_reported) {
		module->announced = atomic_load(&announcer->epoch);
		if (image)
			image_announce(announcer, module, image, size);
	}
	free(image);
}

static bool has_imports(const struct announcer *announcer, const struct module *module)
{
	ze_module_properties_t properties = { .stype = ZE_STRUCTURE_TYPE_MODULE_PROPERTIES };

	return announcer->calls->zeModuleGetProperties &&
	       announcer->calls->zeModuleGetProperties((ze_module_handle_t)module->handle, &properties) ==
		       ZE_RESULT_SUCCESS &&
	       (properties.flags & ZE_MODULE_PROPERTY_FLAG_IMPORTS);
}

void announce_linked_module(struct announcer *announcer, struct module *module)
{
	int state;

	if (compile_kernel_listeners() == 0)
		return;
	announcer_lock(announcer, &state);
	module_announce(announcer, module);
	announcer_unlock(announcer, state);
}

void announce_module(struct announcer *announcer, struct module *module)
{
	if (compile_kernel_listeners() > 0 && !has_imports(announcer, module))
		announce_linked_module(announcer, module);
}

/* Returns the kernel's code, to be freed. */
static uint8_t *kernel_code(const struct announcer *announcer, uintptr_t handle, size_t *size)
{
	ze_kernel_handle_t kernel = driver_kernel(announcer, handle);

	*size = 0;
	if (!announcer->binary || announcer->binary(kernel, size, NULL) != ZE_RESULT_SUCCESS || *size == 0)
		return NULL;
	uint8_t *code = malloc(*size);
	if (code && announcer->binary(kernel, size, (char *)code) == ZE_RESULT_SUCCESS) {
		*size = image_code_size(code, *size);
		return code;
	}
	free(code);
	return NULL;
}

/* For a kernel whose module is unknown, announces its code alone. */
static void kernel_announce(struct announcer *announcer, struct kernel *kernel)
{
	struct module *module = kernel->module;
	size_t code_size, size;

	if (module->announced == atomic_load(&announcer->epoch) || compile_kernel_listeners() == 0 ||
	    kernel->address == 0 || announcer->ended)
		return;
	module->announced = atomic_load(&announcer->epoch);
	uint8_t *code = kernel_code(announcer, kernel->handle, &code_size);
	uint8_t *image = code ? image_make(kernel->name, kernel->address, code, code_size, &size) : NULL;
	if (image) {
		kernel->size = code_size;
		image_announce(announcer, module, image, size);
	}
	free(image);
	free(code);
}

static bool kernel_address(struct announcer *announcer, const struct module *module, uintptr_t handle,
			   uint64_t *address)
{
	if (module->runtime == RUNTIME_OPENCL)
		return opencl_kernel_address(announcer->opencl, handle, address);
	driver_find(announcer);
	return announcer->base_address &&
	       announcer->base_address(driver_kernel(announcer, handle), address) == ZE_RESULT_SUCCESS;
}

void announce_kernel(struct announcer *announcer, struct kernel *kernel, uintptr_t handle)
{
	uint64_t address = 0;
	int state;

	announcer_lock(announcer, &state);
	uint32_t epoch = atomic_load(&announcer->epoch);
	/* Another thread may have destroyed the kernel in the meantime. */
	if (registry_get_kernel(announcer->registry, NULL, handle) != kernel) {
		announcer_unlock(announcer, state);
		return;
	}
	struct module *module = kernel->module;
	if (kernel_address(announcer, module, handle, &address))
		kernel->address = image_address(address);
	kernel->instruction_base = instruction_base_find(&announcer->bases, kernel->address);
	module_announce(announcer, module);
	if (kernel->owns_module)
		kernel_announce(announcer, kernel);
	else
		kernel->size = image_function_size(module->functions, module->function_count, kernel->address);
	atomic_store_explicit(&kernel->prepared, epoch, memory_order_release);
	announcer_unlock(announcer, state);
}

struct kernel *announce_unseen_kernel(struct announcer *announcer, uintptr_t handle)
{
	const struct level_zero *calls = announcer->calls;
	struct kernel *kernel = NULL;
	size_t size = 0;

	if (!calls->zeKernelGetName ||
	    calls->zeKernelGetName((ze_kernel_handle_t)handle, &size, NULL) != ZE_RESULT_SUCCESS || size == 0 ||
	    size > NAME_SIZE_MAX)
		return NULL;
	char *name = calloc(1, size + 1);
	if (name && calls->zeKernelGetName((ze_kernel_handle_t)handle, &size, name) == ZE_RESULT_SUCCESS)
		kernel = registry_add_kernel(announcer->registry, handle, name, NULL);
	free(name);
	return kernel;
}

static struct module *opencl_program_get(struct registry *registry, uintptr_t handle)
{
	struct module *module = registry_get_module(registry, handle);

	return module ? module : registry_add_module(registry, handle, RUNTIME_OPENCL);
}

void announce_opencl_program(struct announcer *announcer, uintptr_t handle)
{
	int state;

	if (compile_kernel_listeners() == 0)
		return;
	announcer_lock(announcer, &state);
	struct module *module = opencl_program_get(announcer->registry, handle);
	if (module)
		module_announce(announcer, module);
	announcer_unlock(announcer, state);
}

/* With the lock: of two threads that launch the kernel at the same time, one registers it. */
static struct kernel *opencl_kernel_add(struct announcer *announcer, uintptr_t handle)
{
	struct registry *registry = announcer->registry;
	struct kernel *kernel = registry_get_kernel(registry, NULL, handle);
	uintptr_t program = opencl_kernel_program(announcer->opencl, handle);

	if (kernel || !program)
		return kernel;
	char *name = opencl_kernel_name(announcer->opencl, handle);
	if (!name)
		return NULL;
	struct module *module = opencl_program_get(registry, program);
	if (module)
		kernel = registry_add_kernel(registry, handle, name, module);
	free(name);
	return kernel;
}

struct kernel *announce_opencl_kernel(struct announcer *announcer, uintptr_t handle)
{
	int state;

	announcer_lock(announcer, &state);
	struct kernel *kernel = opencl_kernel_add(announcer, handle);
	announcer_unlock(announcer, state);
	return kernel;
}

static void module_end_announce(const struct module *module)
{
	if (module->announced && level_zero_unload_module_semaphore > 0)
		probe_unload_module(module->number);
}

void announce_module_call(void)
{
	if (level_zero_unload_module_semaphore > 0)
		probe_unload_module(0);
}

void announce_module_end(struct announcer *announcer, struct module *module)
{
	int state;

	announcer_lock(announcer, &state);
	module_end_announce(module);
	private_files_sweep(&announcer->files);
	registry_free_module(announcer->registry, module);
	announcer_unlock(announcer, state);
}

void announce_kernel_end(struct announcer *announcer, struct kernel *kernel)
{
	int state;

	/* Not done while another thread queries the driver about it. */
	announcer_lock(announcer, &state);
	if (kernel->owns_module)
		module_end_announce(kernel->module);
	registry_free_kernel(announcer->registry, kernel);
	announcer_unlock(announcer, state);
}

void announcer_end(struct announcer *announcer)
{
	int state;

	/* exit() may have been called from a signal handler during an announcement. */
	if (atomic_load(&announcer->busy))
		return;
	announcer_lock(announcer, &state);
	announcer->ended = true;
	private_files_end(&announcer->files, compile_kernel_listeners() > 0);
	announcer_unlock(announcer, state);
}
