/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entry points. Preloaded: nothing happens until the process initialises Level Zero or OpenCL, whether it is linked to
 * the loader, opens it later, or contains a static copy. Injected into a running process: tracing starts at once.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
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

/* Returns whether the function is in a library with this file name prefix; *path: of that library. */
static bool is_in_library(const void *function, const char *prefix, const char **path)
{
	Dl_info info;

	if (!dladdr(function, &info) || !info.dli_fname)
		return false;
	*path = info.dli_fname;
	return library_is_named(info.dli_fname, prefix);
}

/* Returns what a loaded library, which may be opened with RTLD_LOCAL, finds in itself and its dependencies. */
static void *find_in(const char *path, const char *name)
{
	void *(*open_library)(const char *, int) =
		(void *(*)(const char *, int))entry_dlsym_find()(RTLD_DEFAULT, "dlopen");
	int (*close_library)(void *) = (int (*)(void *))entry_dlsym_find()(RTLD_DEFAULT, "dlclose");

	if (!open_library || !close_library)
		return NULL;
	void *library = open_library(path, RTLD_LAZY | RTLD_NOLOAD);
	if (!library)
		return NULL;
	void *found = entry_dlsym_find()(library, name);
	close_library(library);
	return found;
}

static void *find_of_caller(const void *caller, const char *name)
{
	Dl_info info;

	return dladdr(caller, &info) && info.dli_fname ? find_in(info.dli_fname, name) : NULL;
}

/* Python packages rename the loader that they bring: libze_loader-1a2b3c4d.so.1. */
#define LOADER_PREFIX "libze_loader"

/* Starts tracing the loader whose function of this name has succeeded. */
static void loader_initialised(const char *name, const void *function)
{
	int error = errno;
	const char *path;

	/* The loader that is compiled into a program opens another one. */
	if (is_in_library(function, LOADER_PREFIX, &path))
		tracer_start(entry_dlsym_find(), path, name, function);
	else
		tracer_start(entry_dlsym_find(), NULL, NULL, NULL);
	errno = error;
}

typedef __typeof__(zeInit) init_function;
/* Declared without a prototype of Level Zero, which headers before specification 1.10 lack. */
typedef ze_result_t init_drivers_function(uint32_t *count, ze_driver_handle_t *drivers, void *description);

static const char init_name[] = "zeInit", init_drivers_name[] = "zeInitDrivers";

static ze_result_t init_call(init_function *original, ze_init_flags_t flags)
{
	ze_result_t result = original ? original(flags) : ZE_RESULT_ERROR_UNINITIALIZED;

	if (result == ZE_RESULT_SUCCESS)
		loader_initialised(init_name, (const void *)original);
	return result;
}

static ze_result_t init_drivers_call(init_drivers_function *original, uint32_t *count, ze_driver_handle_t *drivers,
				     void *description)
{
	ze_result_t result = original ? original(count, drivers, description) : ZE_RESULT_ERROR_UNINITIALIZED;

	if (result == ZE_RESULT_SUCCESS)
		loader_initialised(init_drivers_name, (const void *)original);
	return result;
}

/* Stand-ins for the functions of each copy of the loader that a program looks them up in. */
#define COPIES(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define COPY(number)                                                                                                   \
	static ze_result_t ZE_APICALL init_##number(ze_init_flags_t flags)                                             \
	{                                                                                                              \
		return init_call((init_function *)__atomic_load_n(&inits[number].original, __ATOMIC_ACQUIRE), flags);  \
	}                                                                                                              \
	static ze_result_t ZE_APICALL init_drivers_##number(uint32_t *count, ze_driver_handle_t *drivers,              \
							    void *description)                                         \
	{                                                                                                              \
		return init_drivers_call(                                                                              \
			(init_drivers_function *)__atomic_load_n(&driver_inits[number].original, __ATOMIC_ACQUIRE),    \
			count, drivers, description);                                                                  \
	}

struct stand_in {
	void *original; /* NULL: not used yet */
	void *function;
};
static struct stand_in inits[LOADERS_MAX], driver_inits[LOADERS_MAX];
COPIES(COPY)
#define INIT(number) { NULL, (void *)init_##number },
#define INIT_DRIVERS(number) { NULL, (void *)init_drivers_##number },
static struct stand_in inits[LOADERS_MAX] = { COPIES(INIT) }, driver_inits[LOADERS_MAX] = { COPIES(INIT_DRIVERS) };

/* Returns the stand-in for a copy's function; NULL if there are too many copies. */
static void *copy_stand_in(struct stand_in *items, void *original)
{
	for (unsigned i = 0; i < LOADERS_MAX; i++) {
		void *none = NULL;

		if (__atomic_compare_exchange_n(&items[i].original, &none, original, false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE) ||
		    none == original)
			return items[i].function;
	}
	return NULL;
}

/*
 * The original of an exported function, which a program or library is linked to: the next one in the global scope, or
 * else the one that the caller's library has among its own dependencies.
 */
static void *next_function(const void *caller, const char *name, const void *ours)
{
	void *found = entry_dlsym_find()(RTLD_NEXT, name);

	if (!found) {
		found = find_of_caller(caller, name);
		found = found == ours ? NULL : found;
	}
	return found ? found : find_in(LEVEL_ZERO_LOADER, name);
}

EXPORTED init_drivers_function init_drivers __asm__("zeInitDrivers");

/* Returns our function for a Level Zero name that a program looks up. */
static void *stand_in(const char *name)
{
	if (strcmp(name, init_name) == 0)
		return (void *)zeInit;
	if (strcmp(name, init_drivers_name) == 0)
		return (void *)init_drivers;
	return NULL;
}

struct answer {
	unsigned long given;
	void *address;
};
struct answer entry_dlsym(void *library, const char *name, void *caller);

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
	const char *path;
	if (!found || !is_in_library(found, OPENCL_DRIVER, &path))
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
	if (found == ours && library == RTLD_DEFAULT && find_of_caller(caller, name))
		return (struct answer){ 1, ours };
	/*
	 * In the global scope, without this library, the next one or none would be found, and dlerror() must match
	 * that.
	 */
	if (found == ours)
		return (struct answer){ 1, entry_dlsym_find()(RTLD_NEXT, name) ? ours : NULL };
	const char *path;
	if (!found || !is_in_library(found, LOADER_PREFIX, &path))
		return none;
	void *of_copy = copy_stand_in(ours == (void *)zeInit ? inits : driver_inits, found);
	return (struct answer){ of_copy != NULL, of_copy };
}

struct loader_paths {
	const char *items[LOADERS_MAX];
	unsigned count;
};

static int path_add(struct dl_phdr_info *library, size_t size, void *argument)
{
	struct loader_paths *paths = argument;

	(void)size;
	if (paths->count < LOADERS_MAX && library_is_named(library->dlpi_name, LOADER_PREFIX))
		paths->items[paths->count++] = library->dlpi_name;
	return 0;
}

/* Of several loaders, those that the process has initialised are traced. */
EXPORTED int iaprof_ze_tracer_start(void)
{
	struct loader_paths paths = { 0 };
	int error = errno, result = -ENOENT;

	dl_iterate_phdr(path_add, &paths);
	for (unsigned i = 0; i < paths.count; i++) {
		int started = tracer_start(entry_dlsym_find(), paths.items[i], NULL, NULL);

		result = started == 0 || i == 0 ? started : result;
	}
	errno = error;
	return result;
}

EXPORTED ze_result_t ZE_APICALL zeInit(ze_init_flags_t flags)
{
	return init_call((init_function *)next_function(__builtin_return_address(0), init_name, (const void *)zeInit),
			 flags);
}

ze_result_t ZE_APICALL init_drivers(uint32_t *count, ze_driver_handle_t *drivers, void *description)
{
	return init_drivers_call((init_drivers_function *)next_function(__builtin_return_address(0), init_drivers_name,
									(const void *)init_drivers),
				 count, drivers, description);
}

/* Preloaded, our dlsym() comes first in the process; injected, the C library's does. */
__attribute__((constructor)) static void library_loaded(void)
{
	if (entry_dlsym_find() && entry_dlsym_real(RTLD_DEFAULT, "dlsym") != (void *)entry_dlsym_exported) {
		iaprof_ze_tracer_start();
		opencl_start_loaded(entry_dlsym_find());
	}
}
