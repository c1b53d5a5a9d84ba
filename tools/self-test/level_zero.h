/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of the Level Zero loader, which is opened at run time: iaprof does not depend on it. */
#pragma once

#include <stdbool.h>

#include <level_zero/ze_api.h>

#define LEVEL_ZERO_FUNCTIONS(X)                                                                                        \
	X(zeInit)                                                                                                      \
	X(zeDriverGet)                                                                                                 \
	X(zeDriverGetProperties)                                                                                       \
	X(zeDriverGetExtensionFunctionAddress)                                                                         \
	X(zeDeviceGet)                                                                                                 \
	X(zeDeviceGetProperties)                                                                                       \
	X(zeContextCreate)                                                                                             \
	X(zeMemAllocShared)                                                                                            \
	X(zeModuleCreate)                                                                                              \
	X(zeModuleGetNativeBinary)                                                                                     \
	X(zeKernelCreate)                                                                                              \
	X(zeKernelSetGroupSize)                                                                                        \
	X(zeKernelSetArgumentValue)                                                                                    \
	X(zeCommandListCreateImmediate)                                                                                \
	X(zeCommandListAppendLaunchKernel)                                                                             \
	X(zeEventPoolCreate)                                                                                           \
	X(zeEventCreate)                                                                                               \
	X(zeEventHostReset)                                                                                            \
	X(zeEventQueryKernelTimestamp)

/* Since version 1.6 of the headers and the loader: Debian 12 has older headers (ze_api.h of 1.6 to 1.32). */
#define LEVEL_ZERO_IN_ORDER 2u /* ZE_COMMAND_QUEUE_FLAG_IN_ORDER */
typedef ze_result_t command_list_synchronize(ze_command_list_handle_t list, uint64_t timeout);

struct level_zero {
	command_list_synchronize *zeCommandListHostSynchronize;
#define MEMBER(name) __typeof__(name) *name;
	LEVEL_ZERO_FUNCTIONS(MEMBER)
#undef MEMBER
};

/* Opens the loader. Returns false after a message. */
bool level_zero_open(struct level_zero *calls);
