/* SPDX-License-Identifier: Apache-2.0 */
/* When code was at an address: other code may have been there before and after. */
#pragma once

#include <stdint.h>

struct code_life {
	uint64_t loaded, unloaded; /* times; UINT64_MAX: still loaded */
};

/* For code that is found by the number of a kernel instead of an address: at any time. */
#define CODE_LIFE_ANY ((struct code_life){ 0, UINT64_MAX })
