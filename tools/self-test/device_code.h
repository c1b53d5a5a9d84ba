/* SPDX-License-Identifier: Apache-2.0 */
/* The code of a kernel in a native binary of the Level Zero runtime, as iaprof's decoder reads it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "decoder-intel-gt/flow.h"

struct device_code {
	struct gt_code code;
	struct gt_flow flow;
	const unsigned char *bytes; /* in the image */
	size_t size;
};

/* Reads the code of a kernel. image: borrowed until device_code_free(). Returns false if it is not there or unknown. */
bool device_code_open(struct device_code *code, const void *image, size_t size, const char *kernel);
void device_code_free(struct device_code *code);

/*
 * Finds the first instruction of a loop that waits until a load in this loop has written its registers. Returns its
 * number, or UINT32_MAX.
 */
uint32_t device_code_load_wait(const struct device_code *code);
