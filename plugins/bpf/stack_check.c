/* SPDX-License-Identifier: Apache-2.0 */
/* See stack_check.h. */
#include "stack_check.h"
#include <inttypes.h>
#include "stack_index.h"

/* Python with PyTorch has calls some 100 to 200 deep; each of its functions has two or three frames of the interpreter.
 */
#define DEPTH_ENOUGH 512u

void bpf_check_stack_depth(const struct iaprof_host *host)
{
	uint32_t depth = stack_depth_read();
	if (depth >= DEPTH_ENOUGH)
		host->check_item(host, IAPROF_CHECK_GOOD, "depth of stacks", "%" PRIu32 " addresses", depth);
	else
		host->check_item(host, IAPROF_CHECK_LIMITED, "depth of stacks",
				 "%" PRIu32 " addresses, what is deeper is cut off, as Python's often is: sysctl "
				 "kernel.perf_event_max_stack=1024, while nothing takes stacks",
				 depth);
}
