/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entry points. Preloaded: nothing happens until the process initialises Level Zero or OpenCL, whether it is linked to
 * the loader, opens it later, or contains a static copy. Injected into a running process: tracing starts at once.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "level_zero.h"
#include "opencl_start.h"
#include "tracer.h"

#define EXPORTED __attribute__((visibility("default")))

/* The version that every glibc for x86-64 has, since 2.34 in libc.so.6 and before in libdl.so.2. */
#define BASE_VERSION "GLIBC_2.2.5"
__asm__(".symver dlvsym, dlvsym@" BASE_VERSION);
__asm__(".symver dladdr, dladdr@" BASE_VERSION);

/* The dlsym() of the C library, or of another preloaded library. NULL until needed. */
typedef void *find_function(void *library, const char *name);
__attribute__((visibility("hidden"))) find_function *volatile entry_dlsym_real;

/* The dlsym() of entry_dlsym.S: by its plain name, whichever dlsym() comes first in the process would be found. */
__attribute__((visibility("hidden"))) extern find_function entry_dlsym_exported;

find_function *entry_dlsym_find(void);
EXPORTED int iaprof_ze_tracer_start(void);

/* For the jump in entry_dlsym.S; a process whose C library has no dlsym() cannot have called it. */
find_function *entry_dlsym_find(void)
{
	if (!entry_dlsym_real)
		entry_dlsym_real = (find_function *)dlvsym(RTLD_NEXT, "dlsym", BASE_VERSION);
	return entry_dlsym_real;
}

static void *loader_open(void)
{
	void *(*open_library)(const char *, int) =
		(void *(*)(const char *, int))entry_dlsym_find()(RTLD_DEFAULT, "dlopen");

	return open_library ? open_library(LEVEL_ZERO_LOADER, RTLD_NOW | RTLD_NOLOAD) : NULL;
}

/* The loader's function that the one here interposes. */
static void *loader_function(const char *name)
{
	void *function = entry_dlsym_find()(RTLD_NEXT, name);

	if (!function) {
		void *loader = loader_open();

		function = loader ? entry_dlsym_find()(loader, name) : NULL;
	}
	return function;
}

/* Declared without a prototype of Level Zero, which headers before specification 1.10 lack. */
EXPORTED ze_result_t ZE_APICALL init_drivers(uint32_t *count, ze_driver_handle_t *drivers,
					     void *description) __asm__("zeInitDrivers");

/* Returns our function for a Level Zero name that a program looks up. */
static void *stand_in(const char *name)
{
	if (strcmp(name, "zeInit") == 0)
		return (void *)zeInit;
	if (strcmp(name, "zeInitDrivers") == 0)
		return (void *)init_drivers;
	return NULL;
}

/* Returns whether the function is in a library with this file name prefix. */
static bool is_in_library(void *function, const char *prefix)
{
	Dl_info info;

	if (!dladdr(function, &info) || !info.dli_fname)
		return false;
	const char *name = strrchr(info.dli_fname, '/');
	return strncmp(name ? name + 1 : info.dli_fname, prefix, strlen(prefix)) == 0;
}

struct answer {
	unsigned long given;
	void *address;
};
struct answer entry_dlsym(void *library, const char *name, void *caller);

/* Returns whether the caller's library, which may be opened with RTLD_LOCAL, finds the name in its dependencies. */
static bool caller_finds(void *caller, const char *name)
{
	void *(*open_library)(const char *, int) =
		(void *(*)(const char *, int))entry_dlsym_find()(RTLD_DEFAULT, "dlopen");
	int (*close_library)(void *) = (int (*)(void *))entry_dlsym_find()(RTLD_DEFAULT, "dlclose");
	Dl_info info;

	if (!open_library || !close_library || !dladdr(caller, &info) || !info.dli_fname)
		return false;
	void *library = open_library(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (!library)
		return false;
	bool found = entry_dlsym_find()(library, name) != NULL;
	close_library(library);
	return found;
}

/* The OpenCL driver's functions, which stand-ins precede: every ICD loader looks them up in the driver. */
static struct opencl_driver opencl_driver;

static int32_t opencl_platforms(uint32_t room, struct opencl_object **platforms, uint32_t *count)
{
	int32_t result = opencl_driver.get_platforms(room, platforms, count);
	int error = errno;

	/* Platforms and devices exist from here on. */
	if (result == OPENCL_SUCCESS && opencl_driver.get_extension)
		opencl_start(&opencl_driver, entry_dlsym_find());
	errno = error;
	return result;
}

static const char opencl_platforms_name[] = "clIcdGetPlatformIDsKHR";

static void *opencl_extension(const char *name)
{
	void *found = opencl_driver.get_extension(name);

	if (!found || !name || strcmp(name, opencl_platforms_name) != 0)
		return found;
	opencl_driver.get_platforms = (opencl_get_platforms *)found;
	return (void *)opencl_platforms;
}

/* Returns our function for one that a program looks up in the OpenCL driver, or NULL. */
static void *opencl_stand_in(void *library, const char *name)
{
	bool platforms = strcmp(name, opencl_platforms_name) == 0;

	if (library == RTLD_NEXT || (!platforms && strcmp(name, "clGetExtensionFunctionAddress") != 0))
		return NULL;
	void *found = entry_dlsym_find()(library, name);
	if (!found || !is_in_library(found, OPENCL_DRIVER))
		return NULL;
	if (platforms) {
		opencl_driver.get_platforms = (opencl_get_platforms *)found;
		/* The other one is beside it, even if the program does not look it up. */
		if (!opencl_driver.get_extension)
			opencl_driver.get_extension =
				(opencl_get_extension *)entry_dlsym_find()(library, "clGetExtensionFunctionAddress");
		return (void *)opencl_platforms;
	}
	opencl_driver.get_extension = (opencl_get_extension *)found;
	return (void *)opencl_extension;
}

/* Handles dlsym() for a name that may be a runtime's. Without a result, the C library's dlsym() is called. */
struct answer entry_dlsym(void *library, const char *name, void *caller)
{
	const struct answer none = { 0, NULL };
	void *ours = name[0] == 'c' ? opencl_stand_in(library, name) : stand_in(name);

	if (ours && name[0] == 'c')
		return (struct answer){ 1, ours };

	/* Only the C library can resolve RTLD_NEXT. */
	if (!ours || library == RTLD_NEXT)
		return none;
	void *found = entry_dlsym_find()(library, name);
	if (found == ours && library == RTLD_DEFAULT && caller_finds(caller, name))
		return (struct answer){ 1, ours };
	/*
	 * In the global scope, without this library, the next one or none would be found, and dlerror() must match
	 * that.
	 */
	if (found == ours)
		return (struct answer){ 1, entry_dlsym_find()(RTLD_NEXT, name) ? ours : NULL };
	if (!found || !is_in_library(found, "libze_loader.so"))
		return none;
	return (struct answer){ 1, ours };
}

EXPORTED int iaprof_ze_tracer_start(void)
{
	int error = errno;
	int result = tracer_start(entry_dlsym_find());

	errno = error;
	return result;
}

EXPORTED ze_result_t ZE_APICALL zeInit(ze_init_flags_t flags)
{
	__typeof__(zeInit) *real = (__typeof__(zeInit) *)loader_function("zeInit");
	ze_result_t result = real ? real(flags) : ZE_RESULT_ERROR_UNINITIALIZED;

	if (result == ZE_RESULT_SUCCESS)
		iaprof_ze_tracer_start();
	return result;
}

ze_result_t ZE_APICALL init_drivers(uint32_t *count, ze_driver_handle_t *drivers, void *description)
{
	__typeof__(init_drivers) *real = (__typeof__(init_drivers) *)loader_function("zeInitDrivers");
	ze_result_t result = real ? real(count, drivers, description) : ZE_RESULT_ERROR_UNINITIALIZED;

	if (result == ZE_RESULT_SUCCESS)
		iaprof_ze_tracer_start();
	return result;
}

/* Preloaded, our dlsym() comes first in the process; injected, the C library's does. */
__attribute__((constructor)) static void library_loaded(void)
{
	if (entry_dlsym_find() && entry_dlsym_real(RTLD_DEFAULT, "dlsym") != (void *)entry_dlsym_exported) {
		iaprof_ze_tracer_start();
		opencl_start_loaded(entry_dlsym_find());
	}
}
