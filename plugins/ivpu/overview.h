/* SPDX-License-Identifier: Apache-2.0 */
/* The numbers that the summary of a run on the NPU begins with: never a reproach. */
#ifndef IAPROF_PLUGINS_IVPU_OVERVIEW_H
#define IAPROF_PLUGINS_IVPU_OVERVIEW_H

#include <stdint.h>
#include "families.h"

struct ivpu_overview {
	uint64_t calls;                                /* all */
	uint64_t headline_counts[IVPU_HEADLINE_COUNT]; /* the first is not used */
	uint64_t messages, boot_polls;                 /* of the firmware */
	uint32_t hot_functions_left_out;               /* that are called for each page, and not counted */
};

#endif
