/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Level Zero functions that the program calls, in one table. The linked variants fill it with what the linker
 * found; the late variant (compiled with LATE_LOADER) is not linked to the loader and fills it with dlopen and dlsym.
 */
#pragma once

#include <level_zero/ze_api.h>
#include <level_zero/zet_api.h>

#define LEVEL_ZERO_FUNCTIONS(X)                                                                                        \
	X(zeInit)                                                                                                      \
	X(zeDriverGet)                                                                                                 \
	X(zeDriverGetExtensionFunctionAddress)                                                                         \
	X(zeDeviceGet)                                                                                                 \
	X(zeContextCreate)                                                                                             \
	X(zeContextDestroy)                                                                                            \
	X(zeMemAllocDevice)                                                                                            \
	X(zeMemAllocShared)                                                                                            \
	X(zeMemFree)                                                                                                   \
	X(zeModuleCreate)                                                                                              \
	X(zeModuleDestroy)                                                                                             \
	X(zeModuleGetNativeBinary)                                                                                     \
	X(zeModuleBuildLogGetString)                                                                                   \
	X(zeModuleBuildLogDestroy)                                                                                     \
	X(zetModuleGetDebugInfo)                                                                                       \
	X(zeKernelCreate)                                                                                              \
	X(zeKernelDestroy)                                                                                             \
	X(zeKernelSetGroupSize)                                                                                        \
	X(zeKernelSetArgumentValue)                                                                                    \
	X(zeCommandQueueCreate)                                                                                        \
	X(zeCommandQueueDestroy)                                                                                       \
	X(zeCommandQueueExecuteCommandLists)                                                                           \
	X(zeCommandQueueSynchronize)                                                                                   \
	X(zeCommandListCreate)                                                                                         \
	X(zeCommandListCreateImmediate)                                                                                \
	X(zeCommandListClose)                                                                                          \
	X(zeCommandListDestroy)                                                                                        \
	X(zeCommandListHostSynchronize)                                                                                \
	X(zeCommandListAppendLaunchKernel)                                                                             \
	X(zeCommandListAppendLaunchKernelWithParameters)                                                               \
	X(zeCommandListAppendLaunchKernelWithArguments)                                                                \
	X(zeCommandListAppendLaunchCooperativeKernel)                                                                  \
	X(zeCommandListAppendLaunchKernelIndirect)                                                                     \
	X(zeCommandListAppendLaunchMultipleKernelsIndirect)

struct level_zero {
#define MEMBER(name) __typeof__(name) *name;
	LEVEL_ZERO_FUNCTIONS(MEMBER)
#undef MEMBER
};

/* Fills the table; ends the program with one line when the loader is not there. */
void calls_load(struct level_zero *calls);

/* Ends the program with one line that names the call, its result and its subject, unless the result is success. */
void call_check(ze_result_t result, const char *call, const char *subject);

/* The same for a call that is known to have failed, with what the runtime said about it (may be empty). */
__attribute__((noreturn)) void call_fail(ze_result_t result, const char *call, const char *subject, const char *reason);

#define CALL(calls, name, subject, ...) call_check((calls)->name(__VA_ARGS__), #name, subject)

/* Ends the program with one line. */
__attribute__((noreturn, format(printf, 1, 2))) void fail(const char *format, ...);
