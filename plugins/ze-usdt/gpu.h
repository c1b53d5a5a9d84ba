/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the machine has a GPU that Intel's Level Zero runtime can use. */
#ifndef IAPROF_ZE_USDT_GPU_H
#define IAPROF_ZE_USDT_GPU_H

#include <stdbool.h>

/* A DRM render node with driver xe or i915. */
bool level_zero_gpu_is_there(void);

#endif
