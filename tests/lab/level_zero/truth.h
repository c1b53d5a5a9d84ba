/* SPDX-License-Identifier: Apache-2.0 */
/* The truth about a run, in lines of words between tabs; README.md explains them. */
#pragma once

#include "workers.h"

/*
 * What was loaded and launched with it. The number is how often modules were loaded before, and earlier has the address
 * of each module in those loads.
 */
void truth_print(const struct options *options, unsigned number, const struct load *load,
		 const uint64_t (*earlier)[MODULE_COUNT], const struct worker *workers);
