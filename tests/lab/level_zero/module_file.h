/* SPDX-License-Identifier: Apache-2.0 */
/* A module of native code in a file, and calls that must succeed. */
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

/* The bytes are valid until the next call. */
static inline ze_module_desc_t module_read(const char *path)
{
	static uint8_t bytes[1 << 24];
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
	return description;
}
