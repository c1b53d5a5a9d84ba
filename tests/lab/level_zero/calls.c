/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the table of Level Zero functions, and names what a call returned. */
#include "calls.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define RESULT(name) name, #name
#define MODULES "give modules made of tests/lab/level_zero/kernels, and install libigc2"
#define RUNTIME "install the runtime that belongs to the loader"
#define PROGRAM "the program is wrong"

static const struct {
	ze_result_t result;
	const char *name;
	const char *remedy;
} results[] = {
	{ RESULT(ZE_RESULT_NOT_READY), "the device did not finish in time" },
	{ RESULT(ZE_RESULT_ERROR_DEVICE_LOST), "run it with run-without-gpu" },
	{ RESULT(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY), "free memory, or use fewer threads" },
	{ RESULT(ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY), "use fewer threads" },
	{ RESULT(ZE_RESULT_ERROR_MODULE_BUILD_FAILURE), MODULES },
	{ RESULT(ZE_RESULT_ERROR_MODULE_LINK_FAILURE), MODULES },
	{ RESULT(ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE), "install libigc2, libigdfcl2 and libze-intel-gpu1" },
	{ RESULT(ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS), "run it as a user that may open /dev/dri" },
	{ RESULT(ZE_RESULT_ERROR_UNINITIALIZED), "no driver found a device: run it with run-without-gpu" },
	{ RESULT(ZE_RESULT_ERROR_UNSUPPORTED_VERSION), RUNTIME },
	{ RESULT(ZE_RESULT_ERROR_UNSUPPORTED_FEATURE), "this runtime cannot do it: leave the site out with --sites" },
	{ RESULT(ZE_RESULT_ERROR_INVALID_ARGUMENT), PROGRAM },
	{ RESULT(ZE_RESULT_ERROR_INVALID_NULL_HANDLE), PROGRAM },
	{ RESULT(ZE_RESULT_ERROR_INVALID_NULL_POINTER), PROGRAM },
	{ RESULT(ZE_RESULT_ERROR_INVALID_SIZE), PROGRAM },
	{ RESULT(ZE_RESULT_ERROR_UNSUPPORTED_SIZE), PROGRAM },
	{ RESULT(ZE_RESULT_ERROR_INVALID_ENUMERATION), PROGRAM },
	{ RESULT(ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION), RUNTIME },
	{ RESULT(ZE_RESULT_ERROR_INVALID_NATIVE_BINARY), MODULES },
	{ RESULT(ZE_RESULT_ERROR_INVALID_KERNEL_NAME), MODULES },
	{ RESULT(ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION), MODULES },
	{ RESULT(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX), MODULES },
	{ RESULT(ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE), MODULES },
	{ RESULT(ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED), MODULES },
	{ RESULT(ZE_RESULT_ERROR_UNKNOWN), "the runtime's own debug keys may tell more" },
};

void fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	flockfile(stderr);
	fputs("launcher: ", stderr);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	funlockfile(stderr);
	va_end(arguments);
	exit(1);
}

void call_fail(ze_result_t result, const char *call, const char *subject, const char *reason)
{
	for (size_t i = 0; i < sizeof results / sizeof results[0]; i++)
		if (results[i].result == result)
			fail("%s: %s: %s: %s", call, subject, results[i].name, *reason ? reason : results[i].remedy);
	fail("%s: %s: result %#x: %s", call, subject, (unsigned)result, *reason ? reason : "ze_api.h explains it");
}

void call_check(ze_result_t result, const char *call, const char *subject)
{
	if (result != ZE_RESULT_SUCCESS)
		call_fail(result, call, subject, "");
}

#ifdef LATE_LOADER
void calls_load(struct level_zero *calls)
{
	void *loader = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!loader)
		fail("%s: install libze1", dlerror());
#define FIND(name)                                                                                                     \
	*(void **)&calls->name = dlsym(loader, #name);                                                                 \
	if (!calls->name)                                                                                              \
		fail("libze_loader.so.1 has no %s: install a newer libze1", #name);
	LEVEL_ZERO_FUNCTIONS(FIND)
#undef FIND
}
#else
void calls_load(struct level_zero *calls)
{
#define FIND(name) .name = name,
	*calls = (struct level_zero){ LEVEL_ZERO_FUNCTIONS(FIND) };
#undef FIND
}
#endif
