/* SPDX-License-Identifier: Apache-2.0 */
/* When code was at an address: other code may have been there before and after. */
#pragma once

#include <stdint.h>

struct code_life {
	uint64_t loaded, unloaded; /* times; UINT64_MAX: still loaded */
};

/* Any time: for code that is known by other means than its address. */
#define CODE_LIFE_ANY ((struct code_life){ 0, UINT64_MAX })
