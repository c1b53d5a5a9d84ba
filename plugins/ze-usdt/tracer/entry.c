/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways into a process. Preloaded: nothing happens until the process initialises Level Zero, whether it is linked to
 * the loader, opens it later, or has a copy of it in its own code. Opened in a process that runs: it begins at once.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "level_zero.h"
#include "tracer.h"

#define EXPORTED __attribute__((visibility("default")))

/* The version that every glibc for x86-64 has, since 2.34 in libc.so.6 and before in libdl.so.2. */
#define BASE_VERSION "GLIBC_2.2.5"
__asm__(".symver dlvsym, dlvsym@" BASE_VERSION);
__asm__(".symver dladdr, dladdr@" BASE_VERSION);

/* The C library's, or that of another library which is preloaded as well. NULL until it is needed. */
typedef void *find_function(void *library, const char *name);
__attribute__((visibility("hidden"))) find_function *volatile entry_dlsym_real;

/* The dlsym() of entry_dlsym.S, and no other: under its own name, whichever comes first in the process would be meant.
 */
__attribute__((visibility("hidden"))) extern find_function entry_dlsym_exported;

find_function *entry_dlsym_find(void);
EXPORTED int iaprof_ze_tracer_start(void);

/* For the jump in entry_dlsym.S; a process whose C library has no dlsym() never came to call it. */
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

/* The loader's function, which the one with this name here stands before. */
static void *loader_function(const char *name)
{
	void *function = entry_dlsym_find()(RTLD_NEXT, name);

	if (!function) {
		void *loader = loader_open();

		function = loader ? entry_dlsym_find()(loader, name) : NULL;
	}
	return function;
}

/* Under Level Zero's name, as headers of before specification 1.10 do not declare it. */
EXPORTED ze_result_t ZE_APICALL init_drivers(uint32_t *count, ze_driver_handle_t *drivers,
					     void *description) __asm__("zeInitDrivers");

/* What of ours a program gets that asks for a function of Level Zero. */
static void *stand_in(const char *name)
{
	if (strcmp(name, "zeInit") == 0)
		return (void *)zeInit;
	if (strcmp(name, "zeInitDrivers") == 0)
		return (void *)init_drivers;
	return NULL;
}

static bool is_loaders(void *function)
{
	static const char prefix[] = "libze_loader.so";
	Dl_info info;

	if (!dladdr(function, &info) || !info.dli_fname)
		return false;
	const char *name = strrchr(info.dli_fname, '/');
	return strncmp(name ? name + 1 : info.dli_fname, prefix, sizeof prefix - 1) == 0;
}

struct answer {
	unsigned long given;
	void *address;
};
struct answer entry_dlsym(void *library, const char *name, void *caller);

/* Whether the library that has the caller, which may be opened with RTLD_LOCAL, finds the name in what it is linked to.
 */
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

/* dlsym() for a name that may be Level Zero's: without an answer, the C library is asked as if nothing had been. */
struct answer entry_dlsym(void *library, const char *name, void *caller)
{
	const struct answer none = { 0, NULL };
	void *ours = stand_in(name);

	/* What comes next after the caller only the C library can tell. */
	if (!ours || library == RTLD_NEXT)
		return none;
	void *found = entry_dlsym_find()(library, name);
	if (found == ours && library == RTLD_DEFAULT && caller_finds(caller, name))
		return (struct answer){ 1, ours };
	/* In the global scope: without us it would be the next one, or none; dlerror() is to be about that. */
	if (found == ours)
		return (struct answer){ 1, entry_dlsym_find()(RTLD_NEXT, name) ? ours : NULL };
	if (!found || !is_loaders(found))
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

/* Preloaded, our dlsym() comes first in the process; opened later, the C library's does. */
__attribute__((constructor)) static void library_loaded(void)
{
	if (entry_dlsym_find() && entry_dlsym_real(RTLD_DEFAULT, "dlsym") != (void *)entry_dlsym_exported)
		iaprof_ze_tracer_start();
}
