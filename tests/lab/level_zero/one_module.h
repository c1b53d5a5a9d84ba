/* SPDX-License-Identifier: Apache-2.0 */
/* A driver, its device, a context and a module of native code, for programs of one file. */
#pragma once

#include <level_zero/ze_api.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

/* Ends the process if a call fails, without exit handlers, as it may be a forked child. */
#define CHECK(call)                                                                                                    \
	do {                                                                                                           \
		ze_result_t result_ = (call);                                                                          \
		if (result_ != ZE_RESULT_SUCCESS) {                                                                    \
			fprintf(stderr, "%s: 0x%x\n", #call, result_);                                                 \
			_exit(1);                                                                                      \
		}                                                                                                      \
	} while (0)

static ze_driver_handle_t driver;
static ze_device_handle_t device;
static ze_context_handle_t context;
static ze_module_handle_t module;

/* Loads the module of a file on the first device, after zeInit(). */
static void module_open(const char *path)
{
	static uint8_t bytes[1 << 24];
	ze_context_desc_t context_description = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	uint32_t one = 1;
	FILE *file = fopen(path, "rb");

	if (!file) {
		perror(path);
		_exit(1);
	}
	ze_module_desc_t description = { .stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
					 .format = ZE_MODULE_FORMAT_NATIVE,
					 .inputSize = fread(bytes, 1, sizeof bytes, file),
					 .pInputModule = bytes };
	fclose(file);
	CHECK(zeDriverGet(&one, &driver));
	CHECK(zeDeviceGet(driver, &one, &device));
	CHECK(zeContextCreate(driver, &context_description, &context));
	CHECK(zeModuleCreate(context, device, &description, &module, NULL));
}
