/* SPDX-License-Identifier: Apache-2.0 */
/* See driver_kernels.h. */
#include "driver_kernels.h"

/* Number 0: its image is never announced. */
static struct module module;

struct kernel driver_kernels[DRIVER_KERNELS] = {
	[DRIVER_MEMORY_FILL] = { .name = "[memory fill]", .module = &module },
	[DRIVER_MEMORY_COPY] = { .name = "[memory copy]", .module = &module },
	[DRIVER_IMAGE_FILL] = { .name = "[image fill]", .module = &module },
	[DRIVER_IMAGE_COPY] = { .name = "[image copy]", .module = &module },
	[DRIVER_KERNEL_TIMESTAMPS] = { .name = "[kernel timestamps]", .module = &module },
};
