/* SPDX-License-Identifier: Apache-2.0 */
/* A driver, its device, a context and a module of native code, for programs of one file. */
#pragma once

#include "module_file.h"

static ze_driver_handle_t driver;
static ze_device_handle_t device;
static ze_context_handle_t context;
static ze_module_handle_t module;

/* Loads the module of a file on the first device, after zeInit(). */
static void module_open(const char *path)
{
	ze_module_desc_t description = module_read(path);
	ze_context_desc_t context_description = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	uint32_t one = 1;

	CHECK(zeDriverGet(&one, &driver));
	CHECK(zeDeviceGet(driver, &one, &device));
	CHECK(zeContextCreate(driver, &context_description, &context));
	CHECK(zeModuleCreate(context, device, &description, &module, NULL));
}
